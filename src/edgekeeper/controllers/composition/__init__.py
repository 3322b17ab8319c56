"""Composition: kinds that a platform team defines out of other kinds, in kro's format.

    rejection                        why a definition is rejected, and the path of the field
    names, expressions, template     what is written in a definition
    markers, marker_effects, simple_schema
                                     SimpleSchema as OpenAPI
    definition, plural, compatibility
                                     the generated CustomResourceDefinition, and whether a change of it breaks instances
    schemas                          where the schemas of other kinds come from
    node, inspection, dag            resources as nodes, what their expressions refer to, and the order that follows
    checking, status, conditions     every expression checked against the schemas
    graph, family                    all of it: a definition compiled, or why it cannot be; several that use each other
    revision                         when two definitions say the same
    values, evaluation               evaluate the expressions of a node, given the objects that they refer to
    instance, rendering              validate and render an instance without a cluster
    drawing, picture                 the graph as text, Mermaid and SVG

Everything here is pure: no clock, no cluster. The texts of rejections are kro's.
"""
