"""What users do with Gizmos, and what happens to them."""

from __future__ import annotations

from edgekeeper.core.annotations import PAUSED
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from tests.crash.stage import Stage
from tests.crash.system import Scenarios
from tests.toy.gizmo import GIZMO, gizmo, spec
from tests.toy.workshop import Workshop

KEY = Key("default", "one")
OTHER = Key("default", "two")
WHEEL = "default-one-wheel"

scenarios: Scenarios[Workshop] = Scenarios()


async def built(stage: Stage[Workshop], **parts: str) -> None:
    await stage.create(gizmo(KEY, **parts))
    await stage.settled()


async def change(stage: Stage[Workshop], **parts: str) -> None:
    await stage.patch(GIZMO, KEY, {"spec": spec(**parts)})


async def annotate(stage: Stage[Workshop], value: str | None) -> None:
    annotations: JsonObject = {PAUSED: value}
    await stage.patch(GIZMO, KEY, {"metadata": {"annotations": annotations}})


@scenarios.add
async def creation(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red", door="blue")


@scenarios.add
async def change_of_colour(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red")
    await change(stage, wheel="blue")
    await stage.settled()


@scenarios.add
async def rename_of_a_part(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red")
    await change(stage, tyre="red")
    await stage.settled()


@scenarios.add
async def rename_there_and_back(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red")
    await change(stage, tyre="red")
    await stage.settled()
    await change(stage, wheel="red")
    await stage.settled()


@scenarios.add_race
async def rename_while_creating(stage: Stage[Workshop]) -> None:
    await stage.create(gizmo(KEY, wheel="red"))
    await stage.elapse(seconds=0.1)
    await change(stage, tyre="red")


@scenarios.add
async def deletion(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red", door="blue")
    await stage.delete(GIZMO, KEY)
    await stage.settled()


@scenarios.add_race
async def deletion_at_once(stage: Stage[Workshop]) -> None:
    await stage.create(gizmo(KEY, wheel="red"))
    await stage.elapse(seconds=0.01)
    await stage.delete(GIZMO, KEY)


@scenarios.add_race
async def deletion_while_creating(stage: Stage[Workshop]) -> None:
    await stage.create(gizmo(KEY, wheel="red", door="blue"))
    await stage.elapse(seconds=0.15)
    await stage.delete(GIZMO, KEY)


@scenarios.add_race
async def deletion_while_building(stage: Stage[Workshop]) -> None:
    await stage.create(gizmo(KEY, wheel="red"))
    await stage.elapse(seconds=8)
    await stage.delete(GIZMO, KEY)


@scenarios.add
async def new_object_of_the_same_name(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red")
    await stage.delete(GIZMO, KEY)
    await stage.settled()
    await built(stage, wheel="green")


@scenarios.add
async def rollback_of_a_bad_spec(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red")
    await change(stage, wheel="octarine")
    await stage.settled()
    await change(stage, wheel="red")
    await stage.settled()


@scenarios.add
async def correction_of_a_bad_spec(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="octarine")
    await change(stage, wheel="grue")
    await stage.settled()
    await change(stage, wheel="green")
    await stage.settled()


@scenarios.add
async def deletion_of_what_could_never_be(stage: Stage[Workshop]) -> None:
    await built(stage, door="red", wheel="octarine")
    await stage.delete(GIZMO, KEY)
    await stage.settled()


@scenarios.add
async def pause_and_resume(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red")
    await annotate(stage, "true")
    await change(stage, wheel="blue")
    await stage.elapse(minutes=20)
    assert stage.outside.state()[WHEEL]["colour"] == "red"
    await annotate(stage, None)
    await stage.settled()


@scenarios.add
async def theft_of_an_item(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red")
    stage.outside.steal(WHEEL)
    await stage.until(lambda: WHEEL in stage.outside.state())
    await stage.settled()


@scenarios.add
async def drift_of_an_item(stage: Stage[Workshop]) -> None:
    await built(stage, wheel="red")
    stage.outside.vandalise(WHEEL, "pink")
    await stage.until(lambda: stage.outside.state()[WHEEL]["colour"] == "red")
    await stage.settled()


@scenarios.add
async def name_taken_by_somebody_else(stage: Stage[Workshop]) -> None:
    stage.outside.squat(WHEEL, {})
    await built(stage, wheel="red")
    stage.outside.steal(WHEEL)
    await stage.until(lambda: WHEEL in stage.outside.state())
    await stage.settled()


@scenarios.add
async def two_neighbours(stage: Stage[Workshop]) -> None:
    await stage.create(gizmo(KEY, wheel="red"))
    await stage.create(gizmo(OTHER, wheel="blue"))
    await stage.settled()
    await stage.delete(GIZMO, KEY)
    await stage.settled()
