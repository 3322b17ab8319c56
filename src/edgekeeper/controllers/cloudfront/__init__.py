"""DistributionTenant: tenants of CloudFront distributions, with their certificates and DNS records.

snapshot     everything a decision depends on, as one value
observe      fills it, from mirrors and caches; reads live only what they cannot know
desired      what the spec asks of AWS, and where AWS differs
validation   what is wrong with a spec, in words
decide       the steps that are left, in order: pure
steps        what can be done, as values
perform      does the first step
report       one status, and the events that tell of it
reconciler   the four together: gather → decide → one effect → one write
account      the mirrors, caches and writers that all tenants share
corrections  keeps a disagreement with others from becoming a fight
predecessor  holds us back while the operator that we replace is alive
wiring       the controller, and who wakes it
"""
