"""API tokens by reference: who holds one holds a way to ask for it, so that a changed Secret is used at once.

Cloudflare counts calls per token. Two Secrets may hold the same one, and one Secret another one tomorrow, so budgets
go by a fingerprint of the token itself. It tells tokens apart and says nothing about them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from edgekeeper.core.errors import Stall

_USABLE = re.compile(r"[!-~]{1,512}")
"""What may stand in a header: visible ASCII, no blank among it."""


@dataclass(frozen=True, slots=True)
class Credential:
    """Where an API token is to be had."""

    name: str
    """The Secret and its key, as `namespace/name/key`: for people, and what tells credentials apart."""
    read: Callable[[], str] = field(repr=False, compare=False)
    """Returns the token as it is now; raises one of the four errors where there is none."""

    def token(self) -> Token:
        """The token as it is now. Raise Stall where it is none."""
        value = self.read().strip()
        if not _USABLE.fullmatch(value):
            state = "holds no API token" if not value else "holds something that cannot be an API token"
            raise Stall("CredentialInvalid", f"Secret {self.name} {state}")
        return Token(value)


@dataclass(frozen=True, slots=True)
class Token:
    """An API token for the duration of one call."""

    value: str = field(repr=False)

    @property
    def header(self) -> str:
        return f"Bearer {self.value}"

    @property
    def fingerprint(self) -> str:
        """Names the token in budgets and audit lines."""
        return f"cloudflare:{sha256(self.value.encode()).hexdigest()[:12]}"
