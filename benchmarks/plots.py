"""Plots of the published figures: `python -m benchmarks.plots` draws docs/img/bench-*.svg again from docs/benchmarks.md.

A plot is drawn from the table of the page, so it never says anything else than the page. One for which a figure is missing there
is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.drawing import Bar, Drawing, Panel, draw
from benchmarks.report import PAGE, write_between

BEGIN, END = "<!-- plots: begin -->", "<!-- plots: end -->"

Figures = Mapping[tuple[str, str], tuple[float, str]]
"""By group and name: the value and its unit."""
_ROW: Final = re.compile(
    r"^\| (?P<group>[a-z]+) \| (?P<name>[^|]+) \| (?P<value>[\d,.]+)(?: (?P<unit>[^|]+))? \|"
)


@dataclass(frozen=True)
class Measured:
    """A bar whose length is a figure of the page."""

    label: str
    figure: str
    ours: bool = True


@dataclass(frozen=True)
class Known:
    """A bar of others whose length is not measured by `make bench`; the plot says where it comes from."""

    label: str
    value: float


@dataclass(frozen=True)
class Part:
    """Bars of one unit and one scale."""

    title: str
    group: str
    bars: tuple[Measured | Known, ...]


@dataclass(frozen=True)
class Plot:
    """A picture with one or more parts. `note` says what the figures do not say."""

    name: str
    title: str
    note: str
    parts: tuple[Part, ...]


def _beside_kopf(title: str, figure: str) -> Part:
    return Part(
        title,
        "runtime",
        tuple(
            Measured(
                f"{who}, {server} API server", f"{who_named}, 10,000 objects, {server} server: {figure}", ours
            )
            for server in ("real", "embedded")
            for who, who_named, ours in (("edgekeeper", "ours", True), ("kopf", "kopf", False))
        ),
    )


def _beside_kro(title: str, figure: str, kro: float) -> Part:
    return Part(title, "composition", (Measured("edgekeeper", figure), Known("kro", kro)))


_INSTANCES: Final = "500 instances with 3 children"
_READS_A_DAY: Final = 24 * 60 // 5
"""Of an operator that reads each object every five minutes."""

PLOTS: Final = (
    Plot(
        "bench-kopf",
        "10,000 objects reconciled: the same operator with our runtime and with kopf",
        "Both of the same run of make bench.",
        (_beside_kopf("processor time", "CPU"), _beside_kopf("peak memory", "peak RSS")),
    ),
    Plot(
        "bench-rest",
        "Calls to AWS per day for tenants that do not change",
        "Listings are counted at the simulated AWS. The grey bars are computed: one read of each tenant every five minutes.",
        tuple(
            Part(
                f"{count:,} tenants",
                "cloudfront",
                (
                    Measured(
                        "edgekeeper, listings", f"{count:,} tenants, own certificate: steady calls per day"
                    ),
                    Known("one read per tenant", count * _READS_A_DAY),
                ),
            )
            for count in (1_000, 10_000)
        ),
    ),
    Plot(
        "bench-kro",
        "Composed instances with three children: edgekeeper and kro",
        "kro v0.9 was measured once on the same embedded API server; make bench does not repeat it.",
        (
            _beside_kro("requests to create one", "one more instance, 3 children: requests", 35),
            _beside_kro("writes to create one", "one more instance, 3 children: writes", 15),
            _beside_kro(
                "processor time to create one", f"{_INSTANCES}: processor time for each to create", 35
            ),
            _beside_kro("memory with 500", f"{_INSTANCES}: peak RSS of edgekeeper run", 73),
            _beside_kro(
                "requests of a resync of 500",
                f"{_INSTANCES}: two resyncs, requests about instances and children",
                6_200,
            ),
            _beside_kro(
                "requests for a change of the definition", f"{_INSTANCES}: change of the definition", 13_000
            ),
        ),
    ),
    Plot(
        "bench-plane",
        "Creating objects of 2 KB",
        "The embedded server uses one core, kube-apiserver with etcd all cores.",
        (
            Part(
                "a second",
                "plane",
                (
                    Measured("embedded API server", "creates of 2 KB objects, one core"),
                    Measured("kube-apiserver with etcd", "creates on the real server, all cores", ours=False),
                ),
            ),
        ),
    ),
    Plot(
        "bench-cel",
        "CEL expressions: median over a dozen typical ones",
        "Ours with cost accounting and, when compiling, a type check. cel-python only those that it can evaluate.",
        (
            Part(
                "evaluate",
                "cel",
                (
                    Measured("kubecel", "evaluation of a prepared expression, median"),
                    Measured("cel-python", "cel-python: evaluation, median", ours=False),
                ),
            ),
            Part(
                "compile",
                "cel",
                (
                    Measured("kubecel, with a check", "compile and check, median"),
                    Measured(
                        "cel-python, without", "cel-python: compile without a check, median", ours=False
                    ),
                ),
            ),
        ),
    ),
    Plot(
        "bench-web",
        "The status page with 10,000 objects: 99 of 100 answers take at most",
        "",
        (
            Part(
                "until the answer",
                "web",
                (
                    Measured("a page of the list", "list, a page of 50, p99"),
                    Measured("a search", "search, p99"),
                    Measured("the overview", "overview, p99"),
                    Measured("a change, to the event at the browser", "change to event, p99"),
                ),
            ),
        ),
    ),
)


def published_figures(page: str) -> dict[tuple[str, str], tuple[float, str]]:
    """The figures of the page's table."""
    found = {}
    for line in page.splitlines():
        row = _ROW.match(line)
        if row is not None:
            value = float(row["value"].replace(",", ""))
            found[row["group"], row["name"]] = (value, (row["unit"] or "").strip())
    return found


def drawings(figures: Figures) -> Iterator[tuple[Plot, str]]:
    """The plots that the figures suffice for, as SVG."""
    for plot in PLOTS:
        if all(key in figures for key in _needed(plot)):
            panels = tuple(_panel(part, figures) for part in plot.parts)
            yield plot, draw(Drawing(plot.title, plot.note, panels))


def _needed(plot: Plot) -> Iterator[tuple[str, str]]:
    for part in plot.parts:
        yield from ((part.group, bar.figure) for bar in part.bars if isinstance(bar, Measured))


def _panel(part: Part, figures: Figures) -> Panel:
    units = {figures[part.group, bar.figure][1] for bar in part.bars if isinstance(bar, Measured)}
    if len(units) != 1:
        raise ValueError(f"{part.title}: figures with the units {sorted(units)} have no common scale")
    return Panel(part.title, units.pop(), tuple(_bar(bar, part.group, figures) for bar in part.bars))


def _bar(bar: Measured | Known, group: str, figures: Figures) -> Bar:
    if isinstance(bar, Known):
        return Bar(bar.label, bar.value, ours=False)
    return Bar(bar.label, figures[group, bar.figure][0], bar.ours)


def write_plots(page: Path = PAGE) -> None:
    """Draw the plots of a page into `img/` beside it and show them between its marks. Plots that its figures do not suffice for
    any more are removed."""
    drawn = dict(drawings(published_figures(page.read_text())))
    write_between(page, BEGIN, END, shown(drawn))
    folder = page.parent / "img"
    folder.mkdir(exist_ok=True)
    for path in folder.glob("bench-*.svg"):
        path.unlink()
    for plot, text in drawn.items():
        (folder / f"{plot.name}.svg").write_text(text)


def shown(plots: Iterable[Plot]) -> str:
    """The plots as a page shows them."""
    return "\n\n".join(f"![{plot.title}](img/{plot.name}.svg)" for plot in plots)


if __name__ == "__main__":
    write_plots()
