"""What tests do about the log, which belongs to the whole process. A `conftest` imports the fixture that its tests need."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def quiet_logs() -> Iterator[None]:
    """Lines are made and thrown away: printing them would be most of what the tests do."""
    before = structlog.get_config()
    structlog.configure(
        processors=[structlog.processors.KeyValueRenderer()], logger_factory=structlog.ReturnLoggerFactory()
    )
    yield
    structlog.configure(**before)


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """What is configured in a test, or by a command that runs within it, is put back."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
