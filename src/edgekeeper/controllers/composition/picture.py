"""A graph as an SVG picture: one column for each wave, arrows from what is needed to what needs it.

The picture stands alone: no script, no font of its own. It has paper of its own, light or dark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from edgekeeper.controllers.composition.checking import CompiledNode
from edgekeeper.controllers.composition.drawing import is_data, kind_of, layers, notes_of, title_of
from edgekeeper.controllers.composition.graph import Graph

_CHARACTER: Final = 7.4
"""The width of a character, of which the width of a box follows."""
_LINE: Final = 18
_PADDING: Final = 12
_GAP_ACROSS: Final = 70
_GAP_DOWN: Final = 22
_MARGIN: Final = 20
_TITLE: Final = 34

_FONT: Final = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12"'


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a picture. Each of them has a contrast of at least 4.5 to 1 with the paper."""

    ink: str
    muted: str
    paper: str
    plain: str
    good: str
    pending: str
    failed: str
    other: str

    def of_state(self, state: str) -> str:
        return str(getattr(self, _TONES.get(state, "plain")))


LIGHT: Final = Palette("#1f2933", "#52606d", "#ffffff", "#1565c0", "#2e7d32", "#945600", "#c62828", "#5f6670")
DARK: Final = Palette("#e3e8ef", "#9ba8b9", "#151c25", "#7fb4ff", "#76d98f", "#ffbd72", "#ff9388", "#9ba8b9")
_TONES: Final = {
    "Ready": "good",
    "Rendered": "good",
    "Pending": "pending",
    "Waiting": "pending",
    "NotReady": "pending",
    "Missing": "pending",
    "Outdated": "pending",
    "Deleting": "pending",
    "External": "other",
    "Excluded": "other",
    "Failed": "failed",
    "Error": "failed",
}


@dataclass(frozen=True, slots=True)
class _Box:
    """A node in its place."""

    node: CompiledNode
    lines: tuple[str, ...]
    state: str
    x: float
    y: float
    width: float

    @property
    def height(self) -> float:
        return 2 * _PADDING + _LINE * len(self.lines) - 4

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def draw_svg(graph: Graph, states: Mapping[str, str] | None = None, palette: Palette = LIGHT) -> str:
    """The picture."""
    boxes = _arrange(graph, states or {})
    width = max((box.x + box.width for box in boxes.values()), default=0) + _MARGIN
    width = max(width, _MARGIN * 2 + len(title_of(graph)) * 8.5)
    height = max((box.y + box.height for box in boxes.values()), default=_TITLE) + _MARGIN
    arrows = [
        _arrow(boxes[needed], box, palette.ink, dotted=not is_data(box.node, needed))
        for box in boxes.values()
        for needed in box.node.dependencies
    ]
    title = escape(title_of(graph))
    frame = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {frame} role="img" {_FONT}>',
        f"<title>{title}</title>",
        _arrow_head(palette.ink),
        f'<rect width="100%" height="100%" fill="{palette.paper}"/>',
        f'<text x="{_MARGIN}" y="{_MARGIN + 4}" font-size="14" font-weight="bold" fill="{palette.ink}">{title}</text>',
        *arrows,
        *(_drawn(box, palette) for box in boxes.values()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _arrange(graph: Graph, states: Mapping[str, str]) -> dict[str, _Box]:
    """A place for each node: columns by layer, nodes of one layer in topological order."""
    columns: dict[int, list[CompiledNode]] = {}
    for node_id, layer in layers(graph).items():
        columns.setdefault(layer, []).append(graph.nodes[node_id])
    boxes: dict[str, _Box] = {}
    x = float(_MARGIN)
    for layer in sorted(columns):
        lines = {node.id: _lines(node, states) for node in columns[layer]}
        width = max(len(line) for texts in lines.values() for line in texts) * _CHARACTER + 2 * _PADDING
        y = float(_MARGIN + _TITLE)
        for node in columns[layer]:
            box = _Box(node, lines[node.id], states.get(node.id, ""), x, y, width)
            boxes[node.id] = box
            y += box.height + _GAP_DOWN
        x += width + _GAP_ACROSS
    return boxes


def _lines(node: CompiledNode, states: Mapping[str, str]) -> tuple[str, ...]:
    notes = ", ".join(notes_of(node))
    return tuple(line for line in (node.id, kind_of(node), notes, states.get(node.id, "")) if line)


def _arrow_head(ink: str) -> str:
    shape = f'<path d="M0 0 8 4 0 8z" fill="{ink}"/>'
    place = 'viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"'
    return f'<defs><marker id="arrow" {place}>{shape}</marker></defs>'


def _arrow(start: _Box, end: _Box, ink: str, *, dotted: bool) -> str:
    x1, y1, x2, y2 = start.x + start.width, start.middle, end.x, end.middle
    bend = max(_GAP_ACROSS / 2, (x2 - x1) / 2)
    dashes = ' stroke-dasharray="4 4"' if dotted else ""
    path = f"M{x1:.1f} {y1:.1f} C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    return (
        f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="1.2"{dashes} marker-end="url(#arrow)"/>'
    )


def _drawn(box: _Box, palette: Palette) -> str:
    colour = palette.of_state(box.state)
    dashes = ' stroke-dasharray="6 3"' if box.node.node.kind.is_external else ""
    parts = [f"<g id={quoteattr(box.node.id)}>"]
    if box.node.node.kind.is_list:
        parts.append(
            f'<rect x="{box.x + 5:.1f}" y="{box.y + 5:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
            f'rx="6" fill="{palette.paper}" stroke="{colour}"/>'
        )
    parts.append(
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6" '
        f'fill="{palette.paper}" stroke="{colour}" stroke-width="1.8"{dashes}/>'
    )
    for number, line in enumerate(box.lines):
        y = box.y + _PADDING + 10 + number * _LINE
        weight = ' font-weight="bold"' if number == 0 else ""
        fill = palette.ink if number == 0 else colour if line == box.state else palette.muted
        parts.append(
            f'<text x="{box.x + _PADDING:.1f}" y="{y:.1f}" fill="{fill}"{weight}>{escape(line)}</text>'
        )
    return "".join([*parts, "</g>"])
