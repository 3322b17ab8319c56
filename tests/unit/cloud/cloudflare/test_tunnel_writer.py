"""One writer per tunnel: few calls, nothing lost, nothing of others touched."""

from __future__ import annotations

import asyncio

from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule
from edgekeeper.core.errors import Retry, Stall, Wait
from kubesim.cloudflare.faults import Fault
from tests.unit.cloud.cloudflare.world import World, both_ways, gather, in_virtual_time

GET = "GET /accounts/{account}/cfd_tunnel/{tunnel}/configurations"
PUT = "PUT /accounts/{account}/cfd_tunnel/{tunnel}/configurations"


def _change(hostname: str, service: str = "http://origin:80", *, ours: bool = False) -> HostnameChange:
    return HostnameChange(hostname, (TunnelRule(hostname, service),), ours=ours)


async def _written(world: World, *changes: HostnameChange) -> list[object]:
    writer = world.account.tunnel(world.tunnel)
    return await gather(*[writer.submit(change).wait() for change in changes])


@both_ways
async def test_tunnel_writer_puts_a_thousand_hostnames_in_three_calls(world: World) -> None:
    names = [f"host-{number:04}.example.com" for number in range(1000)]
    before = world.count()
    results = await _written(world, *map(_change, names))
    assert not [result for result in results if isinstance(result, Exception)]
    assert world.hostnames() == names
    listings = 1  # the mirror's own, which every tunnel has once
    assert world.count() - before - listings <= 2


@both_ways
async def test_tunnel_writer_loses_none_of_60_hostnames_of_32_concurrent_callers(world: World) -> None:
    names = [f"host-{number}.example.com" for number in range(60)]
    writer = world.account.tunnel(world.tunnel)
    left = iter(names)

    async def caller() -> None:
        for name in left:
            await writer.submit(_change(name)).wait()

    await asyncio.gather(*[caller() for _ in range(32)])
    assert sorted(world.hostnames()) == sorted(names)


@both_ways
async def test_tunnel_writer_does_not_write_what_is_the_case_already(world: World) -> None:
    await _written(world, _change("a.example.com"))
    writes = world.count(PUT)
    await _written(world, _change("a.example.com", ours=True))
    assert world.count(PUT) == writes


@both_ways
async def test_tunnel_writer_keeps_what_others_configured(world: World) -> None:
    foreign = {
        "ingress": [
            {"hostname": "theirs.example.com", "service": "http://theirs:80"},
            {"hostname": "*.example.com", "service": "http://wild:80"},
            {"service": "http_status:503"},
        ],
        "originRequest": {"connectTimeout": 7},
        "warp-routing": {"enabled": True},
    }
    world.write_config(foreign)
    await _written(world, _change("ours.example.com"))
    after = world.config()
    assert after["warp-routing"] == {"enabled": True}
    assert after["originRequest"] == {"connectTimeout": 7}
    assert [rule.get("hostname") for rule in after["ingress"]] == [
        "theirs.example.com",
        "ours.example.com",
        "*.example.com",
        None,
    ]
    assert after["ingress"][-1] == {"service": "http_status:503"}


@both_ways
async def test_tunnel_writer_refuses_a_hostname_of_others_and_writes_the_rest(world: World) -> None:
    theirs = {"hostname": "theirs.example.com", "service": "http://theirs:80"}
    world.write_config({"ingress": [theirs, {"service": "http_status:404"}]})
    refused, written = await _written(world, _change("theirs.example.com"), _change("ours.example.com"))
    assert isinstance(refused, Stall)
    assert refused.reason == "HostnameConflict"
    assert "http://theirs:80" in refused.message
    assert written == ({"hostname": "ours.example.com", "service": "http://origin:80"},)
    assert world.config()["ingress"][0] == theirs


@both_ways
async def test_tunnel_writer_withdraws_a_hostname_and_leaves_a_rule_for_everything_else(world: World) -> None:
    await _written(world, _change("a.example.com"))
    await _written(world, HostnameChange("a.example.com", ours=True))
    assert world.config()["ingress"] == [{"service": "http_status:404"}]


@both_ways
async def test_tunnel_writer_notices_that_somebody_wrote_in_between(world: World) -> None:
    """Their write comes between our read and our write: ours is repeated, so that at least it is not lost."""
    send = world.cloud.handle
    interfering = iter([True])

    async def interrupted(request: object) -> object:
        if getattr(request, "method", "") == "PUT" and next(interfering, False):
            world.write_config({"ingress": [{"service": "http_status:404"}]})
        return await send(request)  # type: ignore[arg-type]  # handed on as it came

    world.cloud.handle = interrupted  # type: ignore[method-assign,assignment]  # somebody stands in between
    await _written(world, _change("a.example.com"))
    assert world.hostnames() == ["a.example.com"]
    assert world.count(GET) >= 2


