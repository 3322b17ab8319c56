"""Measurements of the status page with 10,000 objects.

figures   every figure of the group and its goal
server    the page over a full cache, as a process of its own
client    requests, updates, and a browser where there is one
"""
