"""docs/import.md: its first example, against the clouds of `edgekeeper up --no-operator`, which has no fleet to begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.person import environment_of_a_person
from tests.docs.session import Follower
from tests.docs.sessions import IMPORT


@pytest.mark.parametrize("stand_in", [False, True], ids=["any aws", "stand-in for aws"])
def test_import_page_shows_what_happens(folder: Path, stand_in: bool) -> None:
    with Follower(folder, environment_of_a_person(folder, stand_in=stand_in)) as reader:
        reader.follow(IMPORT)
        code, printed = reader.run("edgekeeper import tenants")
    assert code == 0
    assert "skipped: declared by DistributionTenant default/blog" in printed
