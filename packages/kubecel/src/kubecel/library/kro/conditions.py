"""Conditions of an instance: `runtime.newCondition({type: 'X', status: 'True'})` and `runtime.condition(obj, 'X')`.

Authors write the keys of a new condition as bare names, which a macro turns into strings and checks. A condition is an
object with four strings. Looking one up that is not there gives an empty one, so that `.status == 'True'` is false.

Where expressions may use `runtime` is for their callers to check.
"""

from __future__ import annotations

import json
from typing import Any, Final

from kubecel.errors import invalid_argument
from kubecel.functions import Library
from kubecel.library.declaring import function, on_target
from kubecel.macros import Builder, Macro
from kubecel.syntax import Expr, Ident, MapLiteral
from kubecel.types import DYN, STRING, Kind, ObjectType, Type, map_of, opaque

RUNTIME: Final = "runtime"
STATUSES: Final = ("True", "False", "Unknown")
KEYS: Final = ("type", "status", "reason", "message")

CONDITION_TYPE: Final = ObjectType("kro.run.Condition", dict.fromkeys(KEYS, STRING))
_RUNTIME_TYPE: Final = opaque("kro.run.Runtime")
_ALLOWED: Final = ", ".join(KEYS)


class Runtime:
    """The class of the value that `runtime` is; it only carries functions."""

    __slots__ = ()
    cel_type: Final = _RUNTIME_TYPE

    def __repr__(self) -> str:
        return RUNTIME


def is_condition(kind: Type) -> bool:
    """Whether values of a type are conditions, as far as is known."""
    return kind is CONDITION_TYPE or kind.kind is Kind.DYN


def _expand_new_condition(builder: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if not isinstance(target, Ident) or target.name != RUNTIME:
        return None
    (argument,) = args
    if not isinstance(argument, MapLiteral):
        raise builder.error(argument, "runtime.newCondition: argument must be a map literal")
    entries = []
    seen: set[str] = set()
    for entry in argument.entries:
        name = _key_of(builder, entry.key, seen)
        seen.add(name)
        entries.append(builder.entry(builder.literal(name), entry.value))
    for name in ("type", "status"):
        if name not in seen:
            raise builder.error(argument, f"runtime.newCondition: '{name}' is required")
    return builder.member(target, "newCondition", builder.map(*entries))


def _key_of(builder: Builder, key: Expr, seen: set[str]) -> str:
    if not isinstance(key, Ident):
        complaint = f"keys must be bare identifiers ({_ALLOWED}); quoted or computed keys are not allowed"
        raise builder.error(key, f"runtime.newCondition: {complaint}")
    if key.name not in KEYS:
        complaint = f"unknown key {json.dumps(key.name)} (allowed: {_ALLOWED})"
        raise builder.error(key, f"runtime.newCondition: {complaint}")
    if key.name in seen:
        raise builder.error(key, f"runtime.newCondition: duplicate key {json.dumps(key.name)}")
    return key.name


def _new_condition(_: Runtime, written: dict[Any, Any]) -> dict[str, str]:
    for name, value in written.items():
        if not isinstance(value, str):
            raise invalid_argument(f"runtime.newCondition: {name} must be a string")
    if not written.get("type"):
        raise invalid_argument("runtime.newCondition: type must not be empty")
    if (status := written.get("status")) not in STATUSES:
        found = json.dumps(status)
        raise invalid_argument(
            f"runtime.newCondition: status must be one of {', '.join(STATUSES)} (got {found})"
        )
    return {name: written.get(name, "") for name in KEYS}


def _condition(_: Runtime, subject: Any, wanted: str) -> dict[str, str]:
    if not isinstance(subject, dict):
        raise invalid_argument("runtime.condition: obj must be an object")
    status = subject.get("status")
    if status is not None and not isinstance(status, dict):
        raise invalid_argument("runtime.condition: obj.status must be an object")
    conditions = (status or {}).get("conditions")
    if conditions is not None and not isinstance(conditions, list):
        raise invalid_argument("runtime.condition: obj.status.conditions must be a list")
    found = next((one for one in conditions or () if isinstance(one, dict) and one.get("type") == wanted), {})
    return {name: _text(found.get(name)) for name in KEYS}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


CONDITIONS: Final = Library(
    "kro.runtime",
    (
        function(
            "newCondition",
            on_target(
                "runtime_newCondition_map",
                (_RUNTIME_TYPE, map_of(STRING, STRING)),
                CONDITION_TYPE,
                _new_condition,
            ),
        ),
        function(
            "condition",
            on_target(
                "runtime_condition_dyn_string", (_RUNTIME_TYPE, DYN, STRING), CONDITION_TYPE, _condition
            ),
        ),
    ),
    macros=(Macro("newCondition", 1, _expand_new_condition),),
    constants={RUNTIME: (_RUNTIME_TYPE, Runtime())},
)
