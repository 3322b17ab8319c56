"""What the server adds to new objects and keeps from old ones, whatever the client sent.

core      namespaces, secrets, claims
pod       phase, quality of service, what admission adds to every pod
service   addresses and node ports
job       selectors of jobs
status    the status of a new object: that of its type, with nothing in it
"""
