"""Measurements of the cloud adapters and simulators: calls are counted where they arrive, in virtual time.

figures      every figure of the group and its goal
speed        how fast the simulated AWS answers
importing    what loading the production code costs, in an interpreter of its own
"""
