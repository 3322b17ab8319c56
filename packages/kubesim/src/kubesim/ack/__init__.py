"""AWS Controllers for Kubernetes, simulated: their kinds, and what they do with them in the simulated AWS.

definitions  the kinds, with the fields that are used here
conditions   how ACK tells how an object is
controller   makes, changes, adopts and deletes in the simulated AWS what objects ask for
"""
