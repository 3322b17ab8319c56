"""IAM policies: whether a document allows an action on a resource.

Statements are read as IAM reads them: an explicit deny wins, then an allow, and what nobody mentions is denied. What
this module does not know it refuses to guess about: an unknown condition operator is an error in the scenario.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kubesim.aws.identity import Policy

Context = Mapping[str, str | Sequence[str]]


class UnsupportedPolicyError(ValueError):
    """A policy uses something that is not simulated."""


@dataclass(frozen=True)
class Wish:
    """What a call needs to be allowed."""

    action: str
    resource: str = "*"
    context: Context = field(default_factory=dict)


def complaint(policies: Sequence[Policy], wish: Wish) -> str | None:
    """Why something is not allowed, in IAM's words, or nothing."""
    effects = [effect for policy in policies for effect in _effects(policy, wish)]
    if "Deny" in effects:
        return "with an explicit deny in an identity-based policy"
    if "Allow" in effects:
        return None
    return f"because no identity-based policy allows the {wish.action} action"


def _effects(policy: Policy, wish: Wish) -> list[str]:
    statements = policy["Statement"]
    listed = [statements] if isinstance(statements, Mapping) else statements
    return [statement["Effect"] for statement in listed if _applies(statement, wish)]


def _applies(statement: Mapping[str, Any], wish: Wish) -> bool:
    return (
        _names(statement, "Action", wish.action.lower(), str.lower)
        and _names(statement, "Resource", wish.resource, str)
        and _conditions_met(statement.get("Condition") or {}, wish.context)
    )


def _names(statement: Mapping[str, Any], key: str, value: str, spelled: Callable[[str], str]) -> bool:
    if f"Not{key}" in statement:
        return not any(like(spelled(pattern), value) for pattern in _listed(statement[f"Not{key}"]))
    # A call that is about nothing in particular has the resource *, which only the pattern * matches.
    return any(like(spelled(pattern), value) for pattern in _listed(statement.get(key, ())))


def _conditions_met(conditions: Mapping[str, Mapping[str, Any]], context: Context) -> bool:
    return all(
        _condition_met(operator, key, _listed(wanted), context)
        for operator, keys in conditions.items()
        for key, wanted in keys.items()
    )


def _condition_met(operator: str, key: str, wanted: Sequence[str], context: Context) -> bool:
    quantifier, _, plain = operator.rpartition(":")
    optional = plain.endswith("IfExists")
    plain = plain.removesuffix("IfExists")
    present = {name.lower(): value for name, value in context.items()}.get(key.lower())
    if plain == "Null":
        return (present is None) == (wanted[0] == "true")
    if plain not in _OPERATORS:
        raise UnsupportedPolicyError(f"the condition operator {operator} is not simulated")
    test, negated = _OPERATORS[plain]
    if present is None:
        return optional or negated or quantifier == "ForAllValues"
    hits = [any(test(pattern, value) for pattern in wanted) != negated for value in _listed(present)]
    return any(hits) if quantifier == "ForAnyValue" else all(hits)


def like(pattern: str, value: str) -> bool:
    """Whether a value fits a pattern in which * is anything and ? is one character."""
    return _glob(pattern).fullmatch(value) is not None


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def _equal(pattern: str, value: str) -> bool:
    return pattern == value


def _equal_ignoring_case(pattern: str, value: str) -> bool:
    return pattern.lower() == value.lower()


_OPERATORS: Mapping[str, tuple[Callable[[str, str], bool], bool]] = {
    "StringEquals": (_equal, False),
    "StringNotEquals": (_equal, True),
    "StringEqualsIgnoreCase": (_equal_ignoring_case, False),
    "StringLike": (like, False),
    "StringNotLike": (like, True),
    "ArnEquals": (like, False),
    "ArnLike": (like, False),
    "Bool": (_equal_ignoring_case, False),
}


def _listed(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
