"""How CustomResourceDefinitions are completed when written: defaults, and what only the server may set."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.schema import RuleCompiler
from kubesim.plane.crd.define import storage_version
from kubesim.plane.crd.rules import definition_errors
from kubesim.plane.resource import Strategy

RuleSource: TypeAlias = Callable[[], RuleCompiler | None]
"""Gives the engine with which rules in definitions are checked at this time, if any."""


def definition_strategy(rules: RuleSource = lambda: None) -> Strategy:
    return Strategy(
        default=_default,
        prepare_create=_prepare_create,
        prepare_update=_prepare_update,
        validate=lambda new, old: definition_errors(new, old, rules()),
    )


def _default(definition: JsonObject) -> None:
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    if isinstance(names, dict) and isinstance(names.get("kind"), str) and names["kind"]:
        if not names.get("singular"):
            names["singular"] = names["kind"].lower()
        if not names.get("listKind"):
            names["listKind"] = names["kind"] + "List"
    spec.setdefault("conversion", {"strategy": "None"})


def _prepare_create(definition: JsonObject) -> None:
    stored = storage_version(definition)
    definition["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": [stored] if stored else [],
    }


def _prepare_update(new: JsonObject, _old: JsonObject) -> None:
    stored = storage_version(new)
    versions = dig_list(new, "status", "storedVersions")
    if stored and stored not in versions and "status" in new:
        new["status"] = {**new["status"], "storedVersions": [*versions, stored]}
