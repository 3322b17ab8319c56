"""A manifest as the object that it would become: checked, completed, and put over what the cluster has.

This happens here and not in the API server, because `edgekeeper plan` sends no write, not even one that is only tried.
Schema, defaults and rules are those of the definition that we ship. Admission webhooks are not asked, and of two who
apply the same object the manifest's word counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime
from functools import cache
from typing import Final

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.core.clock import timestamp
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.schema import CompiledSchema, compile_schema
from edgekeeper.schema.expressions.engine import RuleEngine
from edgekeeper.schema.problem import NO_FIELD

INVALID: Final = "Invalid"
FUTURE_UID: Final = "known-after-apply"
"""Stands where the server will put one."""
_CERTIFICATE: Final = ("spec", "customizations", "certificate", "arn")


def propose(written: JsonObject, live: JsonObject | None, now: datetime) -> JsonObject:
    """The object after `written` was applied. Raise Stall where the server would refuse it.

    As on the server, what `live` has already is no reason to refuse an update that leaves it so.
    """
    proposed = deepcopy(written)
    proposed.pop("status", None)
    unknown = _schema().prune(proposed)
    _schema().default(proposed)
    errors = [f"{path} is not a field" for path in unknown]
    found = [error for error in _schema().validate(proposed, live) if not error.tolerated]
    # What belongs to no field only tells that rules were not tried, because of the others.
    errors += map(str, [error for error in found if error.field != NO_FIELD] or found)
    if errors:
        raise Stall(INVALID, "; ".join(errors))
    return _created(proposed, now) if live is None else _applied(proposed, live)


def _created(proposed: JsonObject, now: datetime) -> JsonObject:
    made_up = {"uid": FUTURE_UID, "generation": 1, "creationTimestamp": timestamp(now)}
    return {**proposed, "metadata": {**proposed["metadata"], **made_up}}


def _applied(proposed: JsonObject, live: JsonObject) -> JsonObject:
    metadata = {**live["metadata"]}
    for part in ("labels", "annotations"):
        metadata[part] = {**(metadata.get(part) or {}), **(proposed["metadata"].get(part) or {})}
    _keep_attached(proposed, live)
    if proposed["spec"] != live["spec"]:
        metadata["generation"] = int(metadata.get("generation") or 0) + 1
    return {**live, "metadata": metadata, "spec": proposed["spec"]}


def _keep_attached(proposed: JsonObject, live: JsonObject) -> None:
    """A certificate that edgekeeper has put into the spec is its own: applying a manifest without it takes nothing."""
    attached = dig(live, *_CERTIFICATE)
    is_ours = attached is not None and attached == dig(live, "status", "certificateArn")
    if is_ours and dig(proposed, *_CERTIFICATE) is None:
        customizations = proposed["spec"].setdefault("customizations", {})
        customizations["certificate"] = {"arn": attached}


def names_of_kind() -> Iterator[str]:
    """What people may write for the kind, in lower case."""
    kind = DISTRIBUTION_TENANT
    yield from (kind.kind.lower(), kind.plural, kind.name, *kind.short_names)


@cache
def _schema() -> CompiledSchema:
    version = DISTRIBUTION_TENANT.definition()["spec"]["versions"][0]
    return compile_schema(version["schema"]["openAPIV3Schema"], rules=RuleEngine())
