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

All of this is pure: no clock, no cluster. The texts of rejections are kro's. Instances in a cluster:

    registry                         the graphs that are in force
    labels, inventory                marks on instances and children, and where children may be
    waves, instance_plan, readiness, comparison
                                     what is to be applied next, and whether a live object is as it should be: pure
    instance_removal, instance_status
                                     which children go next; state, conditions and projected values: pure
    watched, children, selectors, instance_view, instance_world
                                     what is known about the cluster, and who is woken by what
    instance_reconciler, instance_controllers
                                     the pass of an instance; a controller for each kind
"""
