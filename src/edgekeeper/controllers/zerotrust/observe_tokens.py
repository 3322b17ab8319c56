"""Observe service tokens from their mirror, and the Secrets with their credentials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.models import ServiceToken
from edgekeeper.controllers.zerotrust.inventory import merged
from edgekeeper.controllers.zerotrust.observe_access import read_live
from edgekeeper.controllers.zerotrust.ownership import choose_token, inherited_token, is_another_token
from edgekeeper.controllers.zerotrust.resolve import listed
from edgekeeper.controllers.zerotrust.snapshot import (
    Snapshot,
    TokenSecret,
)
from edgekeeper.controllers.zerotrust.token_secrets import TokenSecrets, secret_name
from edgekeeper.kube.kinds import Key


@dataclass(frozen=True)
class TokenObserver:
    """Observes service tokens and Secrets."""

    secrets: TokenSecrets

    async def with_tokens(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        subject, account = snapshot.subject, snapshot.account
        items = snapshot.items("ServiceToken")
        if not subject.wants_token and not items:
            return await self.with_secrets(snapshot)
        await listed(account.issued_tokens)
        name = subject.spec.operations.service_token.name
        known = {item.id: account.issued_tokens.get(item.id) for item in items if item.id}
        by_name: dict[str, list[ServiceToken]] = {}
        for _, one in account.issued_tokens.items():  # noqa: PERF102 - a mirror is no dict
            by_name.setdefault(one.name, []).append(one)
        named = by_name.get(name, []) if subject.wants_token else []
        announced = {
            item.name for item in items if not item.id and not (subject.wants_token and item.name == name)
        }
        known |= {one.id: one for one in chain(*(by_name.get(name, []) for name in announced))}
        if live:
            known = await read_live(known, account.service_tokens.get, account.issued_tokens)
        foreign = [item for item in items if is_another_token(item, known.get(item.id))]
        items = tuple(item for item in items if item not in foreign)
        known = {id_: one for id_, one in known.items() if id_ not in {item.id for item in foreign}}
        token, rivals = choose_token(subject, items, known, named)
        inherited = await self._inherited(snapshot, rivals) if token is None else None
        if inherited is not None:
            token, rivals = inherited, ()
        surplus = {id_: one for id_, one in known.items() if token is None or id_ != token.id}
        gone = [item for item in items if live and item.id and surplus.get(item.id, item) is None]
        gone += [item for item in items if not item.id and item.name in announced]
        gone += foreign
        found = [
            InventoryItem("ServiceToken", one.id, one.name)
            for one in surplus.values()
            if one and one.name in announced
        ]
        if inherited is not None:
            # Programs may use its credentials, which were stored: so they stay valid for a while after a rotation.
            found.append(InventoryItem("Secret", "", secret_name(subject), content=inherited.client_id))
        observed = replace(
            snapshot,
            token=token,
            inherits_token=inherited is not None,
            rival_tokens=rivals,
            surplus_tokens={id_: one for id_, one in surplus.items() if not (live and one is None)},
            inventory=merged((item for item in snapshot.inventory if item not in gone), found),
        )
        return await self.with_secrets(observed)

    async def _inherited(self, snapshot: Snapshot, named: tuple[ServiceToken, ...]) -> ServiceToken | None:
        """The token that a lost cluster has left for the route."""
        if not snapshot.lost or not named:
            return None
        account = snapshot.account
        await listed(account.applications)
        found = chain(*(account.applications_by_uri.find(name) for name in snapshot.subject.hostnames))
        return inherited_token(snapshot, named, found)

    async def with_secrets(self, snapshot: Snapshot) -> Snapshot:
        wanted = snapshot.subject.spec.operations.service_token
        name = secret_name(snapshot.subject)
        secret = None
        if snapshot.subject.wants_token:
            secret = await self.secrets.read(_key(name), wanted)
        surplus: dict[str, TokenSecret] = {}
        gone: list[InventoryItem] = []
        for item in snapshot.items("Secret"):
            if item.name == name and snapshot.subject.wants_token:
                continue
            found = await self.secrets.read(_key(item.name))
            if found is None:
                gone.append(item)
            else:
                surplus[item.name] = found
        inventory = tuple(item for item in snapshot.inventory if item not in gone)
        return replace(snapshot, secret=secret, surplus_secrets=surplus, inventory=inventory)


def _key(name: str) -> Key:
    namespace, _, bare = name.partition("/")
    return Key(namespace, bare)
