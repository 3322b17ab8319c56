"""Identifiers in the shapes that AWS gives them, the same in every run of the same scenario."""

from __future__ import annotations

import string
from random import Random
from uuid import UUID

_UPPER = string.ascii_uppercase + string.digits
_LOWER = string.ascii_lowercase + string.digits
_MIXED = string.ascii_letters + string.digits


class Ids:
    """Draws identifiers; no two are alike, for all that matters."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._random = Random(seed)
        self.drawn = 0
        """How many there were: with a new one, something has changed."""
        self.restarts = 0

    def restart(self, restarts: int) -> None:
        """Draw others than before: those are in use."""
        self.restarts = restarts
        self._random = Random(f"{self._seed}/{restarts}")

    def upper(self, length: int) -> str:
        return self._draw(_UPPER, length)

    def lower(self, length: int) -> str:
        return self._draw(_LOWER, length)

    def mixed(self, length: int) -> str:
        return self._draw(_MIXED, length)

    def uuid(self) -> str:
        self.drawn += 1
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def etag(self) -> str:
        return "E" + self.upper(13)

    def _draw(self, alphabet: str, length: int) -> str:
        self.drawn += 1
        return "".join(self._random.choices(alphabet, k=length))
