"""DistributionTenants, put through random operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.controllers.cloudfront.wiring import TenantOptions, tenant_controller
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import NAMESPACE
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.metrics import Metrics
from kubesim.aws.identity import Role
from tests.chaos.kind import Player
from tests.chaos.operation import Operation
from tests.chaos.tenant_estate import ChaosEstate
from tests.chaos.tenant_ledger import Ledger, Place, domains_of, place_of, places_of
from tests.chaos.tenant_operations import ACTIONS, KEYS, TenantWorld, Users
from tests.chaos.tenant_restraint import Restraint
from tests.chaos.tenant_truth import Truth, condition, told
from tests.chaos.tenant_wishes import is_hands_off, is_misspelt, is_paused
from tests.chaos.violation import Violation
from tests.chaos.world import World, key_of
from tests.crash.system import System
from tests.tenants.system import OPTIONS
from tests.tenants.system import system as tenant_system
from tests.toy.controllers import leadership_of

PATIENT = replace(OPTIONS, cleanup_timeout=timedelta(hours=12))
"""No deletion is given up: nothing fails for so long."""
TRIES_PER_MINUTE = 0.2
"""How often what was refused is tried again."""


def _controllers(
    services: Services, estate: ChaosEstate, calls: Calls, options: TenantOptions = PATIENT
) -> Sequence[Controller]:
    assert isinstance(services.metrics, Metrics)
    registry = services.metrics.registry
    access, cloud_metrics = estate.access(calls, registry=registry)
    access.transport.leadership = leadership_of(services.client)
    aws = AwsAccount(access, services.clock, cloud_metrics, options=options.intervals.pace)
    claims = Claims()
    claims.records.connect(aws.dns)
    return [tenant_controller(services, aws, registry, options, claims)]


def _system() -> System[Any]:
    return replace(
        tenant_system(PATIENT), outside=ChaosEstate, controllers=partial(_controllers, options=PATIENT)
    )


class TenantJudge:
    """The oracles of one run."""

    def __init__(self, world: TenantWorld) -> None:
        self._world = world
        self._ledger = Ledger(world)
        self._restraint = Restraint(world, self._ledger)

    def found(self) -> Iterable[Violation]:
        return (*self._ledger.found, *self._restraint.found)

    def unsettled(self) -> Iterator[str]:
        truth = self._truth()
        for obj in truth.objects:
            if is_misspelt(obj) or is_paused(obj):
                continue
            if "deletionTimestamp" in obj["metadata"]:
                yield f"{told(obj)} is still being deleted"
            elif not _is_current(obj) or not (_is_ready(obj) or truth.is_waiting(obj)):
                yield f"{told(obj)} is neither Ready nor waiting for anybody"

    def tolerated_refusals(self, minutes: float) -> int:
        truth = self._truth()
        waiting = sum(truth.is_waiting(obj) for obj in truth.objects)
        return waiting * round(minutes * TRIES_PER_MINUTE + 1)

    def at_rest(self) -> Iterator[Violation]:
        truth = self._truth()
        for obj in truth.objects:
            if complaint := truth.complaint(obj):
                yield Violation("untrue", f"{key_of(obj)} {complaint}")
        yield from self._orphans(truth)
        yield from self._inventories(truth)
        yield from self._dangling(truth)

    def when_empty(self) -> Iterator[Violation]:
        yield from self._orphans(self._truth())

    def to_be_forgotten(self) -> set[str]:
        """Zones and roles that no object names any more."""
        words = self._world.outside.words
        return {value for word, value in words.items() if word.startswith(("$zone:", "$role:"))}

    def _truth(self) -> Truth:
        return Truth(self._world, self._ledger)

    def _orphans(self, truth: Truth) -> Iterator[Violation]:
        """What the operator made, and no object answers for."""
        ledger = self._ledger
        for tenant in self._world.outside.cloud.cloudfront.tenants.values():
            is_answered = any(ledger.may_have(obj, tenant) for obj in truth.objects)
            if ledger.makers.get(tenant.id) == "operator" and not is_answered:
                yield Violation(
                    "orphan", f"tenant {tenant.name} is nobody's, its tags are {dict(tenant.tags)}"
                )
        known = {place for obj in truth.objects for place in places_of(obj)}
        for place in sorted(ledger.records()):
            if ledger.is_ours(place) and place not in known:
                yield Violation("orphan", f"{place.type} {place.name} in {place.zone} is in no inventory")

    def _inventories(self, truth: Truth) -> Iterator[Violation]:
        """A record is in one inventory, once, and only as long as it is wanted.

        It is there twice while it is being replaced: as it was written, and as it is planned. That stays so where a
        person has to act before it can be.
        """
        places: Counter[Place] = Counter()
        for obj in truth.objects:
            entries = dig_list(obj, "status", "inventory")
            is_refused = condition(obj, "DNSReady").get("reason") in ("DNSConflict", "DNSError")
            written = {place_of(entry) for entry in entries if entry.get("state") != "Planned"}
            places.update(
                place_of(entry)
                for entry in entries
                if not (is_refused and entry.get("state") == "Planned" and place_of(entry) in written)
            )
            yield from self._unwanted(obj, truth)
        for place, count in places.items():
            if count > 1:
                yield Violation("duplicate", f"{place.type} {place.name} is in inventories {count} times")

    def _unwanted(self, obj: JsonObject, truth: Truth) -> Iterator[Violation]:
        if is_misspelt(obj) or is_paused(obj) or is_hands_off(obj):
            return
        zone = str(dig(obj, "spec", "dns", "hostedZoneId") or "").removeprefix("/hostedzone/")
        for place, entry in places_of(obj).items():
            is_wanted = place.name in domains_of(obj) and zone
            is_anothers = truth.is_taken(place.name, truth.own_tenant(obj))
            if not is_wanted and not is_anothers and not truth.is_out_of_reach(entry):
                yield Violation(
                    "leftover", f"{told(obj)} keeps {place.type} {place.name}, which it does not want"
                )

    def _dangling(self, truth: Truth) -> Iterator[Violation]:
        """Names that lead to CloudFront by a record of ours, for an object whose tenant does not serve them any more.

        Before it has served them they may: records come first. So may those of a tenant that somebody else has deleted,
        while records of its object are refused: they are not withdrawn only to be written again.
        """
        for obj in truth.objects:
            if is_misspelt(obj) or is_paused(obj) or is_hands_off(obj):
                continue
            is_refused = condition(obj, "Ready").get("reason") in ("DNSConflict", "DNSError")
            if is_refused and truth.own_tenant(obj) is None:
                continue
            for place in places_of(obj):
                # A name that another's tenant serves does not lead nowhere; who wrote its record may be past proving.
                is_served = bool(truth.holder(place.name))
                if (obj["metadata"]["name"], place.name) not in self._ledger.served:
                    continue
                if place.name in self._ledger.leading() and self._ledger.is_ours(place) and not is_served:
                    yield Violation(
                        "leading",
                        f"{place.name} leads to CloudFront for {told(obj)}, whose tenant does not serve it",
                    )


def _is_current(obj: JsonObject) -> bool:
    return bool(condition(obj, "Ready").get("observedGeneration") == obj["metadata"]["generation"])


def _is_ready(obj: JsonObject) -> bool:
    return bool(condition(obj, "Ready").get("status") == "True")


class Tenants:
    """See the module."""

    name = "tenants"
    targets = ("cloudfront", "route53", "acm", "sts")
    actions: Mapping[str, Player] = ACTIONS

    def __init__(self) -> None:
        self.system = _system()

    def keys(self) -> tuple[str, ...]:
        return KEYS

    def operations(self, random: Random) -> Iterator[Operation]:
        return iter(Users(random))

    async def judge(self, world: World[ChaosEstate]) -> TenantJudge:
        await world.stage.user.create(
            NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        )
        return TenantJudge(world)

    def heal(self, world: World[ChaosEstate]) -> None:
        cloud = world.outside.cloud
        cloud.faults.clear()
        cloud.guard.denied.clear()
        cloud.world.behaviour.read_lag = timedelta()

    def prepare_clearing(self, world: World[ChaosEstate]) -> None:
        world.outside.cloud.world.identities.add_role(Role(world.outside.words["$role:none"]))


TENANTS = Tenants()
