"""Cloudflare: a thin typed client of API v4, and the single writers of what many routes share.

client          one request function, one paginator, over `cloud.transport`; `sender` carries the bytes
errors          what every error code means for a pass
zones, records, tunnels, access, service_tokens, tokens          the operations, typed
zone_writer, tunnel_writer                                       one writer per zone and per tunnel
accounts        all of it for several accounts and tokens at once: start reading there
"""
