"""A simulated Cloudflare: the part of API v4 that edgekeeper and its users' tools need, with the provider's rules.

`cloud.CloudflareCloud` is the whole of it. It answers over HTTP on loopback (`serve`), so that the official SDK works
against it, and straight in process (`send`), so that everything above runs in virtual time.
"""
