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
    object_diff                      what would change in the objects of an instance

Everything so far is pure: no clock, no cluster. The texts of rejections are kro's. In a cluster, definitions are kept by

    module, definition_options       flags, and what they mean
    definition_shared, registry      what the controllers share, and the graphs that are in force
    served_schemas                   the schemas that the server serves, and definitions compiled against them
    definition_controller, _index    the controllers, and what wakes them
    definition_observe, _decide, _crd, _report
                                     what is seen, what is to be done next, and what the status says
    definition_reconciler            the pass that does it
    revision_objects, revision_reconciler
                                     GraphRevisions
    definition_admission, rights     what is refused, and what the operator may not do
    definition_instances             runs the controllers of instances beside that of definitions

and instances by

    labels, inventory, instance_marks
                                     marks on instances and children, and where children may be
    waves, child_objects, node_progress, readiness, comparison
                                     what is to be applied next, and whether a live object is as it should be
    instance_plan, instance_status, instance_removal
                                     what was decided; state, conditions and projected values; which children go next
    kind_watches, watched, selectors, used_objects, instance_view, instance_world
                                     what is known about the cluster, and who is woken by what
    children, child_requests, reverted
                                     requests that change children, and when they are held back
    instance_reconciler, instance_deletion, instance_errors
                                     the passes of an instance
    instance_controllers             a controller for each kind
"""
