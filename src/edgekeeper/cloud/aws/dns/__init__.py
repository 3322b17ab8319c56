"""DNS records of Route 53, for every kind that writes some.

entries     a record as an inventory keeps it
state       everything that a decision about the records of one object depends on
planning    the steps that are left: pure
steps       those steps
outbox      records handed to the writer of their zone, and the answers
service     all of this for one account: `Dns`
"""
