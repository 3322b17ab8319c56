"""Cloudflare: a thin typed client of API v4, and the single writers of what many routes share.

    accounts                     everything for several accounts and tokens at once: start reading there
    client, sender, reply        one request function, one paginator, over `cloud.transport`
    errors, operations           what every error code means for a pass; all operations in one table
    zones, records, tunnels, access, service_tokens, tokens        the operations, typed by `models`
    tunnel_document, record_plan                                   pure: what to write, given what is there
    tunnel_writer, zone_writer                                     one writer per tunnel and per zone
"""
