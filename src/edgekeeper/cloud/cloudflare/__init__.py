"""Cloudflare: a thin typed client of API v4, and the single writers of what many routes share.

`accounts` offers everything for several accounts and tokens at once: start reading there. Below it, `client` is one
request function and one paginator over `cloud.transport`, with `sender` for the bytes, `reply` for what comes back,
`operations` and `errors` as tables. `zones`, `records`, `tunnels`, `access`, `service_tokens` and `tokens` are the
operations, typed by `models`. `tunnel_document` and `record_plan` are pure: what to write, given what is there. There is
one `tunnel_writer` per tunnel and one `zone_writer` per zone.
"""
