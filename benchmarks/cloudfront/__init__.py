"""Measurements of CloudFront tenants: whole fleets, on the embedded server and the simulated AWS, in virtual time.

figures    every figure of the group and its goal
fleet      one fleet from empty to Ready, its rest and its restart, as a process of its own
"""
