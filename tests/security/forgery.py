"""Two teams share an account, and one of them writes what it should not: into a status, or into AWS.

    @virtual_time
    async def test_…() -> None:
        async with two_teams() as scene:
            before = Holdings.of(scene)
            await forge(scene, ATTACKER, id=scene.aws(VICTIM.name).id)
            await scene.elapse(minutes=6)
            before.confirm(scene)

The attacker may do everything in its own namespace, statuses included, so the laws of a status are not judged here.
Whatever it writes, the account is to stay as it is, and the victim's object is to say what it said.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from edgekeeper.controllers.cloudfront.wiring import KIND, TenantOptions
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.kinds import NAMESPACE, Key
from tests.crash.stage import staged
from tests.tenants.scene import Fact, Scene, facts
from tests.tenants.system import OPTIONS, system, tenant

VICTIM, ATTACKER = Key("alpha", "kiosk"), Key("beta", "stall")
KIOSK, STALL = "kiosk.example.com", "stall.example.com"
LATER = {"minutes": 6}
"""Longer than anybody waits to look again."""


@asynccontextmanager
async def two_teams(
    options: TenantOptions = OPTIONS, *, attacking: bool = True, **victim: Any
) -> AsyncIterator[Scene]:
    """The victim's tenant is up, with its records; the attacker's too, unless it has no object yet."""
    async with staged(replace(system(options), lies=lambda *_: "")) as stage:
        scene = Scene(stage)
        scene.cloud.cloudfront.default_group()
        stage.start_operator()
        await settle_in(scene, **victim)
        if attacking:
            await scene.create(tenant(ATTACKER, STALL, dns=scene.dns()))
            await scene.ready(ATTACKER)
        yield scene


async def settle_in(scene: Scene, **victim: Any) -> None:
    """Make the namespaces, and the victim's object."""
    for namespace in (VICTIM.namespace, ATTACKER.namespace):
        await scene.stage.user.create(NAMESPACE, {"metadata": {"name": namespace}})
    await scene.create(tenant(VICTIM, KIOSK, **{"dns": scene.dns(), **victim}))
    await scene.ready(VICTIM)


async def forge(scene: Scene, key: Key, /, **status: Any) -> None:
    """Write into the status of an object, as nobody but the operator should."""
    await scene.stage.user.merge_patch(KIND, key, {"status": status}, subresource="status")


def entry(scene: Scene, name: str = KIOSK, **fields: Any) -> JsonObject:
    """An entry of an inventory; the victim's record, unless something else is said."""
    known = {"zone": scene.zone.id, "name": name, "type": "CNAME", "target": scene.endpoint, "ttl": 300}
    return {**known, **fields}


@dataclass(frozen=True)
class Holdings:
    """An account with everything in it, and what the victim's object says of its own."""

    account: JsonObject
    writes: int
    said: dict[str, Fact]
    inventory: list[Any]

    @classmethod
    def of(cls, scene: Scene) -> Holdings:
        obj = scene.object(VICTIM)
        return cls(
            scene.estate.state(), scene.estate.writes, facts(obj), dig_list(obj, "status", "inventory")
        )

    def confirm(self, scene: Scene, variant: object = "", *, untouched: bool = True) -> None:
        """Everything is as it was; if `untouched`, because nobody has written anything meanwhile."""
        now = Holdings.of(scene)
        assert now.account == self.account, variant
        assert (now.said, now.inventory) == (self.said, self.inventory), variant
        assert not untouched or now.writes == self.writes, variant
        assert not scene.estate.chronicle.wrongs, variant
