"""DistributionTenant: tenants of CloudFront distributions, with their certificates and DNS records.

module                registers the kind with the process: name, flags, controller, preview
wiring                builds the controller and subscribes it to the mirrors that requeue objects
kind                  connects the modules below to the generic reconcile loop (`lifecycle.kind`)
account               mirrors and caches of CloudFront and ACM, shared by all tenants of an AWS account
snapshot              everything that a decision about one tenant depends on, as one value
observe               fills the snapshot from mirrors and caches; reads live only what they do not contain
observe_certificates  the part of `observe` about certificates
observe_records       the part of `observe` about DNS records
validation            checks a spec before AWS is called
guards                limits that administrators set, applied to the fields of a spec
claims                tenant names and domains that objects claim, and which object owns them
desired               settings and tags that a spec asks for, and how AWS differs from them
decide                the remaining steps, in order; pure
refusals              the part of `decide` about specs that cannot be applied; pure
ownership             the part of `decide` about whose a tenant is; pure
certificates          the part of `decide` about managed certificates; pure
records               the part of `decide` about DNS records; pure
removal               the part of `decide` about deletions; pure
steps                 the steps, as values
perform               performs one step
report                status, conditions and events of a pass
report_certificates   the part of `report` about certificates
preview               what `edgekeeper plan` shows
metrics               Prometheus metrics of the kind
predecessor           identifies cloudfront-tenant-operator, which this kind replaces
"""
