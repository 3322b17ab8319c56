"""docs/tutorial.md as a newcomer follows it: a shell runs every command against a real `edgekeeper up`, with a real kubectl."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from tests.docs.page import Example
from tests.docs.person import environment_of_a_person
from tests.docs.session import Follower
from tests.docs.sessions import TUTORIAL


def rows_behind(link: str) -> list[dict[str, Any]]:
    """What a browser reads that opens the link of the status page: the first page of the list."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(link) as page:
        assert b"<title>edgekeeper</title>" in page.read()
    with browser.open(urljoin(link, "/api/objects")) as rows:
        return list(json.load(rows)["items"])


def test_tutorial_shows_what_happens(folder: Path) -> None:
    seen: set[str] = set()

    def look(example: Example, printed: str) -> None:
        if example.command == "jq -r .page up.json":
            seen.update(row["name"] for row in rows_behind(printed.strip()))

    with Follower(folder, environment_of_a_person(folder)) as reader:
        reader.follow(TUTORIAL, look)
    assert reader.executed == len(TUTORIAL.commands()) >= 30
    assert {"shop", "handbook"} <= seen