@both_ways
async def test_tunnel_writer_finds_its_write_after_a_lost_answer(world: World) -> None:
    await world.account.tunnel(world.tunnel).mirror.wait_synced()
    world.cloud.faults.add(Fault("lost", method="PUT"))
    (result,) = await _written(world, _change("a.example.com"))
    assert not isinstance(result, Exception)
    assert world.count(PUT) == 1
    assert world.hostnames() == ["a.example.com"]


@both_ways
async def test_tunnel_writer_writes_again_what_never_arrived(world: World) -> None:
    world.cloud.faults.add(Fault("unsent", method="PUT"))
    await _written(world, _change("a.example.com"))
    assert world.hostnames() == ["a.example.com"]


@in_virtual_time
async def test_tunnel_writer_gives_up_where_nothing_can_be_written(world: World) -> None:
    world.cloud.faults.add(Fault("unsent", method="PUT", times=None))
    (result,) = await _written(world, _change("a.example.com"))
    assert isinstance(result, Retry)
    assert result.reason == "TunnelConfigContended"


@in_virtual_time
async def test_tunnel_writer_reports_throttling_as_a_time_to_wait(world: World) -> None:
    await world.account.tunnel(world.tunnel).mirror.wait_synced()
    world.cloud.throttle.block(world.token_id)
    (result,) = await _written(world, _change("a.example.com"))
    assert isinstance(result, Wait)


@in_virtual_time
async def test_tunnel_writer_isolates_a_rule_that_cloudflare_refuses(world: World) -> None:
    """Such as one that we did not know to be bad: the others are written all the same."""
    good = [_change(f"good-{number}.example.com") for number in range(7)]
    bad = _change("bad.example.com")
    object.__setattr__(bad.rules[0], "service", "http://origin/path")  # past our own check
    writer = world.account.tunnel(world.tunnel)
    tickets = [writer._coalescer.submit(change) for change in [*good[:3], bad, *good[3:]]]
    results = await gather(*[ticket.wait() for ticket in tickets])
    assert [isinstance(result, Stall) for result in results] == [index == 3 for index in range(8)]
    assert sorted(world.hostnames()) == sorted(change.hostname for change in good)


@in_virtual_time
async def test_tunnel_writer_takes_turns_with_another_credential(world: World) -> None:
    """Two tenants may use one tunnel with tokens of their own."""
    other = type(world.credential)("team-b/cloudflare/token", world.credential.read)
    ours = world.account.tunnel(world.tunnel)
    theirs = world.cloudflare.account(other, world.owner.id).tunnel(world.tunnel)
    world.cloud.faults.add(Fault("delay", path="*/configurations", seconds=1.0, times=None))
    names = [f"host-{number}.example.com" for number in range(20)]
    tickets = [(ours, theirs)[number % 2].submit(_change(name)) for number, name in enumerate(names)]
    await gather(*[ticket.wait() for ticket in tickets])
    assert sorted(world.hostnames()) == sorted(names)


@in_virtual_time
async def test_tunnel_mirror_tells_which_hostnames_others_have_changed(world: World) -> None:
    await _written(world, _change("a.example.com"), _change("b.example.com"))
    mirror = world.account.tunnel(world.tunnel).mirror
    await asyncio.sleep(20)
    changed: list[str] = []
    mirror.subscribe(lambda hostname, _, __: changed.append(hostname))
    rules = world.config()["ingress"]
    world.write_config({"ingress": [{**rules[0], "service": "http://elsewhere:80"}, *rules[1:]]})
    await asyncio.sleep(330)
    assert changed == ["a.example.com"]


@in_virtual_time
async def test_tunnel_writer_tells_all_at_once_what_concerns_all(world: World) -> None:
    await world.account.tunnel(world.tunnel).mirror.wait_synced()
    world.cloud.act("DELETE", f"/accounts/{world.owner.id}/cfd_tunnel/{world.tunnel}")
    before = world.count()
    results = await _written(world, *[_change(f"host-{number}.example.com") for number in range(100)])
    assert {result.reason for result in results if isinstance(result, Stall)} == {"TunnelNotFound"}
    assert world.count() - before == 1
