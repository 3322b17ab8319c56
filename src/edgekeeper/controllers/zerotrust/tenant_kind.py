"""The status of tenants: whether the API token works, whether the tunnel is connected, and how much there is of what.

    Ready     ReconcileSuccess        the token works
              CredentialNotFound      the Secret or its key is missing; looked at again when the Secret changes
              CloudflareAPIError      Cloudflare refuses the token, or cannot be used

The summary is counted from the states of routes. A status is written only when something in it changes, and
`lastSyncTime` together with that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from edgekeeper.api.zerotrust import TenantStatus, TenantSummary, TokenStatus, TunnelStatus, ZeroTrustTenant
from edgekeeper.api.zerotrust_task import CredentialSecretRef
from edgekeeper.cloud.cache import LookupCache
from edgekeeper.cloud.cloudflare.accounts import Account, Cloudflare
from edgekeeper.controllers.zerotrust.credentials import CREDENTIAL_NOT_FOUND, TokenUsers
from edgekeeper.controllers.zerotrust.state import read_state
from edgekeeper.core.clock import Clock, timestamp
from edgekeeper.core.conditions import READY, Conditions, Declaration
from edgekeeper.core.errors import Conflict, PassError, Stall
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.core.outages import CAUSE_TEXTS
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done, requeue
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from edgekeeper.kube.store import Change
from edgekeeper.lifecycle.kind import PAUSED
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.controller import Controller

API_ERROR: Final = "CloudflareAPIError"
_RECONCILED: Final = "Reconciled"
_MESSAGE: Final = "the API token works"
DECLARATION: Final = Declaration(
    required=(_RECONCILED,),
    unpublished=(_RECONCILED,),
    informative=(PAUSED,),
    ready_reason="ReconcileSuccess",
    ready_message=_MESSAGE,
)
_GATHERED: Final = timedelta(seconds=10)
"""How long a tenant waits for further changes of its routes before they are counted."""
_COUNTED: Final = {
    "TunnelHostname": "hostname_routes",
    "AccessApplication": "access_applications",
    "AccessPolicy": "access_policies",
    "ServiceToken": "service_tokens",
}

_decode = msgspec.json.Decoder(dict).decode


@dataclass(frozen=True, slots=True)
class _Seen:
    """What Cloudflare says about a tenant."""

    token: TokenStatus
    tunnel: TunnelStatus | None


class Summaries:
    """How much there is of what for each tenant, counted as states change."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._states: dict[Key, tuple[Key, Counter[str]]] = {}
        self._totals: dict[Key, Counter[str]] = {}

    def changed(self, change: Change) -> set[Key]:
        """A state has changed. Return the tenants that it concerns."""
        concerned: set[Key] = set()
        before = self._states.pop(change.key, None)
        if before is not None:
            tenant, counts = before
            self._totals[tenant].subtract(counts)
            concerned.add(tenant)
        counted = self._count(change.new) if change.new is not None else None
        if counted is not None:
            self._states[change.key] = counted
            self._totals.setdefault(counted[0], Counter()).update(counted[1])
            concerned.add(counted[0])
        return concerned

    def of(self, tenant: Key) -> TenantSummary:
        counts = self._totals.get(tenant, Counter())
        fields = {field: counts[kind] for kind, field in _COUNTED.items()}
        return TenantSummary(managed_http_routes=counts["routes"], **fields)

    def _count(self, raw: bytes) -> tuple[Key, Counter[str]] | None:
        try:
            state = read_state(_decode(raw))
        except (Stall, msgspec.DecodeError):
            return None  # the controller of states says what is wrong with it
        if state.tenant is None:
            return None
        tenant = Key(state.tenant.namespace or self._namespace, state.tenant.name)
        return tenant, Counter(["routes", *(item.kind for item in state.inventory)])


