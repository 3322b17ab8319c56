"""The harness has teeth for compositions: instances that are treated with the classic mistakes do not get past it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from edgekeeper.controllers.composition import instance_marks, instance_reconciler
from edgekeeper.controllers.composition.children import ApplySetConflictError, Children
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_deletion import InstanceDeletion
from edgekeeper.controllers.composition.instance_plan import Desired, Plan
from edgekeeper.controllers.composition.instance_status import Finding, StatusWriter
from edgekeeper.controllers.composition.inventory import Inventory
from edgekeeper.controllers.composition.registry import ServedGraph
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import ApplyWrite, Outcome, done
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from edgekeeper.runtime.contract import Request
from tests.composition_crash.estate import Estate
from tests.composition_crash.system import INSTANCES_KEPT
from tests.crash.instance_scenarios import scenarios
from tests.crash.runner import run
from tests.crash.stage import Stage
from tests.crash.system import Scenario


def meddled(name: str, meddle: Callable[[Stage[Estate]], Awaitable[None]]) -> Scenario[Estate]:
    """A scenario at whose end somebody does what the operator must never have done."""
    played = scenarios.known[name]

    async def drive(stage: Stage[Estate]) -> None:
        await played.drive(stage)
        stage.operator.die()
        await stage.elapse(seconds=1)
        await meddle(stage)

    return replace(played, drive=drive)


async def touch_a_bystander(stage: Stage[Estate]) -> None:
    await stage.user.merge_patch(CONFIG_MAP, Key("default", "bystander"), {"data": {"text": "touched"}})


async def touch_what_looks_like_a_child(stage: Stage[Estate]) -> None:
    await stage.user.delete(CONFIG_MAP, Key("default", "impostor"))


@pytest.mark.parametrize("meddle", [touch_a_bystander, touch_what_looks_like_a_child])
def test_changed_object_of_others_is_found(meddle: Callable[[Stage[Estate]], Awaitable[None]]) -> None:
    found = run(INSTANCES_KEPT, meddled("instance_created", meddle)).faults
    assert any("which is nobody's child, was changed" in fault for fault in found)


def test_children_that_stay_behind_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forget(self: InstanceDeletion, request: Request) -> Outcome:
        return done()

    monkeypatch.setattr(InstanceDeletion, "advance", forget)
    found = run(INSTANCES_KEPT, scenarios.known["instance_deleted"]).faults
    assert any(fault.startswith("orphan: ConfigMap demo-base") for fault in found)


def test_inventory_that_is_written_too_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children are created first, and only then does the instance say that it has any."""
    marks = instance_marks.missing_marks

    def late(request: Request, served: ServedGraph, inventory: Inventory) -> ApplyWrite | None:
        uid = request.object["metadata"]["uid"]
        return marks(request, served, inventory) if uid in seen else None

    async def apply(self: Children, desired: Desired) -> JsonObject:
        answer = await applied(self, desired)
        seen.add(desired.object["metadata"]["labels"]["kro.run/instance-id"])
        return answer

    seen: set[str] = set()
    applied = Children.apply
    monkeypatch.setattr(instance_reconciler, "missing_marks", late)
    monkeypatch.setattr(Children, "apply", apply)
    found = run(INSTANCES_KEPT, scenarios.known["instance_deleted_while_it_is_created"]).faults
    assert any(fault.startswith("orphan: ConfigMap demo-base") for fault in found)


def test_instance_that_is_ready_without_its_children_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pretend(self: StatusWriter, graph: Graph, plan: Plan, finding: Finding) -> JsonObject:
        return await told(self, graph, plan, Finding(True, "AllResourcesReady", "all resources are ready"))

    async def refuse(self: Children, desired: Desired) -> JsonObject:
        if desired.node == "members":
            raise ApplySetConflictError("refused")
        return await applied(self, desired)

    told, applied = StatusWriter.of_plan, Children.apply
    monkeypatch.setattr(StatusWriter, "of_plan", pretend)
    monkeypatch.setattr(Children, "apply", refuse)
    monkeypatch.setattr(Stage, "settled", _after_a_while)
    found = run(INSTANCES_KEPT, scenarios.known["instance_created"]).faults
    assert any("is Ready with the children" in fault for fault in found)


async def _after_a_while(stage: Stage[Estate]) -> None:
    await stage.elapse(seconds=30)
