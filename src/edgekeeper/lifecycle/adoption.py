"""Why an external object that exists cannot be used by an object that wants it, and what its user can do."""

from __future__ import annotations

from typing import Final

from edgekeeper.core.ownership import Ownership

_ADOPT: Final = 'annotate this object with edgekeeper.io/adopt: "true"'


def holder_message(whose: Ownership, mark: str = "tags") -> str:
    """Who has an existing external object that is not ours, and the remedy. `mark` is what says so."""
    match whose:
        case Ownership.OTHERS:
            return (
                f"its {mark} name another object as owner; remove its edgekeeper.io {mark} if that object is gone, "
                "or choose another name"
            )
        case Ownership.FORMER:
            return f"its {mark} name an earlier object of this name as owner; to adopt it, {_ADOPT}"
        case Ownership.UNMARKED:
            return f"was not created by this object; to adopt it, if nobody else manages it, {_ADOPT}"
        case Ownership.MINE:
            raise ValueError("this object owns it")
