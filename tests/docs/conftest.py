"""The folder of a person who follows a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.person import checkout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what pages use of a checkout."""
    checkout(tmp_path)
    return tmp_path
