"""AWS: CloudFront's tenants, Route 53, ACM, API Gateway, Lambda policies, and roles that we assume for them.

`access` makes every call, through the transport; `error_table` says what each error code means. Above them one module per
service, with pure modules beside them for what can be decided without a call: `records` and `changes` for DNS,
`tenants` for CloudFront, `coverage` for certificates. Controllers use `mirrors` and `zones`.
"""
