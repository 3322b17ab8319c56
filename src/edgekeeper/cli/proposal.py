"""Compute the object that applying a manifest would result in: validated, with defaults, merged with the live object.

This is done locally, because `edgekeeper plan` sends no write to the API server, not even a dry run. Schema, defaults and
rules are those of the CustomResourceDefinition that edgekeeper ships. Admission webhooks are not called, and fields of
other field managers are overridden by the manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime
from functools import cache
from typing import Final

from edgekeeper.api.definition import CustomKind
from edgekeeper.core.clock import timestamp
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.lifecycle.module import KindModule, Path
from edgekeeper.schema import CompiledSchema, compile_schema
from edgekeeper.schema.expressions.engine import RuleEngine
from edgekeeper.schema.problem import NO_FIELD

INVALID: Final = "Invalid"
FUTURE_UID: Final = "known-after-apply"
"""Placeholder for the uid that the server will assign."""


def propose(module: KindModule, written: JsonObject, live: JsonObject | None, now: datetime) -> JsonObject:
    """The object after `written` was applied. Raise Stall if the server would refuse it.

    A kind that others define is not validated here, because its schema is not known. As on the server (validation ratcheting), invalid values that `live` already has and that do not change are tolerated.
    """
    proposed = deepcopy(written)
    proposed.pop("status", None)
    if module.definition is not None:
        _confirm_valid(module.definition, proposed, live)
    return applied(proposed, live, now, module.written_fields)


def _confirm_valid(definition: CustomKind, proposed: JsonObject, live: JsonObject | None) -> None:
    """Complete the object by defaults. Raise Stall if the server would refuse it."""
    schema = _schema(definition)
    unknown = schema.prune(proposed)
    schema.default(proposed)
    errors = [f"{path} is not a field" for path in unknown]
    problems = [error for error in schema.validate(proposed, live) if not error.tolerated]
    # An error without a field only says that rules were not evaluated because of the other errors.
    errors += map(str, [error for error in problems if error.field != NO_FIELD] or problems)
    if errors:
        raise Stall(INVALID, "; ".join(errors))


def applied(
    proposed: JsonObject,
    live: JsonObject | None,
    now: datetime,
    written_fields: Sequence[tuple[Path, Path]] = (),
) -> JsonObject:
    """The object after one that the server accepts was applied. Of `proposed` it takes labels, annotations and the spec."""
    if live is None:
        assigned = {"uid": FUTURE_UID, "generation": 1, "creationTimestamp": timestamp(now)}
        return {**proposed, "metadata": {**proposed["metadata"], **assigned}}
    metadata = {**live["metadata"]}
    for part in ("labels", "annotations"):
        metadata[part] = {**(metadata.get(part) or {}), **(proposed["metadata"].get(part) or {})}
    for field, status in written_fields:
        _keep_written(proposed, live, field, status)
    if proposed.get("spec") != live.get("spec"):
        metadata["generation"] = int(metadata.get("generation") or 0) + 1
    return {**live, "metadata": metadata, "spec": proposed.get("spec")}


def _keep_written(proposed: JsonObject, live: JsonObject, field: Path, status: Path) -> None:
    """Keep a value that edgekeeper wrote into the spec: a manifest without the field does not remove it."""
    written = dig(live, *field)
    is_ours = written is not None and written == dig(live, *status)
    if is_ours and dig(proposed, *field) is None:
        parent = proposed
        for name in field[:-1]:
            parent = parent.setdefault(name, {})
        parent[field[-1]] = written


@cache
def _schema(kind: CustomKind) -> CompiledSchema:
    version = kind.definition()["spec"]["versions"][0]
    return compile_schema(version["schema"]["openAPIV3Schema"], rules=RuleEngine())
