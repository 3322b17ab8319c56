"""A simulated AWS: stateful, strict, over the real HTTP protocols, and in process for virtual time.

cloud       AwsCloud, the whole of it
session     session_class, aiobotocore without a socket
http        serve, HTTP on loopback
faults      what can go wrong, by plan
settings    durations, quotas, request limits
identity    access keys, roles, sessions
"""
