"""Measurements of composition: whole fleets of instances on the embedded server, beside what kro costs there.

figures     every figure of the group and its goal
workload    the definitions and their instances, and how the operator is set up for them
counting    a server that counts requests by what they are for, and knows which instances are ready
fleet       the server as a process: a fleet in virtual time, then served in real time
arrivals    the server as a process, in real time: new instances for `edgekeeper run`
compiling   how long definitions take to compile
"""
