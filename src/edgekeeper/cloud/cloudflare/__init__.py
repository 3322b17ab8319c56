"""Cloudflare: a typed client of API v4, and the writers of zones and tunnels, which many objects share.

`accounts` is the entry point, for several accounts and tokens. Below it, `client` sends requests and pages through
listings with `cloud.transport`; `sender` is the HTTP client, `reply` parses responses, `operations` and `errors` are
tables. `zones`, `records`, `tunnels`, `access`, `service_tokens` and `tokens` are the operations, with the types of
`models`. `tunnel_document` and `record_plan` compute what to write, without I/O. There is one `tunnel_writer` per tunnel
and one `zone_writer` per zone.
"""
