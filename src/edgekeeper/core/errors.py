"""The four nouns that may leave a pass when it cannot finish. Nothing else crosses a controller's boundary.

    PassError
      ├ Retry       something failed that may work next time: exponential backoff, counted as an error
      ├ Wait        something takes its time, and we know roughly how long: look again after that
      ├ Stall       a person must act: a condition says what; looked at again slowly, and at once on a new generation
      └ Conflict    somebody else was quicker (resourceVersion, ETag): read again, without a word

Adapters map every error code they know to one of these. An exception of any other kind is a bug: it is logged with
its traceback, counted, and treated as `Retry`, so that one object's failure never stops another's.

An error may also say that it is no matter of the object at all, but of its cloud, which cannot be used at present
(`unavailable`): what that means for the object's conditions is decided in `core.outages`.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

E = TypeVar("E", bound="PassError")

STALL_INTERVAL = timedelta(minutes=5)
"""How often something that waits for a person is looked at again."""


class Cause(StrEnum):
    """Why a cloud cannot be used at present, whatever is asked of it."""

    UNREACHABLE = "unreachable"
    """No answer comes, or none that says anything; or so many were missing that nobody asks for a while."""
    THROTTLED = "throttled"
    """It takes no more calls of ours for now."""
    CREDENTIALS = "credentials"
    """Ours are missing, have expired or are not accepted."""
    UNLISTED = "unlisted"
    """It was not listed completely yet, so that nobody knows what is there."""


class PassError(Exception):
    """A pass ends without having reached its goal."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """A CamelCase fact, as conditions and events use it."""
        self.message = message
        self.error_type = ""
        """How metrics call it, where a provider's error is behind it."""
        self.unavailable: Cause | None = None
        """Why the cloud cannot be used at present, where that is what the error comes from."""


class Retry(PassError):  # noqa: N818 - the architecture's own noun
    """Try again with growing pauses."""

    def __init__(self, message: str, reason: str = "Error") -> None:
        super().__init__(reason, message)


class Wait(PassError):  # noqa: N818
    """Look again after a known time."""

    def __init__(self, after: timedelta, reason: str, message: str = "") -> None:
        super().__init__(reason, message)
        self.after = after


class Stall(PassError):  # noqa: N818
    """Nothing but a change by a person will help."""

    def __init__(self, reason: str, message: str, after: timedelta = STALL_INTERVAL) -> None:
        super().__init__(reason, message)
        self.after = after


class Conflict(PassError):  # noqa: N818
    """What we knew was out of date."""

    def __init__(self, message: str = "the object has changed since it was read") -> None:
        super().__init__("Conflict", message)


def fresh(error: E) -> E:
    """A copy of an error that says the same, to be kept or to be raised again.

    An error that was raised refers to its traceback, cause and context, and they to every frame on the way and all that
    is in it. Whoever keeps an error keeps a copy, which refers to none of them, and raises a copy of that each time.
    """
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    return copy
