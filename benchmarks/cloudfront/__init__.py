"""Measurements of CloudFront tenants: whole fleets, on the embedded server and the simulated AWS.

figures     every figure of the group and its goal
workload    the tenants, and how the operator is set up for them
fleet       server and AWS as a process: a fleet from nothing to Ready and at rest in virtual time, then served in real time
operator    the operator alone, as a process that is started over that fleet
arrivals    server and AWS as a process, in real time: new objects for `edgekeeper run`
command     `edgekeeper` as a process, as an installation has it
"""
