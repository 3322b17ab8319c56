"""Lines of the log are made and thrown away: printing them would be most of what the tests do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def _quiet_logs() -> Iterator[None]:
    before = structlog.get_config()
    structlog.configure(
        processors=[structlog.processors.KeyValueRenderer()], logger_factory=structlog.ReturnLoggerFactory()
    )
    yield
    structlog.configure(**before)
