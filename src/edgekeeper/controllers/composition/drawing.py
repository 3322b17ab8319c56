"""A graph for people: as a table, and as a Mermaid flowchart. `picture` draws it as SVG.

States are optional: without them the graph is shown as it is defined, with them as it stands in a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from edgekeeper.controllers.composition.checking import CompiledNode
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.node import NodeKind

_HEADINGS: Final = ("WAVE", "ID", "KIND", "DEPENDS ON", "NOTES")
_SHAPES: Final = {
    NodeKind.RESOURCE: ("[", "]"),
    NodeKind.COLLECTION: ("[[", "]]"),
    NodeKind.EXTERNAL: ("([", "])"),
    NodeKind.EXTERNAL_COLLECTION: ("([", "])"),
}

Rows = Sequence[tuple[str, ...]]


def title_of(graph: Graph) -> str:
    schema = graph.spec.schema
    return f"{schema.kind} ({schema.group}/{schema.api_version}, {schema.scope})"


def kind_of(node: CompiledNode) -> str:
    return f"{node.node.api_version} {node.node.object_kind}"


def notes_of(node: CompiledNode) -> list[str]:
    """What is special about a node, in a few words each."""
    notes = []
    if node.node.kind.is_external:
        notes.append("external")
    if node.for_each:
        notes.append(f"forEach {' × '.join(one.dimension.name for one in node.for_each)}")
    if node.include_when:
        notes.append("includeWhen")
    if node.ready_when:
        notes.append("readyWhen")
    if node.node.orphaned:
        notes.append("orphaned")
    return notes


def draw_table(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """Nodes in topological order, each with the wave in which it is applied at the earliest."""
    rows = list(_rows(graph, states))
    headings = (*_HEADINGS, "STATE") if states is not None else _HEADINGS
    widths = [max(len(row[place]) for row in (headings, *rows)) for place in range(len(headings))]
    lines = [_line(row, widths) for row in (headings, *rows)]
    return "\n".join([title_of(graph), *lines]) + "\n"


def _rows(graph: Graph, states: Mapping[str, str] | None) -> Iterator[tuple[str, ...]]:
    waves = layers(graph)
    for node in graph.nodes.values():
        needed = ", ".join(node.dependencies)
        row = (str(waves[node.id] + 1), node.id, kind_of(node), needed, ", ".join(notes_of(node)))
        yield row if states is None else (*row, states.get(node.id, ""))


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def layers(graph: Graph) -> dict[str, int]:
    """By node, how many nodes must come before it one after another."""
    found: dict[str, int] = {}
    for node in graph.nodes.values():
        found[node.id] = 1 + max((found[needed] for needed in node.dependencies), default=-1)
    return found


def draw_mermaid(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """A Mermaid flowchart. Arrows go from what is needed to what needs it; dotted where only `dependsOn` says so."""
    lines = ["flowchart TD", f"    %% {title_of(graph)}"]
    for node in graph.nodes.values():
        opening, closing = _SHAPES[node.node.kind]
        label = "<br/>".join(map(_escaped, _label(node, states)))
        lines.append(f'    {_name(node.id)}{opening}"{label}"{closing}')
    for node in graph.nodes.values():
        lines += [
            f"    {_name(needed)} {'-->' if is_data(node, needed) else '-.->'} {_name(node.id)}"
            for needed in node.dependencies
        ]
    return "\n".join(lines) + "\n"


def _label(node: CompiledNode, states: Mapping[str, str] | None) -> list[str]:
    state = (states or {}).get(node.id, "")
    return [node.id, kind_of(node), *notes_of(node), *([state] if state else [])]


def is_data(node: CompiledNode, needed: str) -> bool:
    """Whether a node reads something of what it depends on."""
    programs = [
        *(one.program for one in node.variables),
        *(one.program for one in node.include_when),
        *(one.program for one in node.for_each),
    ]
    return any(needed in program.identifiers for program in programs)


def _name(node_id: str) -> str:
    """Some ids are words of Mermaid, such as `end`."""
    return f"n_{node_id}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
