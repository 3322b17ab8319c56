"""Types of the custom resources, and the CustomResourceDefinitions generated from them.

schema        structural OpenAPI schemas of typed structs
definition    CustomResourceDefinitions: names, printer columns, subresources
shared        types that several kinds use: conditions, inventories
cloudfront    DistributionTenant
composition   ResourceGraphDefinition, GraphRevision
"""
