"""DNS records in Route 53, for every kind that writes records: one writer per zone and process.

records      record sets of Route 53, and when two of them are equivalent
changes      which change, if any, a wanted record needs; pure
zone, zones  mirror and writer of each hosted zone in use
propagation  whether all name servers have a change
entries      records as inventory entries in a status
validation   zones, roles and changes that objects name
state        everything that a decision about the records of one object depends on
planning     the remaining steps for the records of one object; pure
steps        the steps, as values
reporting    the condition DNSReady, and events
outbox       submits records to the writers of zones and collects the results
service      all of this for one AWS account: `Dns`
"""
