"""What tests of the cloud side share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture
def quiet_audit() -> Iterator[None]:
    """Keep thousands of lines about simulated mutations from being printed."""
    with structlog.testing.capture_logs():
        yield
