"""Sessions of assumed roles, as AssumeRole returns them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

SESSION_LENGTH: Final = timedelta(hours=1)
"""The longest that AWS allows where one role assumes another."""


@dataclass(frozen=True, slots=True)
class AssumedSession:
    """What AssumeRole gives. Its text must not appear anywhere."""

    key_id: str
    secret_key: str
    token: str
    expires: datetime

    def __repr__(self) -> str:
        return f"AssumedSession(expires={self.expires.isoformat()})"
