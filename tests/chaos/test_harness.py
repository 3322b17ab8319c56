"""The harness has teeth: operators with the classic mistakes do not get past it, and sequences are what they claim to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.outcome import Event, Outcome, done
from edgekeeper.core.ownership import Owner
from edgekeeper.runtime.contract import Request, Services
from edgekeeper.runtime.controller import Controller
from tests.chaos.command import Failure
from tests.chaos.disturbances import ACTIONS
from tests.chaos.gizmos import GIZMOS, Gizmos, WatchedWorkshop
from tests.chaos.kind import ChaosKind
from tests.chaos.operation import Operation, op
from tests.chaos.runner import play
from tests.chaos.sequence import draw
from tests.chaos.tenants import TENANTS
from tests.chaos.violation import Violation
from tests.toy.client import WorkshopClient
from tests.toy.controllers import controller_of
from tests.toy.gizmo import Gizmo
from tests.toy.reconciler import CLUSTER, Create, GizmoReconciler, Step, desired

CREATED = op("create", key="one", parts={"wheel": "red", "door": "blue"})
ITEM = "default-one-wheel"
MINUTE = timedelta(minutes=1)


def gizmos_with(reconciler: Callable[..., GizmoReconciler]) -> Gizmos:
    """The toy with another reconciler."""

    def controllers(services: Services, workshop: WatchedWorkshop, calls: Calls) -> list[Controller]:
        client = WorkshopClient(workshop, calls)
        return [controller_of(reconciler(client, services.client, services.clock), services)]

    return Gizmos(replace(GIZMOS.system, controllers=controllers))


@dataclass(frozen=True, slots=True)
class ForgetsToCleanUp(GizmoReconciler):
    """Lets the object go before what it stands for is gone."""

    async def finalize(self, request: Request) -> Outcome:
        return done()


@dataclass(frozen=True, slots=True)
class NeverRests(GizmoReconciler):
    """Repaints what is as it should be."""

    async def _observe(self, gizmo: Gizmo, wanted: Any) -> Any:
        seen = await GizmoReconciler._observe(self, gizmo, wanted)
        for item in seen.values():
            await self.workshop.update(item.name, item.colour, item.version)
        return seen


@dataclass(frozen=True, slots=True)
class TakesWhatItFinds(GizmoReconciler):
    """Removes whatever has a name that it wants."""

    async def reconcile(self, request: Request) -> Outcome:
        gizmo, owner = request.decode(Gizmo), Owner.of(request.object, CLUSTER)
        wanted = desired(gizmo, owner)
        for item in (await self._observe(gizmo, wanted)).values():
            if not item.tags:
                await self.workshop.delete(item.name, item.version)
        return await GizmoReconciler.reconcile(self, request)


@dataclass(frozen=True, slots=True)
class RecordsTooLate(GizmoReconciler):
    """Makes things first and writes down later that they exist."""

    async def reconcile(self, request: Request) -> Outcome:
        gizmo, owner = request.decode(Gizmo), Owner.of(request.object, CLUSTER)
        wanted = desired(gizmo, owner)
        seen = await self._observe(gizmo, wanted)
        for name, part in wanted.items():
            if name not in seen:
                await self._perform(Create(name, part), request, owner)
        return await GizmoReconciler.reconcile(self, request)


@dataclass(frozen=True, slots=True)
class SaysTooMuch(GizmoReconciler):
    """Tells of every pass."""

    async def reconcile(self, request: Request) -> Outcome:
        outcome = await GizmoReconciler.reconcile(self, request)
        told = Event("Normal", "Looked", f"looked at {request.reconcile_id}")
        again = min(outcome.requeue_after or MINUTE, MINUTE)
        return replace(outcome, requeue_after=again).with_events(told)


@dataclass(frozen=True, slots=True)
class Remembers(GizmoReconciler):
    """Keeps the uid of every object that it has ever seen."""

    async def reconcile(self, request: Request) -> Outcome:
        return await GizmoReconciler.reconcile(self, request)


@dataclass(frozen=True, slots=True)
class Panics(GizmoReconciler):
    """Does not expect two parts."""

    async def reconcile(self, request: Request) -> Outcome:
        if len(request.decode(Gizmo).spec.parts) > 1:
            raise ZeroDivisionError("two parts")
        return await GizmoReconciler.reconcile(self, request)


@pytest.mark.parametrize(
    ("mistake", "operations", "law"),
    [
        pytest.param(
            ForgetsToCleanUp,
            [CREATED, op("wait", seconds=60), op("delete", key="one")],
            "orphan",
            id="orphan",
        ),
        pytest.param(NeverRests, [CREATED], "unrest", id="unrest"),
        pytest.param(TakesWhatItFinds, [op("squat", item=ITEM), CREATED], "foreign", id="foreign"),
        pytest.param(Panics, [CREATED], "panic", id="panic"),
        pytest.param(SaysTooMuch, [CREATED, op("wait", seconds=7200)], "events", id="events"),
        pytest.param(
            RecordsTooLate,
            [
                op("kill_at", target="workshop", mutating=True, when="after"),
                CREATED,
                op("wait", seconds=0.5),
                op("edit", key="one", parts={"roof": "green"}),
            ],
            "orphan",
            id="forgotten",
        ),
    ],
)
def test_harness_finds_the_mistake(mistake: Any, operations: list[Operation], law: str) -> None:
    assert not play(GIZMOS, operations).violations
    assert law in {violation.law for violation in play(gizmos_with(mistake), operations).violations}


def test_run_is_the_same_twice() -> None:
    operations = draw(GIZMOS, 7)
    first, second = play(GIZMOS, operations), play(GIZMOS, operations)
    assert first == second
    assert first.calls > 50


@pytest.mark.parametrize("kind", [TENANTS, GIZMOS], ids=lambda kind: kind.name)
def test_sequences_are_literals_that_name_actions(kind: ChaosKind[Any]) -> None:
    actions = {**ACTIONS, **kind.actions}
    for seed in range(50):
        operations = draw(kind, seed)
        assert operations == draw(kind, seed)
        for one in operations:
            assert one.action in actions
            assert eval(repr(one), {"op": op}) == one  # noqa: S307 - it is what people paste


def test_users_set_and_unset_every_field_of_a_tenant() -> None:
    """R-21: every field of the spec."""
    drawn = [one for seed in range(400) for one in draw(TENANTS, seed) if one.action in ("create", "edit")]
    specs = [one.arguments["spec"] for one in drawn]
    schema = dig(
        DISTRIBUTION_TENANT.definition()["spec"]["versions"][0],
        "schema",
        "openAPIV3Schema",
        "properties",
        "spec",
    )
    for path, is_required in _fields(schema):
        values = [dig(spec, *path.split(".")) for spec in specs]
        assert len({repr(value) for value in values if value is not None}) > 1, f"{path} is never changed"
        assert is_required or any(_is_unset(spec, path.split(".")) for spec in specs), (
            f"{path} is never unset"
        )


def _fields(schema: JsonObject, path: str = "") -> Iterator[tuple[str, bool]]:
    """Paths of all fields that are no objects, and whether they, or what they are in, must be there."""
    for name, one in schema["properties"].items():
        inner = f"{path}.{name}" if path else name
        if one.get("type") == "object":
            yield from _fields(one, inner)
        elif inner not in (
            "dns.provider",
            "managedCertificateRequest.certificateTransparencyLoggingPreference",
        ):
            yield inner, "." not in inner and name in schema.get("required", ())


def _is_unset(spec: JsonObject, path: list[str]) -> bool:
    """Does a patch unset a field, or anything around it?"""
    for name in path:
        if name not in spec:
            return False
        if spec[name] is None:
            return True
        spec = spec[name]
    return False


def test_failure_is_a_case_to_paste() -> None:
    failure = Failure(
        "gizmos", 3, (Violation("orphan", "default-one-wheel"),), (CREATED, op("wait", seconds=1))
    )
    told = str(failure)
    assert "seed 3 of gizmos" in told
    assert "orphan_3 = [\n    op('create', key='one', parts={'wheel': 'red', 'door': 'blue'}),\n" in told


_ = Step
