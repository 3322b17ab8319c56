"""What the pictures of docs/concepts.md show is what the product does, where that can be read off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from edgekeeper.cli.main import run

ROOT: Final = Path(__file__).parents[3]
IMAGES: Final = ROOT / "docs" / "img"
PAGE: Final = (ROOT / "docs" / "concepts.md").read_text()
SVG: Final = "{http://www.w3.org/2000/svg}"


def waves_of_the_picture() -> dict[str, int]:
    """By resource, the frame that it is drawn in."""
    picture = ElementTree.parse(IMAGES / "waves.svg").getroot()  # noqa: S314 - our own file
    frames = [float(one.attrib["x"]) for one in picture.iter(f"{SVG}rect") if one.get("class") == "frame"]
    names = [one for one in picture.iter(f"{SVG}text") if one.get("class") == "name"]
    return {
        str(one.text): sum(float(one.attrib["x"]) > left for left in frames)
        for one in names
        if not str(one.text).startswith("wave ")
    }


def test_picture_of_waves_is_the_graph_of_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["graph", str(ROOT / "examples" / "platform" / "tubi-service.yaml")]) == 0
    rows = re.findall(r"^(\d+) +(\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert waves_of_the_picture() == {name: int(wave) for wave, name in rows}


@pytest.mark.parametrize(
    "section", re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:], ids=lambda text: text.splitlines()[0]
)
def test_concept_is_short_and_has_a_picture_and_details(section: str) -> None:
    title, *lines = [line for line in section.splitlines() if line]
    (picture,) = re.findall(r"^!\[.{20,}\]\(img/([\w-]+\.svg)\)$", section, re.MULTILINE)
    assert (IMAGES / picture).exists()
    prose = [line for line in lines if not line.startswith(("![", "More: ")) and not line.startswith("[")]
    assert 5 <= len(prose) <= 10, title
    assert re.search(r"^More: \[", section, re.MULTILINE), title
