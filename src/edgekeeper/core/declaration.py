"""The declaration of a kind's conditions: which there are, and what they mean for Ready."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

READY = "Ready"
PENDING = "Pending"
"""The reason of a condition that is not known yet."""
LONGEST_MESSAGE = 32_768
"""The limit of Kubernetes for messages of conditions; the next is that for reasons."""
LONGEST_REASON = 1_024

Status: TypeAlias = Literal["True", "False", "Unknown"]

_CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")
_TYPE = re.compile(r"(?:[a-z0-9.-]+/)?[A-Za-z][A-Za-z0-9_.-]*")


def is_reason(text: str) -> bool:
    """Whether a text is a valid reason: CamelCase, and not too long."""
    return len(text) <= LONGEST_REASON and _CAMEL_CASE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Declaration:
    """The conditions of a kind."""

    required: tuple[str, ...]
    """Conditions that must all be True for Ready. Causes come before effects: the first that fails explains Ready."""
    negative: tuple[str, ...] = ()
    """Conditions that are True when something is wrong (Degraded, Stalled); none may be True for Ready."""
    informative: tuple[str, ...] = ()
    """Conditions that do not affect Ready."""
    unpublished: tuple[str, ...] = ()
    """Required conditions that only explain Ready, and do not appear in status themselves."""
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
        if malformed := [type_ for type_ in types if not _TYPE.fullmatch(type_)]:
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
        return tuple(type_ for type_ in self.types if type_ not in self.unpublished)
