"""API Gateway's custom domains: domain names, what they map to, and routing rules.

state       what an account has in a region
domains     the operations on domain names, of which an account gets one every 30 seconds
mappings    the operations on API mappings
rules       the operations on routing rules
tags        the operations on tags
"""
