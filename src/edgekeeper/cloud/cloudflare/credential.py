"""References to API tokens. A token is read when it is used, so that a changed Secret is used immediately.

Cloudflare limits calls per token. Two Secrets may contain the same token, and the token of a Secret may change, so rate
limits use a fingerprint of the token itself, from which the token cannot be derived.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from edgekeeper.core.errors import Stall

_USABLE = re.compile(r"[!-~]{1,512}")
"""Characters that are valid in a header: visible ASCII without spaces."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A reference to an API token."""

    name: str
    """The Secret and its key, as `namespace/name/key`. Identifies the credential, also in messages."""
    read: Callable[[], str] = field(repr=False, compare=False)
    """Returns the current token. Raises one of the four errors if there is none."""

    def token(self) -> Token:
        """The current token. Raise Stall if it is invalid."""
        value = self.read().strip()
        if not _USABLE.fullmatch(value):
            state = "contains no API token" if not value else "contains an invalid API token"
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
        """Identifies the token in rate limits and audit lines."""
        return f"cloudflare:{sha256(self.value.encode()).hexdigest()[:12]}"
