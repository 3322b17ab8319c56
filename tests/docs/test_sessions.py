"""Pages as their readers follow them: a shell runs every command, and what each prints is what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.person import environment_of_a_person
from tests.docs.session import Follower, Session
from tests.docs.sessions import SESSIONS


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.page)
def test_page_shows_what_happens(session: Session, folder: Path) -> None:
    with Follower(folder, environment_of_a_person(folder)) as reader:
        reader.follow(session)
    assert reader.executed == len(session.executed())
