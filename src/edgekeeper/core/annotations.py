"""The annotations by which users control how an object of any kind is reconciled.

    edgekeeper.io/paused            true | false                    leave the object alone
    edgekeeper.io/deletion-policy   Delete | Orphan                 what happens to external resources on deletion
    edgekeeper.io/drift-policy      enforce | report | suspend      what is done about drift
    edgekeeper.io/adopt             true | false                    take over an external resource that exists

Values are matched without regard to case. An unknown value, or a key that looks like a misspelling of one of these, is a
problem: the object stalls with `InvalidAnnotation`, and nothing is created, changed or deleted for it until the annotation
is corrected. A misspelt annotation is never treated as missing. Other keys under the prefix are ignored.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig_object

PREFIX: Final = "edgekeeper.io/"
PAUSED: Final = f"{PREFIX}paused"
DELETION_POLICY: Final = f"{PREFIX}deletion-policy"
DRIFT_POLICY: Final = f"{PREFIX}drift-policy"
ADOPT: Final = f"{PREFIX}adopt"
INVALID_ANNOTATION: Final = "InvalidAnnotation"


class DeletionPolicy(StrEnum):
    """What happens to external resources when their object is deleted."""

    DELETE = "Delete"
    ORPHAN = "Orphan"


class _Switch(StrEnum):
    ON = "true"
    OFF = "false"


_VALUES: Final[Mapping[str, type[StrEnum]]] = {
    PAUSED: _Switch,
    DELETION_POLICY: DeletionPolicy,
    DRIFT_POLICY: Policy,
    ADOPT: _Switch,
}
KEYS: Final = tuple(_VALUES)

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Wishes:
    """The parsed annotations of one object."""

    paused: bool = False
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE
    drift_policy: Policy | None = None
    """None for the operator's default."""
    adopt: bool = False
    problems: tuple[str, ...] = ()
    """What is wrong with the annotations, each with its remedy. If there is any, nothing may be done."""

    @classmethod
    def of(cls, obj: JsonObject) -> Wishes:
        """Parse the annotations of an object."""
        annotations = dig_object(obj, "metadata", "annotations")
        return cls(
            paused=_parse(annotations, PAUSED, _Switch) is _Switch.ON,
            deletion_policy=_parse(annotations, DELETION_POLICY, DeletionPolicy) or DeletionPolicy.DELETE,
            drift_policy=_parse(annotations, DRIFT_POLICY, Policy),
            adopt=_parse(annotations, ADOPT, _Switch) is _Switch.ON,
            problems=tuple(_problems(annotations)),
        )

    def confirm(self) -> None:
        """Raise Stall if an annotation is invalid."""
        if self.problems:
            raise Stall(INVALID_ANNOTATION, "; ".join(self.problems))


def allowed_values() -> dict[str, tuple[str, ...]]:
    """By annotation, the values that it may have, in any case."""
    return {key: tuple(map(str, values)) for key, values in _VALUES.items()}


def _parse(annotations: Mapping[str, Any], key: str, values: type[E]) -> E | None:
    text = str(annotations.get(key, "")).casefold()
    return next((value for value in values if value.casefold() == text), None)


def _problems(annotations: Mapping[str, Any]) -> Iterable[str]:
    for key, text in sorted(annotations.items()):
        values = _VALUES.get(key)
        if values is None:
            if near := _misspelt(key):
                yield f"unknown annotation {key}: did you mean {near}?"
        elif _parse(annotations, key, values) is None:
            allowed = ", ".join(values)
            yield f"annotation {key}: {text!r} is not one of {allowed}: correct the value or remove the annotation"


def _misspelt(key: str) -> str:
    """The supported key that this one is most likely a misspelling of; empty if there is none."""
    prefix, _, name = key.rpartition("/")
    if f"{prefix}/" != PREFIX:
        return ""
    names = [supported.removeprefix(PREFIX) for supported in KEYS]
    near = difflib.get_close_matches(name.casefold().replace("_", "-"), names, n=1, cutoff=0.8)
    return f"{PREFIX}{near[0]}" if near else ""
