"""Measurements of the controller runtime, with a toy kind on the embedded server.

figures                          every figure of the group and its goal
comparison                       the same operator with kopf, in the same run
workload                         the kind, its objects, and when they are as they should be
server, filling                  the embedded server full of objects, as a process of its own; it counts the writes
real_server                      a real server in its place, where programs of it are built
operator, kopf_operator          the two operators, as processes of their own
passes                           how many passes ours has made
processes, commands              how this process and its children talk
"""
