"""The picture shows the last state of the screen and loads nothing from elsewhere."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tools.picture import PICTURE, draw, excerpt, settle


@pytest.mark.parametrize(
    ("output", "screen"),
    [
        ("one\r\ntwo\r\n", "one\ntwo"),
        ("old\r\x1b[2Knew\r\n", "new"),
        ("a\r\nb\r\n\x1b[2A\x1b[2Kx\r\n", "x\nb"),
        ("\x1b[?25lshown\x1b[?25h", "shown"),
        ("\x1b[32mgreen\x1b[0m", "\x1b[32mgreen\x1b[0m"),
        ("a\r\n\r\nb\r\n\r\n", "a\n\nb"),
    ],
    ids=["lines", "line redrawn", "line above redrawn", "cursor hidden", "colour kept", "blank lines"],
)
def test_settled_screen_is_what_a_person_sees(output: str, screen: str) -> None:
    assert settle(output) == screen


def test_picture_is_whole_and_loads_nothing() -> None:
    picture = draw("\x1b[32mEverything is ready\x1b[0m")
    assert ElementTree.fromstring(picture).tag.endswith("svg")  # noqa: S314 - our own text
    assert "make&#160;demo" in picture
    assert re.findall(r"url\((?!#)[^)]*\)|@import|@font-face", picture) == []


def test_excerpt_leaves_out_the_table_and_some_scenarios_and_the_token() -> None:
    scenarios = [
        f"{number}. Something happens\n   \x1b[36mkubectl\x1b[0m: {number}" for number in range(1, 10)
    ]
    parts = [
        "edgekeeper serves\nThe status page is at \x1b[1mhttp://127.0.0.1:1/?token=s3cr-et_x\x1b[0m",
        "KIND  NAME\nA  b",
        "\x1b[32mEverything is ready\x1b[0m after 1 s.",
        "Nine scenarios: what happens.",
        *scenarios,
        "Look at it in a browser:",
        "  http://127.0.0.1:1/?token=s3cr-et_x",
    ]
    shown = excerpt("\n\n".join(parts))
    assert "s3cr" not in shown
    assert shown.split("\n\n") == [
        "edgekeeper serves\nThe status page is at \x1b[1mhttp://127.0.0.1:1/?token=…\x1b[0m",
        "…",
        parts[2],
        parts[3],
        scenarios[0],
        scenarios[1],
        "…",
        scenarios[4],
        "…",
        scenarios[7],
        "…",
    ]


def test_picture_of_the_readme_shows_the_story_and_no_token() -> None:
    picture = PICTURE.read_text().replace("&#160;", " ")
    for text in (
        "make demo",
        "Everything is ready",
        "Nine scenarios",
        "1. Somebody edits a tenant in AWS",
        "5. It is protected",
    ):
        assert text in picture
    assert re.findall(r"token=(?!…)", picture) == []
