"""What a kind says about its conditions, once: which there are, and what they mean for Ready."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

READY = "Ready"
PENDING = "Pending"
"""The reason of what has not been found out yet."""
LONGEST_MESSAGE = 32_768
"""As Kubernetes declares it for conditions; the reason's bound too."""
LONGEST_REASON = 1_024

Status: TypeAlias = Literal["True", "False", "Unknown"]

_CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")
_TYPE = re.compile(r"(?:[a-z0-9.-]+/)?[A-Za-z][A-Za-z0-9_.-]*")


def is_reason(text: str) -> bool:
    """Is this a CamelCase word that fits into a reason?"""
    return len(text) <= LONGEST_REASON and _CAMEL_CASE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Declaration:
    """The conditions of a kind."""

    required: tuple[str, ...]
    """True when all is well; Ready needs all of them. The order is the order of cause and effect."""
    negative: tuple[str, ...] = ()
    """True when something is wrong (Degraded, Stalled); Ready needs that none of them is."""
    informative: tuple[str, ...] = ()
    """Worth knowing, but without bearing on Ready."""
    unpublished: tuple[str, ...] = ()
    """Those of the required ones that only give Ready its reason, and do not appear in status themselves."""
    ready_reason: str = READY
    ready_message: str = ""

    def __post_init__(self) -> None:
        types = self.types
        if not self.required:
            raise ValueError("Ready cannot be concluded from nothing: declare a required condition")
        if len(set(types)) < len(types) or READY in types:
            raise ValueError("a condition is declared once, and Ready never")
        if not set(self.unpublished) <= set(self.required):
            raise ValueError("only required conditions can be left unpublished")
        if malformed := [one for one in types if not _TYPE.fullmatch(one)]:
            raise ValueError(f"not a condition type: {malformed[0]!r}")
        if not is_reason(self.ready_reason):
            raise ValueError(f"not a CamelCase reason: {self.ready_reason!r}")

    @property
    def types(self) -> tuple[str, ...]:
        """All declared types, without Ready."""
        return (*self.required, *self.negative, *self.informative)

    @property
    def published(self) -> tuple[str, ...]:
        """The declared types that appear in status, without Ready."""
        return tuple(one for one in self.types if one not in self.unpublished)
