"""CloudFront's SaaS Manager: multi-tenant distributions, their tenants, connection groups and managed certificates.

state        what an account has, and the rules that hold between its resources
resources    the resources themselves, as values
views        resources as the API shows them
customizations
             what is refused of a tenant's name, web ACL and countries
tenants, groups, distributions, certificates, domains, tags
             the operations
"""
