"""DistributionTenant: tenants of CloudFront distributions, with their certificates and DNS records.

snapshot     everything a decision depends on, as one value
observe      fills it, from mirrors and caches; reads live only what they cannot know
desired      what the spec asks of AWS, and where AWS differs
validation   what is wrong with a spec, in words
decide       the steps that are left, in order: pure
records      the part of it about DNS
inventory    which records are ours to replace or remove
claims       what tenants claim in the register of all kinds, and how they prove that they have it
guards       which fields are compared with which limits of administrators
steps        what can be done, as values
perform      does the first step
desk         records on their way to the writers of zones
report       one status, and the events that tell of it
explain      the same where a pass has failed
preview      what `edgekeeper plan` shows, with the help of effects
reconciler   the four together: gather → decide → one effect → one write
account      the mirrors, caches and writers that all tenants share
corrections  keeps a disagreement with others from becoming a fight
predecessor  the operator that we replace
wiring       the controller, and who wakes it
"""
