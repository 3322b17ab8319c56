"""Cloudflare Zero Trust: HTTPRoutes are published through tunnels, protected by Access, and named by DNS records."""
