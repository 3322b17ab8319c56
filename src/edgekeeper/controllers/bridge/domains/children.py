"""The objects of ACK that stand for what an APIGatewayDomain needs, in `ack` mode: their names, contents, and what they wait for.

They carry ACK's deletion policy `delete`, or `retain` if the spec says Retain or the thing was there before the object:
ACK's own `retain`, which the ack-bridge used for everything, leaves domain names behind that nobody deletes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from edgekeeper.cloud.aws.error_table import NAME_CONFLICT
from edgekeeper.controllers.bridge import ack
from edgekeeper.controllers.bridge.domains import steps as do
from edgekeeper.controllers.bridge.domains.snapshot import CERTIFICATE, DOMAIN, MAPPING, Child, Snapshot
from edgekeeper.controllers.bridge.failures import WAITING_FOR_ACK
from edgekeeper.core.errors import Stall, Wait
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.names import fingerprint
from edgekeeper.core.steps import Step
from edgekeeper.kube.kinds import Kind

KINDS: Final[Mapping[str, Kind]] = {
    DOMAIN: ack.DOMAIN_NAME,
    MAPPING: ack.API_MAPPING,
    CERTIFICATE: ack.CERTIFICATE,
}
ACK_TERMINAL: Final = "ACKTerminal"
CREATED_BY: Final = {"app.kubernetes.io/created-by": "ack-bridge"}
_LONGEST: Final = 63


def sanitised(domain: str) -> str:
    """A domain name as part of an object's name: `api.example.com` → `api-example-com`, `*.…` → `wildcard-…`."""
    text = domain.lower().replace("*", "wildcard").replace(".", "-")
    return re.sub("[^a-z0-9-]", "", text).strip("-")


def child_name(domain: str) -> str:
    """The name of the children for a domain name. Different domain names have different ones."""
    name = sanitised(domain)
    is_plain = re.fullmatch(r"(?:\*\.)?[a-z0-9.]+", domain) and not domain.startswith("wildcard.")
    if is_plain and len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 13].strip('-')}-{fingerprint(domain)}"


def wanted_spec(snapshot: Snapshot, kind: str) -> JsonObject:
    """The spec of a child, as far as it is ours."""
    tags = snapshot.owner.tags()
    if kind == CERTIFICATE:
        listed = [{"key": key, "value": value} for key, value in sorted(tags.items())]
        return {"domainName": snapshot.name, "tags": listed}
    if kind == DOMAIN:
        settings = snapshot.settings
        if settings is None:
            raise ValueError("a domain name needs a certificate")
        configuration = {
            "certificateARN": settings.certificate_arn,
            "endpointType": settings.endpoint_type,
            "securityPolicy": settings.security_policy,
        }
        return {"domainName": snapshot.name, "domainNameConfigurations": [configuration], "tags": tags}
    wanted = snapshot.wanted_mapping
    if wanted is None:
        raise ValueError("a mapping needs an API")
    spec = {"apiID": wanted.api_id, "domainName": snapshot.name, "stage": wanted.stage}
    return {**spec, "apiMappingKey": wanted.key} if wanted.key else spec


def child_of(obj: JsonObject | None, owner_uid: str) -> Child | None:
    """A child as the cluster has it."""
    if obj is None:
        return None
    owners = dig_list(obj, "metadata", "ownerReferences")
    is_ours = any(dig(one, "uid") == owner_uid and dig(one, "controller") for one in owners)
    return Child(obj, is_ours)


def is_requested(snapshot: Snapshot, kind: str) -> bool:
    """Does a child ask ACK for what the spec says? Never in `direct` mode. Raise Stall for an object of somebody else."""
    child = snapshot.child(kind)
    if child is None:
        return False
    _refuse_foreign(child, kind)
    wanted = wanted_spec(snapshot, kind)
    is_same = all(child.spec.get(name) == value for name, value in wanted.items())
    return is_same and (child.spec.get("apiMappingKey") or "") == wanted.get("apiMappingKey", "")


def lagging(snapshot: Snapshot, kind: str, what: str) -> Iterator[Step]:
    """Wait for ACK. Raise the error that a child reports.

    A conflict that ACK reports counts as solved only by what AWS has, which was read in this pass.
    """
    child = snapshot.child(kind)
    if child is not None and child.trouble:
        name = dig(child.tree, "metadata", "name")
        message = f"{kind} {name}: {child.trouble}"
        if child.is_terminal:
            raise Stall(ACK_TERMINAL, message)
        raise Wait(do.CREATING, WAITING_FOR_ACK, message)
    yield do.AwaitDomain(what, reason="its object of ACK is not synced yet")


def lagging_removal(snapshot: Snapshot, kind: str, reason: str) -> Iterator[Step]:
    """Delete a child, or wait until ACK has let go of it. Raise Wait, so that this cannot take for ever."""
    child = snapshot.child(kind)
    if child is None or not child.is_ours:
        return
    if not child.is_going:
        yield do.DropChild(kind, reason=reason)
        return
    name = dig(child.tree, "metadata", "name")
    why = f": {child.trouble}" if child.trouble else ""
    raise Wait(do.CREATING, WAITING_FOR_ACK, f"waiting for ACK to delete {kind} {name}{why}")


def _refuse_foreign(child: Child, kind: str) -> None:
    if not child.is_ours:
        name = dig(child.tree, "metadata", "name")
        raise Stall(
            NAME_CONFLICT, f"{kind} {name} exists and was not created by this object: delete or rename it"
        )
