"""Measurements of the embedded API server.

figures                          every figure of the group and its goal
starting, cold_start             how long a start takes
listing                          a big list, in process
embedded_server, echo_server     the servers, as processes of their own
client                           the load, as a process of its own
workload, preparing, target      what is stored, where, and how to get there
"""
