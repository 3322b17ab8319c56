"""The kinds as typed data, and the CustomResourceDefinitions made from them.

schema        from typed structs to structural OpenAPI schemas
definition    the rest of a definition: names, columns, subresources
shared        conditions and inventories, for all kinds
cloudfront    DistributionTenant
"""
