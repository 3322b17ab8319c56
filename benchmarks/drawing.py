"""Bars as SVG: panels with a scale of their own, one below the other. No script, no font, no colour from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.row import format_value

WIDTH, LABELS, LENGTH = 760, 250, 360
"""Of the picture, of the column of labels, and of the longest bar."""
_BAR, _LINE, _TITLE, _HEAD, _MARGIN = 16, 24, 30, 40, 14
_STYLE: Final = """
    .ground { fill: #ffffff; stroke: #cfd8dc; }
    text { fill: #102027; }
    .title { font-weight: 600; font-size: 15px; }
    .part { font-weight: 600; }
    .note { fill: #455a64; font-size: 11.5px; }
    .ours { fill: #00796b; }
    .theirs { fill: #90a4ae; }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #1e2429; stroke: #37474f; }
      text { fill: #eceff1; }
      .note { fill: #b0bec5; }
      .ours { fill: #4db6ac; }
      .theirs { fill: #78909c; }
    }
"""


@dataclass(frozen=True)
class Bar:
    """A value with its label."""

    label: str
    value: float
    ours: bool


@dataclass(frozen=True)
class Panel:
    """Bars that are compared: the longest one has the full length."""

    title: str
    unit: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Drawing:
    """A picture."""

    title: str
    note: str
    panels: tuple[Panel, ...]


def described(drawing: Drawing) -> str:
    """The values as text, for those who do not see the picture."""
    parts = (
        f"{panel.title}: " + ", ".join(f"{bar.label} {_value(bar, panel)}" for bar in panel.bars)
        for panel in drawing.panels
    )
    return f"{drawing.title}. {'; '.join(parts)}."


def draw(drawing: Drawing) -> str:
    """The picture as SVG."""
    height = _HEAD + sum(_TITLE + _LINE * len(panel.bars) for panel in drawing.panels) + _MARGIN
    height += _MARGIN if drawing.note else 0
    body = "\n".join(f"  {line}" for line in _lines(drawing, height))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        f' font-family="system-ui, sans-serif" font-size="13" role="img">\n'
        f"  <title>{escape(described(drawing))}</title>\n  <style>{_STYLE}  </style>\n{body}\n</svg>\n"
    )


def _lines(drawing: Drawing, height: int) -> Iterator[str]:
    yield f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>'
    yield f'<text class="title" x="{_MARGIN}" y="28">{escape(drawing.title)}</text>'
    top = _HEAD
    for panel in drawing.panels:
        yield f'<text class="part" x="{_MARGIN}" y="{top + 18}">{escape(panel.title)}</text>'
        top += _TITLE
        for bar in panel.bars:
            yield from _bar(bar, panel, top)
            top += _LINE
    if drawing.note:
        yield f'<text class="note" x="{_MARGIN}" y="{height - 10}">{escape(drawing.note)}</text>'


def _bar(bar: Bar, panel: Panel, top: int) -> Iterator[str]:
    longest = max(each.value for each in panel.bars) or 1
    length = round(LENGTH * bar.value / longest, 1)
    text = top + 13
    yield f'<text x="{LABELS - 8}" y="{text}" text-anchor="end">{escape(bar.label)}</text>'
    kind = "ours" if bar.ours else "theirs"
    yield f'<rect class="{kind}" x="{LABELS}" y="{top}" width="{length}" height="{_BAR}" rx="2"/>'
    yield f'<text x="{LABELS + length + 6:g}" y="{text}">{escape(_value(bar, panel))}</text>'


def _value(bar: Bar, panel: Panel) -> str:
    return f"{format_value(bar.value)} {panel.unit}".strip()
