"""R-16: AWS shows the past for two minutes: what was created is not found, what was changed is as before.

Nothing is created twice because of that, nothing that was just written is taken for drift, and the end is the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

import pytest

from kubesim.virtual import run_virtual
from tests.crash.oracles import duplicates, orphans
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

SHOP, WWW = "shop.example.com", "www.example.com"
LAGS = [timedelta(seconds=5), timedelta(seconds=30), timedelta(seconds=120)]


async def creation(scene: Scene) -> None:
    await scene.create(tenant(KEY, SHOP, dns=scene.dns()))
    await scene.ready()


async def change(scene: Scene) -> None:
    await creation(scene)
    await scene.edit(domains=[{"domain": SHOP}, {"domain": WWW}], enabled=False)
    await scene.ready()


async def restart(scene: Scene) -> None:
    """The operator dies right after it has created the tenant, and the next one is not shown it."""
    await scene.create(tenant(KEY, SHOP))
    await scene.until(lambda: KEY.name in scene.names)
    scene.stage.operator.die()
    scene.stage.start_operator()
    await scene.ready()


async def deletion(scene: Scene) -> None:
    await creation(scene)
    await scene.delete()
    await scene.gone()


async def recreation(scene: Scene) -> None:
    await deletion(scene)
    await creation(scene)


PLAYED = [creation, change, restart, deletion, recreation]


@pytest.mark.parametrize("lag", LAGS, ids=lambda lag: f"{lag.total_seconds():.0f}s")
@pytest.mark.parametrize("drive", PLAYED, ids=lambda drive: drive.__name__)
def test_stale_reads_change_nothing_about_the_end(
    drive: Callable[[Scene], Awaitable[None]], lag: timedelta
) -> None:
    assert run_virtual(partial(_ending, drive, lag)) == run_virtual(partial(_ending, drive, timedelta()))


async def _ending(drive: Callable[[Scene], Awaitable[None]], lag: timedelta) -> object:
    async with playing(start=False) as scene:
        scene.cloud.world.behaviour.read_lag = lag
        await scene.elapse(minutes=5)
        scene.stage.start_operator()
        await drive(scene)
        await scene.elapse(minutes=30)
        assert not scene.estate.repeated()
        assert not [*orphans(scene.stage), *duplicates(scene.estate)]
        assert not scene.estate.chronicle.wrongs
        told = [len(scene.events(reason)) for reason in ("Created", "DriftCorrected", "ExternalDeletion")]
        return scene.estate.state(), scene.estate.tally(), told
