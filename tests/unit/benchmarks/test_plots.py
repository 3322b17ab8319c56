"""The plots of docs/benchmarks.md: they say what its table says, and are up to date."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import __main__ as runner
from benchmarks.drawing import LENGTH, Bar, Drawing, Panel, draw
from benchmarks.plots import BEGIN, END, PLOTS, Plot, drawings, published_figures, shown, write_plots
from benchmarks.report import BEGIN as FIGURES_BEGIN
from benchmarks.report import END as FIGURES_END
from benchmarks.report import PAGE, write_page
from benchmarks.row import Row

SVG = "{http://www.w3.org/2000/svg}"
PUBLISHED = published_figures(PAGE.read_text())


def lengths(svg: str) -> list[float]:
    root = ElementTree.fromstring(svg)  # noqa: S314 - written by ourselves
    return [
        float(each.attrib["width"]) for each in root.iter(f"{SVG}rect") if each.attrib["class"] != "ground"
    ]


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


def test_bars_are_as_long_as_their_values() -> None:
    panel = Panel("time", "s", (Bar("ours", 1.5, ours=True), Bar("theirs", 6.0, ours=False)))
    svg = draw(Drawing("A & B", "a < b", (panel,)))
    assert lengths(svg) == [LENGTH / 4, LENGTH]
    assert texts(svg) == ["A & B", "time", "ours", "1.50 s", "theirs", "6 s", "a < b"]


def test_panel_without_any_value_has_no_bars_to_see() -> None:
    assert lengths(draw(Drawing("t", "", (Panel("p", "", (Bar("a", 0.0, ours=True),)),)))) == [0.0]


def test_published_figures_are_read_with_their_units() -> None:
    table = "| group | figure | value | goal | |\n|---|---|---:|---|---|\n| cel | a, b | 2,179 MiB | ≤ 1 | ok |\n| cel | c | 0.245 × faster |  |  |"
    assert published_figures(table) == {("cel", "a, b"): (2179.0, "MiB"), ("cel", "c"): (0.245, "× faster")}


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_plot_on_the_page_is_drawn_from_its_table(plot: Plot) -> None:
    text = dict(drawings(PUBLISHED)).get(plot)
    path = PAGE.parent / "img" / f"{plot.name}.svg"
    assert (path.read_text() if path.exists() else None) == text, "run `python -m benchmarks.plots`"


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_texts_fit_into_the_picture(plot: Plot) -> None:
    """By the usual width of a character; what a browser shows is not measured."""
    assert len(plot.title) <= 78
    assert len(plot.note) <= 125
    assert all(len(bar.label) <= 38 for part in plot.parts for bar in part.bars)


def test_page_shows_the_plots_that_there_are() -> None:
    drawn = [plot for plot, _ in drawings(PUBLISHED)]
    assert {"bench-kopf", "bench-rest", "bench-kro", "bench-plane", "bench-cel"} <= {
        plot.name for plot in drawn
    }
    assert f"{BEGIN}\n{shown(drawn)}\n{END}" in PAGE.read_text()


def test_plot_is_left_out_where_a_figure_is_missing() -> None:
    named = [plot.name for plot, _ in drawings(PUBLISHED)]
    less = {
        key: value for key, value in PUBLISHED.items() if key != ("cel", "cel-python: evaluation, median")
    }
    assert [plot.name for plot, _ in drawings(less)] == [name for name in named if name != "bench-cel"]


def test_figures_of_different_units_are_not_compared() -> None:
    key = ("cel", "cel-python: evaluation, median")
    with pytest.raises(ValueError, match="no common scale"):
        list(drawings({**PUBLISHED, key: (1.0, "ms")}))


def page_in(folder: Path) -> Path:
    page = folder / "benchmarks.md"
    page.write_text(f"a\n{BEGIN}\nold\n{END}\nb\n{FIGURES_BEGIN}\n{FIGURES_END}\nc\n")
    return page


WEB = [
    Row("web", name, value, "ms").to_json()
    for name, value in (
        ("list, a page of 50, p99", 33.0),
        ("search, p99", 22.0),
        ("overview, p99", 1.5),
        ("change to event, p99", 57.0),
    )
]


def test_plots_are_written_beside_the_page_and_old_ones_removed(tmp_path: Path) -> None:
    page = page_in(tmp_path)
    write_page(WEB, "Taken today.", page)
    (tmp_path / "img").mkdir()
    (tmp_path / "img" / "bench-gone.svg").write_text("old")
    (tmp_path / "img" / "other.svg").write_text("kept")
    write_plots(page)
    assert {path.name for path in (tmp_path / "img").iterdir()} == {"bench-web.svg", "other.svg"}
    assert lengths((tmp_path / "img" / "bench-web.svg").read_text())[-1] == LENGTH
    between = page.read_text().partition(BEGIN)[2].partition(END)[0].strip()
    assert re.fullmatch(r"!\[.+\]\(img/bench-web\.svg\)", between)


def test_page_without_marks_for_plots_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("nothing here")
    with pytest.raises(ValueError, match="lacks the marks"):
        write_plots(page)
    assert not (tmp_path / "img").exists()


def test_writing_the_docs_writes_figures_and_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_in(tmp_path)
    monkeypatch.setattr(runner, "read_results", lambda: WEB)
    monkeypatch.setattr(runner, "describe_provenance", lambda: "Taken today.")
    monkeypatch.setattr(runner, "write_page", lambda rows, provenance: write_page(rows, provenance, page))
    monkeypatch.setattr(runner, "write_plots", lambda: write_plots(page))
    runner.main(["--write-docs"], standalone_mode=False)
    assert "| web | search, p99 | 22 ms |" in page.read_text()
    assert (tmp_path / "img" / "bench-web.svg").exists()
