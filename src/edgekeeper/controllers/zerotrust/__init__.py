"""Cloudflare Zero Trust: annotated HTTPRoutes become tunnel hostnames, DNS records, Access applications and service tokens.

    annotations ─► settings ─► desired ─► CloudflareTask ─► Cloudflare
    templates, tenant ──┘         └── origin, access_rules, dns_only

What is wanted for a route is computed here without any input or output, so that it can be tested in tables:

    annotations     what the user wrote on the route
    settings        merged with templates and the tenant's defaults
    desired         the spec of the task
    owner           marks on what belongs to a route
"""
