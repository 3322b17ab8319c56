"""DNS records of Route 53, for every kind that writes some: one writer per zone and process, whoever asks.

records      records as Route 53 speaks of them
changes      from a wish to what may be written into a zone: pure
zone, zones  mirrors and writers of hosted zones
propagation  whether all name servers have a change
entries      a record as an inventory keeps it
state        everything that a decision about the records of one object depends on
planning     the steps that are left for them: pure
steps        those steps
outbox       records handed to writers, and the answers
service      all of this for one account: `Dns`
"""