class TenantReconciler:
    """Reports the state of tenants. Nothing is created or changed for them."""

    def __init__(
        self,
        cloudflare: Cloudflare,
        credentials: TokenUsers,
        clock: Clock,
        namespace: str,
        interval: timedelta,
    ) -> None:
        self.summaries = Summaries(namespace)
        self._cloudflare = cloudflare
        self._credentials = credentials
        self._clock = clock
        self._interval = interval
        self._accounts: dict[tuple[str, str, str], Account] = {}
        self._seen: LookupCache[tuple[str, str, str], _Seen] = LookupCache(
            self._ask, clock, lambda _: interval * 0.9
        )

    async def reconcile(self, request: Request) -> Outcome:
        tenant = request.decode(ZeroTrustTenant)
        account = self._account(request.key, tenant)
        fingerprint = account.client.credential.token().fingerprint
        place = (account.id, tenant.spec.tunnel_id, fingerprint)
        self._accounts[place] = account
        try:
            seen = await self._seen.get(place)
        finally:
            self._accounts.pop(place, None)
        conditions = self._conditions(request)
        conditions.mark(_RECONCILED, True, "ReconcileSuccess", _MESSAGE)
        return requeue(self._interval).writing(self._status(request, conditions, seen))

    def explain(self, request: Request, error: PassError) -> Outcome:
        """Say why the tenant cannot be used. Waiting for our own budget, or for the Secret to be read, is no such reason."""
        if isinstance(error, Conflict) or error.reason in ("BudgetExhausted", "CredentialPending"):
            return done()
        reason = (
            CREDENTIAL_NOT_FOUND if error.reason in (CREDENTIAL_NOT_FOUND, "CredentialInvalid") else API_ERROR
        )
        message = CAUSE_TEXTS[error.unavailable] if error.unavailable is not None else error.message
        conditions = self._conditions(request)
        before = conditions.before(READY)
        conditions.mark(_RECONCILED, False, reason, message)
        outcome = done().writing(self._status(request, conditions, None))
        is_known = before is not None and (before.reason, before.message) == (reason, message)
        return outcome if is_known else outcome.with_events(Event("Warning", reason, message))

    def pause(self, request: Request) -> Outcome:
        return done()

    def _account(self, key: Key, tenant: ZeroTrustTenant) -> Account:
        ref = tenant.spec.credential_ref
        credential = self._credentials.credential(key, CredentialSecretRef(ref.name, key.namespace, ref.key))
        return self._cloudflare.account(credential, tenant.spec.account_id)

    async def _ask(self, place: tuple[str, str, str]) -> _Seen:
        account, tunnel_id = self._accounts[place], place[1]
        token = await account.verify()
        return _Seen(TokenStatus(token.status, token.expires_on), await _tunnel(account, tunnel_id))

    def _conditions(self, request: Request) -> Conditions:
        return Conditions.of(DECLARATION, request.object, self._clock.now())

    def _status(self, request: Request, conditions: Conditions, seen: _Seen | None) -> StatusWrite:
        """The whole status, with the time only where something else has changed."""
        present = dig_object(request.object, "status")
        status = TenantStatus(
            observed_generation=request.generation,
            summary=self.summaries.of(request.key),
            token=seen.token if seen else None,
            tunnel=seen.tunnel if seen else None,
        )
        tree: JsonObject = {**_kept(present, seen), **_shown(status), "conditions": conditions.to_list()}
        last = {"lastSyncTime": present["lastSyncTime"]} if "lastSyncTime" in present else {}
        if {**tree, **last} != present:
            last = {"lastSyncTime": timestamp(self._clock.now())}
        return StatusWrite({**tree, **last})


def _kept(present: JsonObject, seen: _Seen | None) -> JsonObject:
    """What was seen before stays where nothing could be seen now."""
    return {name: present[name] for name in ("token", "tunnel") if name in present} if seen is None else {}


def _shown(status: TenantStatus) -> JsonObject:
    tree: JsonObject = msgspec.to_builtins(status)
    summary = status.summary or TenantSummary()
    names = dict(zip(TenantSummary.__struct_fields__, TenantSummary.__struct_encode_fields__, strict=True))
    tree["summary"] = {shown: getattr(summary, name) for name, shown in names.items()}
    for section in ("token", "tunnel"):
        for field in ("expiresAt", "since"):
            moment = getattr(
                getattr(status, section), "expires_at" if field == "expiresAt" else "since", None
            )
            if isinstance(moment, datetime):
                tree[section][field] = timestamp(moment)
    return tree


async def _tunnel(account: Account, tunnel_id: str) -> TunnelStatus | None:
    """The tunnel, as far as the token may read it."""
    try:
        tunnel = await account.tunnels.get(tunnel_id)
    except Stall:
        return None
    if tunnel is None:
        raise Stall(
            API_ERROR, f"the account has no tunnel {tunnel_id}: correct spec.tunnelId, or create the tunnel"
        )
    return TunnelStatus(tunnel.name, tunnel.status or "", tunnel.connected, tunnel.since)


class TenantController(Controller):
    """Runs the passes, and counts the states of routes as they change."""

    _stops: tuple[Callable[[], None], ...] = ()

    def informers_changed(self) -> None:
        for stop in self._stops:
            stop()
        states = [informer for informer in self.informers if informer.kind == CONFIG_MAP]
        self._stops = tuple(self._follow(informer) for informer in states)

    def _follow(self, informer: Informer) -> Callable[[], None]:
        reconciler = self._reconciler
        assert isinstance(reconciler, TenantReconciler)  # noqa: S101 - made together

        def changed(change: Change) -> None:
            for tenant in reconciler.summaries.changed(change):
                self.wake(tenant, after=_GATHERED)

        return informer.subscribe(changed)
