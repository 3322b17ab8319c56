"""Route 53: hosted zones, their records, and changes that take a minute to arrive.

names      spelling and order of domain names
records    record sets as values, and the rules for each alone
state      an account's zones, with what public DNS answers from them
batches    atomic batches: all changes or none, with the rules that hold between records
zones, listing, changes
           the operations
"""
