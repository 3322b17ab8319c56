"""A manifest as the object that it would become: checked, completed, and put over what the cluster has.

This happens here and not in the API server, because `edgekeeper plan` sends no write, not even one that is only tried.
Schema, defaults and rules are those of the definition that we ship. Admission webhooks are not asked, and of two who
apply the same object the manifest's word counts.
"""

from __future__ import annotations

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
"""Stands where the server will put one."""


def propose(module: KindModule, written: JsonObject, live: JsonObject | None, now: datetime) -> JsonObject:
    """The object of a kind after `written` was applied. Raise Stall where the server would refuse it.

    As on the server, what `live` has already is no reason to refuse an update that leaves it so.
    """
    proposed = deepcopy(written)
    proposed.pop("status", None)
    schema = _schema(module.definition)
    unknown = schema.prune(proposed)
    schema.default(proposed)
    errors = [f"{path} is not a field" for path in unknown]
    found = [error for error in schema.validate(proposed, live) if not error.tolerated]
    # What belongs to no field only tells that rules were not tried, because of the others.
    errors += map(str, [error for error in found if error.field != NO_FIELD] or found)
    if errors:
        raise Stall(INVALID, "; ".join(errors))
    return _created(proposed, now) if live is None else _applied(module, proposed, live)


def _created(proposed: JsonObject, now: datetime) -> JsonObject:
    made_up = {"uid": FUTURE_UID, "generation": 1, "creationTimestamp": timestamp(now)}
    return {**proposed, "metadata": {**proposed["metadata"], **made_up}}


def _applied(module: KindModule, proposed: JsonObject, live: JsonObject) -> JsonObject:
    metadata = {**live["metadata"]}
    for part in ("labels", "annotations"):
        metadata[part] = {**(metadata.get(part) or {}), **(proposed["metadata"].get(part) or {})}
    for field, status in module.written_fields:
        _keep_written(proposed, live, field, status)
    if proposed["spec"] != live["spec"]:
        metadata["generation"] = int(metadata.get("generation") or 0) + 1
    return {**live, "metadata": metadata, "spec": proposed["spec"]}


def _keep_written(proposed: JsonObject, live: JsonObject, field: Path, status: Path) -> None:
    """What edgekeeper has put into the spec is its own: applying a manifest without it takes nothing."""
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
