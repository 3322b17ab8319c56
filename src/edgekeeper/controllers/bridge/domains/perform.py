"""Perform one step for an APIGatewayDomain: at most one change, in AWS (`direct`) or in the objects of ACK (`ack`).

If API Gateway refuses a creation because the thing exists, it is read again and judged by the next pass: it may be ours,
from a call whose response was lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from edgekeeper.cloud.aws.apigateway import ApiMapping
from edgekeeper.cloud.aws.error_table import NAME_CONFLICT
from edgekeeper.cloud.outbox import Owner as RecordOwner
from edgekeeper.controllers.bridge import ack
from edgekeeper.controllers.bridge.domains import steps as do
from edgekeeper.controllers.bridge.domains.children import (
    CREATED_BY,
    KINDS,
    child_name,
    child_of,
    wanted_spec,
)
from edgekeeper.controllers.bridge.domains.observe import KIND, Observer
from edgekeeper.controllers.bridge.domains.snapshot import CERTIFICATE, DOMAIN, MAPPING, Snapshot
from edgekeeper.core.errors import Conflict, Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.ownership import Ownership
from edgekeeper.core.steps import Step
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.kind import Wake

MANAGER: Final = "edgekeeper-bridge"
"""The field manager of the objects of ACK."""


@dataclass(frozen=True)
class Performer:
    """Performs steps."""

    observer: Observer
    client: KubeClient

    async def perform(self, step: Step, snapshot: Snapshot, wake: Wake) -> Snapshot:
        match step:
            case do.DropChild():
                return await self._drop(step.kind, snapshot)
            case do.RequestCertificate() if snapshot.children is not None:
                return await self._apply(CERTIFICATE, snapshot)
            case do.CreateDomain() | do.TagDomain() | do.UpdateDomain() if snapshot.children is not None:
                return await self._apply(DOMAIN, snapshot)
            case do.WriteMapping() if snapshot.children is not None:
                return await self._apply(MAPPING, snapshot)
            case do.RequestCertificate() | do.TagCertificate() | do.DeleteCertificate():
                return await self._certificate(step, snapshot)
            case do.WriteMapping() | do.DeleteMapping():
                return await self._mapping(step, snapshot)
            case (
                do.CreateDomain() | do.TagDomain() | do.UpdateDomain() | do.UntagDomain() | do.DeleteDomain()
            ):
                return await self._domain(step, snapshot)
        account = self.observer.account
        owner = RecordOwner(snapshot.owner.uid, snapshot.generation)
        served = {snapshot.name} if snapshot.is_managed else set[str]()
        records = account.dns.perform(step, snapshot.records, owner, served, wake)
        return replace(snapshot, records=records)

    async def release(self, snapshot: Snapshot) -> None:
        """Remove the ownership tags from the domain name, and let ACK keep what its objects stand for."""
        for kind in KINDS if snapshot.children is not None else ():
            child = snapshot.child(kind)
            if child is not None and child.is_ours:
                await self._drop(kind, snapshot, retain=True)
        if snapshot.domain is not None and snapshot.is_managed:
            await self.observer.gateway(snapshot.region).untag(snapshot.domain.arn, snapshot.owner.tags())

    # Directly

    async def _certificate(self, step: Step, snapshot: Snapshot) -> Snapshot:
        certificates, region = self.observer.account.certificates, snapshot.region
        if isinstance(step, do.DeleteCertificate):
            await certificates.delete(region, step.arn)
            return replace(snapshot, requested=None)
        if isinstance(step, do.TagCertificate):
            await certificates.tag(region, step.arn, step.tags)
            return replace(snapshot, inherits_certificate=False)
        owner = snapshot.owner
        arn = await certificates.request(region, snapshot.name, owner, owner.tags())
        return replace(snapshot, requested=await certificates.find(region, arn))

    async def _domain(self, step: Step, snapshot: Snapshot) -> Snapshot:
        gateway, name = self.observer.gateway(snapshot.region), snapshot.name
        match step:
            case do.CreateDomain():
                try:
                    created = await gateway.create_domain(name, step.settings, tags=step.tags)
                except Stall as refusal:
                    raise _looked_up(refusal) from refusal
                return replace(snapshot, domain=created)
            case do.UpdateDomain():
                return replace(snapshot, domain=await gateway.update_domain(name, step.settings))
            case do.DeleteDomain():
                await gateway.delete_domain(name)
                return replace(snapshot, domain=None, mappings=())
        domain = snapshot.domain
        if domain is None:
            raise ValueError("a domain name must be there to be tagged")
        mark = snapshot.owner.tags()
        if isinstance(step, do.TagDomain):
            await gateway.tag(domain.arn, step.tags)
            return replace(snapshot, domain=replace(domain, tags={**domain.tags, **step.tags}))
        await gateway.untag(domain.arn, mark)
        kept = {key: value for key, value in domain.tags.items() if key not in mark}
        return replace(snapshot, domain=replace(domain, tags=kept))

    async def _mapping(self, step: do.WriteMapping | do.DeleteMapping, snapshot: Snapshot) -> Snapshot:
        gateway, name, mapping = self.observer.gateway(snapshot.region), snapshot.name, step.mapping
        others = tuple(one for one in snapshot.mappings if one.id != mapping.id)
        if isinstance(step, do.DeleteMapping):
            await gateway.delete_mapping(name, mapping.id)
            return replace(snapshot, mappings=others)
        written: ApiMapping
        if mapping.id:
            written = await gateway.update_mapping(name, mapping)
        else:
            try:
                written = await gateway.create_mapping(name, mapping.api_id, mapping.stage, mapping.key)
            except Stall as refusal:
                raise _looked_up(refusal) from refusal
        return replace(snapshot, mappings=(*others, written))

    # Through ACK

    async def _apply(self, kind: str, snapshot: Snapshot) -> Snapshot:
        """Write an object of ACK, by server-side apply."""
        metadata: JsonObject = {
            "labels": CREATED_BY,
            "annotations": _annotations(kind, snapshot),
            "ownerReferences": [
                {
                    "apiVersion": KIND.api_version,
                    "kind": KIND.kind,
                    "name": snapshot.owner.name,
                    "uid": snapshot.owner.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        }
        fields = {"metadata": metadata, "spec": wanted_spec(snapshot, kind)}
        obj = await self.client.apply(KINDS[kind], _key(snapshot), fields, manager=MANAGER)
        return _with_child(snapshot, kind, obj)

    async def _drop(self, kind: str, snapshot: Snapshot, *, retain: bool = False) -> Snapshot:
        """Delete an object of ACK. If it has to let its thing in AWS stay, it is told so first."""
        child, key = snapshot.child(kind), _key(snapshot)
        try:
            wanted = "retain" if retain else _deletion_policy(kind, snapshot)
            annotations = dig(child.tree, "metadata", "annotations") if child else None
            if dig(annotations, ack.DELETION_POLICY) != wanted:
                patch = {"metadata": {"annotations": {ack.DELETION_POLICY: wanted}}}
                await self.client.merge_patch(KINDS[kind], key, patch)
            uid = str(dig(child.tree, "metadata", "uid") or "") if child else ""
            await self.client.delete(KINDS[kind], key, uid=uid)
        except NotFoundError:
            return _with_child(snapshot, kind, None)
        return snapshot


def _key(snapshot: Snapshot) -> Key:
    return Key(snapshot.owner.namespace, child_name(snapshot.name))


def _with_child(snapshot: Snapshot, kind: str, obj: JsonObject | None) -> Snapshot:
    children = {**(snapshot.children or {}), kind: child_of(obj, snapshot.owner.uid)}
    return replace(snapshot, children=children)


def _annotations(kind: str, snapshot: Snapshot) -> dict[str, str]:
    annotations = {ack.DELETION_POLICY: _deletion_policy(kind, snapshot)}
    if fields := _adopted(kind, snapshot):
        annotations[ack.ADOPTION_POLICY] = ack.ADOPT_OR_CREATE
        annotations[ack.ADOPTION_FIELDS] = msgspec.json.encode(fields).decode()
    return annotations


def _adopted(kind: str, snapshot: Snapshot) -> dict[str, str]:
    """The fields by which ACK finds what is there already; empty if there is nothing."""
    present = snapshot.mapping or snapshot.own_mapping
    if kind == MAPPING and present is not None:
        return {"apiMappingID": present.id, "domainName": snapshot.name}
    return {"domainName": snapshot.name} if kind == DOMAIN and snapshot.domain is not None else {}


def _deletion_policy(kind: str, snapshot: Snapshot) -> str:
    """`retain` for what stays when the object is deleted: everything if the spec says so, and what was there before."""
    if snapshot.spec.deletion_policy == "Retain":
        return "retain"
    is_foreign = (
        snapshot.domain is not None and snapshot.whose is not Ownership.MINE and not snapshot.may_take
    )
    return "retain" if kind == DOMAIN and is_foreign else "delete"


def _looked_up(refusal: Stall) -> Stall | Conflict:
    """What exists already is looked at by the next pass."""
    return Conflict(refusal.message) if refusal.reason == NAME_CONFLICT else refusal
