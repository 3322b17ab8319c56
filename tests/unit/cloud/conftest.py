"""What tests of the cloud side share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture
def quiet_logs() -> Iterator[None]:
    """Keep log lines, and tracebacks that are meant to happen, from being rendered: that takes seconds."""
    with structlog.testing.capture_logs():
        yield
