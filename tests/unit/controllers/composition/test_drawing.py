"""Graphs for people: as a table, as Mermaid, as SVG."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from edgekeeper.controllers.composition.drawing import draw_mermaid, draw_table, layers
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.picture import DARK, LIGHT, Palette, draw_svg
from tests.unit.controllers.composition.cases import config, definition, graph_of, workload

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def graph() -> Graph:
    many = config("many", forEach=[{"x": "${schema.spec.l}"}, {"y": "${schema.spec.l}"}])
    many["template"]["metadata"]["name"] = "${x}-${y}"
    reference = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    return graph_of(
        definition(
            {"id": "secret", "externalRef": reference},
            workload("web", {"args": ["${secret.metadata.name}"]}, readyWhen=["${web.status.ready > 0}"]),
            config(
                "end", value="${web.metadata.name}", includeWhen=["${schema.spec.on}"], dependsOn=["many"]
            ),
            many | {"deletionPolicy": "Orphan"},
            spec={"l": "[]string", "on": "boolean"},
        )
    )


def test_table_shows_waves_kinds_and_notes(graph: Graph) -> None:
    assert draw_table(graph) == (
        "App (kro.run/v1alpha1, Namespaced)\n"
        "WAVE  ID      KIND                     DEPENDS ON  NOTES\n"
        "1     secret  v1 Secret                            external\n"
        "2     web     example.com/v1 Workload  secret      readyWhen\n"
        "1     many    v1 ConfigMap                         forEach x × y, orphaned\n"
        "3     end     v1 ConfigMap             many, web   includeWhen\n"
    )


def test_table_shows_states_if_they_are_known(graph: Graph) -> None:
    lines = draw_table(graph, {"web": "Pending"}).splitlines()
    assert lines[1].endswith("STATE")
    assert lines[3].endswith("Pending")


def test_mermaid_has_shapes_and_arrows(graph: Graph) -> None:
    assert draw_mermaid(graph, {"web": "Ready"}).splitlines() == [
        "flowchart TD",
        "    %% App (kro.run/v1alpha1, Namespaced)",
        '    n_secret(["secret<br/>v1 Secret<br/>external"])',
        '    n_web["web<br/>example.com/v1 Workload<br/>readyWhen<br/>Ready"]',
        '    n_many[["many<br/>v1 ConfigMap<br/>forEach x × y<br/>orphaned"]]',
        '    n_end["end<br/>v1 ConfigMap<br/>includeWhen"]',
        "    n_secret --> n_web",
        "    n_many -.-> n_end",
        "    n_web --> n_end",
    ]


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_colours_of_pictures_can_be_read(palette: Palette) -> None:
    paper = luminance(palette.paper)
    for field in fields(palette):
        if field.name != "paper":
            light, dark = sorted((paper, luminance(getattr(palette, field.name))), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, field.name


def luminance(colour: str) -> float:
    values = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in values
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_svg_is_a_document_with_a_box_for_each_node_and_an_arrow_for_each_edge(graph: Graph) -> None:
    root = ElementTree.fromstring(draw_svg(graph, {"web": "Failed"}))  # noqa: S314 # our own
    boxes = {group.get("id"): group for group in root.iter(f"{_SVG}g")}
    assert set(boxes) == set(graph.order)
    arrows = [path for path in root.findall(f"{_SVG}path") if path.get("marker-end")]
    assert len(arrows) == sum(map(len, graph.dependencies.values())) == 3
    assert [path.get("stroke-dasharray") is not None for path in arrows].count(True) == 1
    texts = [text.text for text in boxes["web"].iter(f"{_SVG}text")]
    assert texts == ["web", "example.com/v1 Workload", "readyWhen", "Failed"]


def test_svg_boxes_of_one_wave_do_not_overlap_and_lie_within_the_picture(graph: Graph) -> None:
    root = ElementTree.fromstring(draw_svg(graph))  # noqa: S314 # our own
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    places: dict[float, list[tuple[float, float]]] = {}
    for group in root.iter(f"{_SVG}g"):
        box = group.findall(f"{_SVG}rect")[-1]
        x, y = float(box.get("x") or 0), float(box.get("y") or 0)
        w, h = float(box.get("width") or 0), float(box.get("height") or 0)
        assert x + w <= width
        assert y + h <= height
        places.setdefault(x, []).append((y, y + h))
    for column in places.values():
        ordered = sorted(column)
        assert all(first[1] < second[0] for first, second in pairwise(ordered))


def test_names_of_users_cannot_break_a_picture() -> None:
    graph = graph_of(definition(group='a"<b>&'))
    assert "<b>" not in draw_svg(graph)
    assert ElementTree.fromstring(draw_svg(graph)).find(f"{_SVG}title") is not None  # noqa: S314 # our own


def test_layers_count_what_must_come_before(graph: Graph) -> None:
    assert layers(graph) == {"secret": 0, "web": 1, "many": 0, "end": 2}


def test_graph_without_nodes_is_drawn() -> None:
    graph = graph_of(definition())
    assert draw_table(graph).splitlines()[1] == "WAVE  ID  KIND  DEPENDS ON  NOTES"
    assert draw_mermaid(graph).startswith("flowchart TD")
    assert ElementTree.fromstring(draw_svg(graph)).tag == f"{_SVG}svg"  # noqa: S314 # our own
