"""Measurements of the expression engine.

figures     every figure of the group and its goal
workload    typical expressions, and the objects that they are about
timing      how long a call takes
partner     the same with cel-python
"""
