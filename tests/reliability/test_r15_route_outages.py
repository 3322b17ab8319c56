"""R-15: Cloudflare throttles, blocks and is gone, while routes come and change.

The budget is never exceeded, not in catching up either; nothing that passes by itself stalls a route; what cannot be done
for a minute is said, with its cause; and routes at rest say what they said before.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.cloud.rates import CLOUDFLARE, DEFAULT_RATES
from edgekeeper.core.json import dig
from kubesim.cloudflare.faults import Fault
from kubesim.virtual import virtual_time
from tests.reliability.routes import PROTECTED, Scene, publishing, route
from tests.results import Figures

BUDGET: Final = DEFAULT_RATES[CLOUDFLARE]
WINDOWS: Final = (1.0, 10.0, 60.0, 300.0)
PASSING: Final = {"", "Progressing", "Published", "CloudUnavailable", "Withdrawing"}
"""What a route may say while something is wrong that passes by itself."""


def assert_within_budget(scene: Scene, figures: Figures) -> None:
    """Measured where calls arrive, over windows of different lengths."""
    for seconds in WINDOWS:
        most = scene.provider.cloud.journal.most_within(timedelta(seconds=seconds))
        allowed = BUDGET.burst + BUDGET.rate * seconds + 1
        assert most <= allowed, f"{most} calls in {seconds:g} s"
        if seconds == WINDOWS[-1]:
            figures.measure(f"in {seconds:g} s at most", most, "calls", limit=allowed)


def reasons(scene: Scene) -> set[str]:
    """Everything that any route ever said."""
    found = (dig(version, "metadata", "annotations", "edgekeeper.io/reason") for version in scene.versions)
    return {str(one or "") for one in found}


def batch(name: str, count: int) -> list[str]:
    return [f"{name}-{number}" for number in range(count)]


@virtual_time
async def test_throttled_calls_are_repeated_within_the_budget(figures: Figures) -> None:
    async with publishing() as scene:
        scene.provider.cloud.faults.add(Fault("throttle", probability=0.3, seconds=5, times=None))
        await scene.create(*(route(name, **PROTECTED) for name in batch("a", 12)))
        await scene.ready()
        assert_within_budget(scene, figures)
        assert reasons(scene) <= PASSING
        assert len(scene.provider.account.applications) == 12


@virtual_time
async def test_blocked_token_waits_and_catches_up_without_a_burst(figures: Figures) -> None:
    async with publishing() as scene:
        await scene.create(route("rest", **PROTECTED))
        await scene.ready()
        scene.provider.cloud.throttle.block(scene.provider.token.id)
        await scene.create(*(route(name, **PROTECTED) for name in batch("b", 12)))
        await scene.elapse(seconds=75)
        assert {scene.said(name)[:2] for name in batch("b", 12)} == {("False", "CloudUnavailable")}
        assert all("does not accept more calls for now" in scene.said(name)[2] for name in batch("b", 12))
        assert scene.said("rest")[:2] == ("True", "Published")
        await scene.elapse(minutes=4)
        await scene.until(lambda: {scene.said(name)[0] for name in scene.names()} == {"True"}, minutes=3)
        assert_within_budget(scene, figures)
        assert reasons(scene) <= PASSING


@virtual_time
async def test_outage_is_said_and_made_up_for_without_a_burst(figures: Figures) -> None:
    async with publishing() as scene:
        await scene.create(*(route(name, **PROTECTED) for name in ("rest", "changed", "leaving")))
        await scene.ready()
        scene.provider.cloud.faults.outage(timedelta(minutes=30))
        names = batch("c", 12)
        await scene.create(*(route(name, **PROTECTED) for name in names))
        await scene.annotate("changed", sessionDuration="8h")
        await scene.delete("leaving")
        await scene.elapse(seconds=75)
        disturbed = [*names, "changed", "leaving"]
        assert {scene.said(name)[:2] for name in disturbed} == {("False", "CloudUnavailable")}
        assert scene.said("rest")[:2] == ("True", "Published")
        await scene.elapse(minutes=29)
        assert scene.said("rest")[:2] == ("True", "Published")
        calls = scene.provider.cloud.journal.count()
        assert calls < BUDGET.rate * 60, "nobody hammers what does not answer"
        await scene.until(lambda: "leaving" not in scene.names(), minutes=10)
        await scene.ready()
        assert scene.provider.application("leaving.example.com") is None
        assert_within_budget(scene, figures)
        assert reasons(scene) <= PASSING
        assert len(scene.events("CloudUnavailable")) == len(disturbed), "one event per outage"
