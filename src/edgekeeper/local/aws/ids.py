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
        self._random = Random(seed)

    def upper(self, length: int) -> str:
        return self._draw(_UPPER, length)

    def lower(self, length: int) -> str:
        return self._draw(_LOWER, length)

    def mixed(self, length: int) -> str:
        return self._draw(_MIXED, length)

    def uuid(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def etag(self) -> str:
        return "E" + self.upper(13)

    def _draw(self, alphabet: str, length: int) -> str:
        return "".join(self._random.choices(alphabet, k=length))
