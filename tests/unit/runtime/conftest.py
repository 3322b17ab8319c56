"""Lines of the log are made and thrown away."""

from __future__ import annotations

from tests.logs import quiet_logs

__all__ = ["quiet_logs"]
