"""Perform one step: at most one change at Cloudflare, and what belongs to it in the cluster.

Applications, policies and service tokens are changed only after they were read live in the same pass. Tunnel rules and
records are handed in to their writers, which read before they write; the next passes find the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.errors import INVALID_SPEC
from edgekeeper.cloud.cloudflare.models import Application, IssuedToken
from edgekeeper.cloud.cloudflare.record_plan import RecordChange
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.cloud.outbox import News, Outbox, Owner
from edgekeeper.controllers.zerotrust import steps as do
from edgekeeper.controllers.zerotrust.doubts import Doubts
from edgekeeper.controllers.zerotrust.inventory import announced, merged, without
from edgekeeper.controllers.zerotrust.owner import cluster_tag
from edgekeeper.controllers.zerotrust.snapshot import Place, Snapshot
from edgekeeper.controllers.zerotrust.token_secrets import TokenSecrets, secret_name
from edgekeeper.controllers.zerotrust.wanted_records import mark_of
from edgekeeper.core.errors import Conflict, Retry, Stall
from edgekeeper.core.steps import Step
from edgekeeper.kube.kinds import Key

Submitted = Outbox[Place, HostnameChange | RecordChange, Any]
"""What writers answer is not needed: their mirrors show it."""


@dataclass(frozen=True)
class Performer:
    """Performs steps against Cloudflare."""

    secrets: TokenSecrets
    outbox: Submitted
    doubts: Doubts
    unstored: dict[str, IssuedToken] = field(default_factory=dict, repr=False)
    """Credentials that could not be stored yet, by token id. Memory only: after a restart the token is rotated."""

    async def perform(self, step: Step, snapshot: Snapshot, wake: Callable[[], None]) -> Snapshot:
        """Perform the step, and return the snapshot with its effect."""
        match step:
            case do.AwaitWrites():
                return snapshot
            case do.Claim():
                return _with_items(snapshot, *announced(snapshot))
            case do.AnnounceToken():
                secret = InventoryItem("Secret", "", secret_name(snapshot.subject))
                return _with_items(snapshot, InventoryItem("ServiceToken", "", step.name), secret)
            case do.RecordHostnames():
                items = (InventoryItem("TunnelHostname", "", name, step.tunnel) for name in step.hostnames)
                return _with_items(snapshot, *items)
            case do.Forget():
                return replace(snapshot, inventory=without(snapshot.inventory, *step.items))
            case do.WriteRules() | do.WriteRecords():
                return self._submit(step, snapshot, wake)
            case (
                do.CreateToken() | do.RotateToken() | do.UpdateToken() | do.RefreshToken() | do.DeleteToken()
            ):
                return await self._token(step, snapshot)
            case do.MarkSecret() | do.DeleteSecret():
                return await self._secret(step, snapshot)
            case _:
                return await self._access(step, snapshot)

    # Tunnels and zones

    def _submit(
        self, step: do.WriteRules | do.WriteRecords, snapshot: Snapshot, wake: Callable[[], None]
    ) -> Snapshot:
        owner = Owner(snapshot.subject.uid, snapshot.subject.generation)
        if isinstance(step, do.WriteRules):
            tunnel = snapshot.account.tunnel(step.tunnel)
            for change in step.hostnames:
                place = ("tunnel", step.tunnel, change.hostname)
                self.outbox.submit(owner, place, change, [tunnel.submit(change)], wake)
        else:
            zone = snapshot.account.zone(step.zone)
            for record in step.records:
                place = ("zone", step.zone, record.name)
                self.outbox.submit(owner, place, record, [zone.submit(record)], wake)
        return replace(snapshot, writes=News(pending=True))

    # Service tokens

    async def _token(self, step: Step, snapshot: Snapshot) -> Snapshot:
        tokens = snapshot.account.service_tokens
        match step:
            case do.CreateToken():
                return await self._create_token(step, snapshot)
            case do.RotateToken():
                return await self._rotate_token(step, snapshot)
            case do.UpdateToken():
                return replace(snapshot, token=await tokens.update(step.token.id, step.name, step.duration))
            case do.RefreshToken():
                return replace(snapshot, token=await tokens.refresh(step.token.id))
            case do.DeleteToken():
                await tokens.delete(step.id)
                self.unstored.pop(step.id, None)
                left = {id_: one for id_, one in snapshot.surplus_tokens.items() if id_ != step.id}
                gone = InventoryItem("ServiceToken", step.id, step.name)
                return replace(snapshot, surplus_tokens=left, inventory=without(snapshot.inventory, gone))
        raise TypeError(f"not a step about service tokens: {step}")

    async def _create_token(self, step: do.CreateToken, snapshot: Snapshot) -> Snapshot:
        account = snapshot.account
        try:
            issued = await account.service_tokens.create(step.name, step.duration)
        except (Retry, asyncio.CancelledError):
            self.doubts.note(account, "tokens")
            raise
        self.unstored[issued.id] = issued
        return await self._store(replace(snapshot, token=account.issued_tokens.get(issued.id)), issued)

    async def _rotate_token(self, step: do.RotateToken, snapshot: Snapshot) -> Snapshot:
        issued = self.unstored.get(step.token.id)
        if issued is None:
            if snapshot.secret is not None and not snapshot.secret.rotating:
                snapshot = replace(snapshot, secret=await self.secrets.announce(snapshot.secret))
            issued = await snapshot.account.service_tokens.rotate(step.token.id, old_until=step.old_until)
            self.unstored[issued.id] = issued
        return await self._store(snapshot, issued)

    async def _store(self, snapshot: Snapshot, issued: IssuedToken) -> Snapshot:
        """Put credentials into the Secret. Until that has succeeded they are kept for the next attempt."""
        namespace, _, name = secret_name(snapshot.subject).partition("/")
        secret = await self.secrets.store(
            snapshot.secret,
            Key(namespace, name),
            mark_of(snapshot.cluster, snapshot.subject.spec),
            snapshot.subject.spec.operations.service_token,
            issued,
            snapshot.now,
        )
        self.unstored.pop(issued.id, None)
        return replace(snapshot, secret=secret)

    async def _secret(self, step: Step, snapshot: Snapshot) -> Snapshot:
        if isinstance(step, do.DeleteSecret):
            await self.secrets.delete(step.secret)
            name = str(step.secret.key)
            left = {key: one for key, one in snapshot.surplus_secrets.items() if key != name}
            gone = InventoryItem("Secret", "", name)
            return replace(snapshot, surplus_secrets=left, inventory=without(snapshot.inventory, gone))
        if not isinstance(step, do.MarkSecret):
            raise TypeError(f"not a step about Secrets: {step}")
        marked = await self.secrets.mark(step.secret, step.owner)
        if snapshot.secret is not None and snapshot.secret.key == marked.key:
            return replace(snapshot, secret=marked)
        return replace(snapshot, surplus_secrets={**snapshot.surplus_secrets, str(marked.key): marked})

    # Applications and policies

    async def _access(self, step: Step, snapshot: Snapshot) -> Snapshot:
        access = snapshot.account.access
        match step:
            case do.CreateApplication():
                return replace(snapshot, application=await self._create_application(step, snapshot))
            case do.PutApplication():
                return _with_application(snapshot, await self._put_application(step, snapshot))
            case do.WritePolicy(policy=None):
                changed = await access.create_application_policy(step.application, step.fields)
                return replace(snapshot, application=changed)
            case do.WritePolicy():
                assert step.policy is not None  # noqa: S101 - the case before
                changed = await access.put_application_policy(step.application, step.policy.id, step.fields)
                return replace(snapshot, application=changed)
            case do.RemovePolicy():
                changed = await access.delete_application_policy(step.application, step.policy.id)
                return replace(snapshot, application=changed)
            case do.DeleteApplication():
                await access.delete_application(step.id)
                left = {id_: one for id_, one in snapshot.surplus.items() if id_ != step.id}
                gone = InventoryItem("AccessApplication", step.id)
                return replace(snapshot, surplus=left, inventory=without(snapshot.inventory, gone))
            case do.WriteTokenPolicy():
                return await self._write_token_policy(step, snapshot)
            case do.DeleteTokenPolicy():
                await access.delete_policy(step.id)
                kept = {id_: one for id_, one in snapshot.surplus_policies.items() if id_ != step.id}
                gone = InventoryItem("AccessPolicy", step.id)
                return replace(snapshot, surplus_policies=kept, inventory=without(snapshot.inventory, gone))
        raise TypeError(f"no way to perform {step}")

    async def _create_application(self, step: do.CreateApplication, snapshot: Snapshot) -> Application:
        account = snapshot.account
        try:
            await account.ensure_tag(cluster_tag(snapshot.cluster))
            return await account.access.create_application(step.settings, step.policies)
        except Conflict:
            # There is one that the mirror does not know: of a call without an answer, or of somebody else.
            await account.applications.refresh()
            raise
        except (Retry, asyncio.CancelledError):
            self.doubts.note(account, "applications")
            raise
        except Stall as refusal:
            self._forget_tag(snapshot, refusal)
            raise

    async def _put_application(self, step: do.PutApplication, snapshot: Snapshot) -> Application:
        account = snapshot.account
        try:
            await account.ensure_tag(cluster_tag(snapshot.cluster))
            return await account.access.put_application(step.application.id, step.settings, step.policies)
        except Stall as refusal:
            self._forget_tag(snapshot, refusal)
            raise

    def _forget_tag(self, snapshot: Snapshot, refusal: Stall) -> None:
        """The tag may have been deleted since it was made: make it again before the next attempt."""
        if refusal.reason == INVALID_SPEC and "tag" in refusal.message:
            snapshot.account.forget_tag(cluster_tag(snapshot.cluster))

    async def _write_token_policy(self, step: do.WriteTokenPolicy, snapshot: Snapshot) -> Snapshot:
        access = snapshot.account.access
        if step.policy is not None:
            return replace(snapshot, token_policy=await access.put_policy(step.policy.id, step.fields))
        try:
            policy = await access.create_policy(step.fields)
        except (Retry, asyncio.CancelledError):
            self.doubts.note(snapshot.account, "policies")
            raise
        return replace(snapshot, token_policy=policy)


def _with_items(snapshot: Snapshot, *items: InventoryItem) -> Snapshot:
    return replace(snapshot, inventory=merged(snapshot.inventory, items))


def _with_application(snapshot: Snapshot, application: Application) -> Snapshot:
    if application.id in snapshot.surplus:
        return replace(snapshot, surplus={**snapshot.surplus, application.id: application})
    return replace(snapshot, application=application)
