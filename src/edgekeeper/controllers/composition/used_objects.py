"""What of the objects of a graph is used: their kinds, and whether more than their metadata is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.node import Node
from edgekeeper.kube.kinds import Kind
from kubecel.program import Program

_METADATA: Final = frozenset({"apiVersion", "kind", "metadata"})
"""What is known of an object without reading its content."""


def kind_of_node(node: Node) -> Kind | None:
    """The kind of a node's objects; None if the server was not known to serve it."""
    known = node.known
    if known is None or not known.plural or known.namespaced is None:
        return None
    group, _, version = node.api_version.rpartition("/")
    return Kind(group, version, node.object_kind, known.plural, known.namespaced)


def used_kinds(graph: Graph, *, external: bool) -> set[Kind]:
    """The kinds of all children, or those of all objects of others that a graph refers to."""
    kinds = (kind_of_node(one.node) for one in graph.nodes.values() if one.node.kind.is_external is external)
    return {kind for kind in kinds if kind is not None}


def read_nodes(graph: Graph) -> frozenset[str]:
    """The nodes of whose objects expressions read more than the metadata."""
    read = {
        path[0]
        for program in _programs(graph)
        for path in program.paths
        if path[0] in graph.nodes and (len(path) < 2 or path[1] not in _METADATA)
    }
    return frozenset(read | {node.id for node in graph.nodes.values() if node.ready_when})


def _programs(graph: Graph) -> Iterable[Program]:
    for node in graph.nodes.values():
        yield from (one.program for one in node.variables)
        yield from (one.program for one in node.include_when)
        yield from (one.program for one in node.for_each)
    yield from (one.program for one in graph.status.variables)
    yield from (one.program for one in graph.status.conditions)
