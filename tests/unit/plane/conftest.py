"""A running plane for whoever asks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from edgekeeper.local.plane.plane import Plane
from tests.unit.plane.cluster import running


@pytest.fixture
async def plane() -> AsyncIterator[Plane]:
    async with running() as started:
        yield started
