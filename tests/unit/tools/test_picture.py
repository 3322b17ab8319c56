"""The picture shows the last state of the screen and loads nothing from elsewhere."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tools.picture import draw, settle


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
