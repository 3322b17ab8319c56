"""The four errors that a pass may raise when it cannot complete.

    PassError
      ├ Retry       a failure that may be transient: requeue with exponential backoff, counted as an error
      ├ Wait        something takes a roughly known time: requeue after that
      ├ Stall       the user must act, as a condition explains: requeue slowly, and at once on a new generation
      └ Conflict    the object was changed meanwhile (resourceVersion, ETag): read again, without an event

Adapters map every known error code to one of these. Any other exception is a bug: it is logged with its traceback,
counted, and treated as `Retry`, so that one object's failure never stops another's.

An error may also be caused not by the object but by its cloud, which cannot be used at present (`unavailable`):
`core.outages` decides what that means for the object's conditions.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

E = TypeVar("E", bound="PassError")

STALL_INTERVAL = timedelta(minutes=5)
"""The requeue time of an object that waits for its user."""


class Cause(StrEnum):
    """Why a cloud cannot be used at present, for any call."""

    UNREACHABLE = "unreachable"
    """There is no usable response, or calls are suspended because too many had none."""
    THROTTLED = "throttled"
    """The cloud refuses further calls for now."""
    CREDENTIALS = "credentials"
    """The credentials are missing, have expired or are not accepted."""
    UNLISTED = "unlisted"
    """The first listing is not complete, so it is unknown what exists."""
    OBJECTS_UNLISTED = "objects_unlisted"
    """Not all objects of the cluster are listed, so it is unknown who else wants the same. No cloud is the cause."""


class PassError(Exception):
    """A pass could not complete."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """The CamelCase reason for conditions and events."""
        self.message = message
        self.error_type = ""
        """The label in metrics, if the error comes from a cloud provider."""
        self.unavailable: Cause | None = None
        """Why the cloud cannot be used at present, if that is the cause of the error."""


class Retry(PassError):  # noqa: N818 - named for what the runtime does
    """Requeue with exponential backoff."""

    def __init__(self, message: str, reason: str = "Error") -> None:
        super().__init__(reason, message)


class Wait(PassError):  # noqa: N818
    """Requeue after a known time."""

    def __init__(self, after: timedelta, reason: str, message: str = "") -> None:
        super().__init__(reason, message)
        self.after = after


class Stall(PassError):  # noqa: N818
    """The user has to act before the object can be reconciled."""

    def __init__(self, reason: str, message: str, after: timedelta = STALL_INTERVAL) -> None:
        super().__init__(reason, message)
        self.after = after


class Conflict(PassError):  # noqa: N818
    """The pass worked on an outdated version of an object."""

    def __init__(self, message: str = "the object has changed since it was read") -> None:
        super().__init__("Conflict", message)


def fresh(error: E) -> E:
    """A copy of an error without traceback, cause and context, to be stored or raised again.

    A raised error refers to its traceback, and so to all frames and their variables, which would stay in memory as long
    as the error. So code that stores an error stores a copy, and raises a copy of that each time.
    """
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    return copy


def reworded(refusal: Stall, message: str) -> Stall:
    """The same refusal with another message."""
    stall = Stall(refusal.reason, message, refusal.after)
    stall.error_type = refusal.error_type
    return stall
