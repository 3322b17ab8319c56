"""Measurements of Zero Trust: whole fleets of routes, on the embedded server and the simulated Cloudflare.

figures     every figure of the group and its goal
workload    the routes, and how the operator is set up for them
fleet       server and Cloudflare as a process: a fleet in virtual time, then served in real time
"""
