"""A running plane for whoever asks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kubesim.plane.plane import Plane
from packages.kubesim.tests.plane.cluster import running


@pytest.fixture
async def plane() -> AsyncIterator[Plane]:
    async with running() as started:
        yield started
