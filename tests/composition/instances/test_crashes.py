"""The operator ends at any write, before it is sent or before its answer is seen: the next one finishes the work."""

from __future__ import annotations

import asyncio

import pytest

from edgekeeper.core.calls import CallRecord
from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from tests.composition.world import World, composing, instance, rgd

DEFINITION = rgd(
    "crashes",
    "Crash",
    '{values: "[]string", extra: boolean | default=true, text: string | default=a}',
    """
- id: base
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: base}, data: {text: "${schema.spec.text}"}}
- id: members
  forEach: [{value: "${schema.spec.values}"}]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "each-${value}"}, data: {text: "${base.data.text}"}}
- id: extra
  includeWhen: ["${schema.spec.extra}"]
  template: {apiVersion: v1, kind: Secret, metadata: {name: extra}, stringData: {text: "${base.data.text}"}}
""",
)
BEFORE: JsonObject = {"values": ["a", "b"]}
AFTER: JsonObject = {"values": ["b", "c"], "extra": False, "text": "z"}


class Crash:
    """Lets the operator hang for ever at one of its writes, counted from one."""

    def __init__(self, number: int, *, sent: bool) -> None:
        self._left = number
        self._sent = sent
        self.struck = False

    async def before(self, call: CallRecord) -> None:
        if call.mutating and not self.struck:
            self._left -= 1
            if self._left == 0 and not self._sent:
                await self._strike()

    async def after(self, call: CallRecord) -> None:
        if call.mutating and self._left == 0 and self._sent and not self.struck:
            await self._strike()

    async def _strike(self) -> None:
        self.struck = True
        await asyncio.Event().wait()


async def _crashing(world: World, crash: Crash) -> None:
    """Run the operator until it hangs, then another one until nothing is left to do."""
    world.hooks = [crash]
    async with world.operating():
        await world.settle(2)
    world.hooks = []
    async with world.operating():
        await world.settle(90)


async def _confirm(world: World, spec: JsonObject) -> None:
    text = spec.get("text", "a")
    wanted = {"base", *(f"each-{value}" for value in spec["values"])}
    assert set(await world.names("ConfigMap")) == wanted
    for name in wanted:
        assert (await world.get("ConfigMap", name))["data"] == {"text": text}
    assert await world.names("Secret") == (["extra"] if spec.get("extra", True) else [])
    found = await world.get("Crash", "demo")
    assert found["status"]["state"] == "ACTIVE"
    kinds = found["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"]
    assert kinds == ("ConfigMap,Secret" if spec.get("extra", True) else "ConfigMap")
    world.requests.clear()
    async with world.operating():
        await world.settle(30)
    assert world.requests.writes == []


PLANS = [(number, sent) for number in range(1, 10) for sent in (False, True)]


@pytest.mark.parametrize(("number", "sent"), PLANS)
def test_crash_while_an_instance_is_created_leaves_nothing_undone(number: int, sent: bool) -> None:
    @virtual_time
    async def scenario() -> None:
        async with composing(operating=False) as world:
            await world.define(DEFINITION)
            await world.apply(instance("Crash", "demo", BEFORE))
            crash = Crash(number, sent=sent)
            await _crashing(world, crash)
            assert crash.struck is (number <= 6)
            await _confirm(world, BEFORE)

    scenario()


@pytest.mark.parametrize(("number", "sent"), PLANS)
def test_crash_while_an_instance_changes_leaves_nothing_undone(number: int, sent: bool) -> None:
    """Values change, the collection loses one and gains one, and a resource is excluded."""

    @virtual_time
    async def scenario() -> None:
        async with composing(operating=False) as world:
            await world.define(DEFINITION)
            await world.apply(instance("Crash", "demo", BEFORE))
            async with world.operating():
                await world.settle()
            await world.apply(instance("Crash", "demo", AFTER))
            crash = Crash(number, sent=sent)
            await _crashing(world, crash)
            assert crash.struck is (number <= 7)
            await _confirm(world, AFTER)

    scenario()


@pytest.mark.parametrize(("number", "sent"), PLANS)
def test_crash_while_an_instance_is_deleted_leaves_nothing_behind(number: int, sent: bool) -> None:
    @virtual_time
    async def scenario() -> None:
        async with composing(operating=False) as world:
            await world.define(DEFINITION)
            await world.apply(instance("Crash", "demo", BEFORE))
            async with world.operating():
                await world.settle()
            await world.delete("Crash", "demo")
            crash = Crash(number, sent=sent)
            await _crashing(world, crash)
            assert crash.struck is (number <= 6)
            assert not await world.exists("Crash", "demo")
            assert await world.names("ConfigMap") == await world.names("Secret") == []

    scenario()
