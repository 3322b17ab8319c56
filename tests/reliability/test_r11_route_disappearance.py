"""R-11: an empty or partial view is never taken for absence. Nothing is deleted because of one, here or there.

A listing that Cloudflare answers with nothing, with half of it, or not at all; a server that does not show routes, does not
know them any more, or may not be asked. The operator that starts into such a situation is the one that knows least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import HTTP_ROUTE
from edgekeeper.kube.transport import ApiRequest, ApiResponse
from kubesim.cloudflare.faults import Fault
from kubesim.transport import InProcessTransport
from kubesim.virtual import run_virtual, virtual_time
from tests.crash.sampling import ALL
from tests.reliability.routes import PROTECTED, Scene, host, publishing, route
from tests.unit.kube.faults import NOT_FOUND, FaultyTransport, refusal
from tests.unit.kube.faults import Fault as Incident

FLEET: Final = tuple(f"route-{number}" for number in range(8))
"""More than the brake of a mirror lets go at once."""
FOREIGN: Final = {"hostname": "foreign.example.com", "service": "http://foreign:80"}


async def a_fleet(scene: Scene) -> JsonObject:
    """Some routes, and a rule of somebody else. Return what there is at Cloudflare then."""
    scene.provider.write_rules([FOREIGN])
    await scene.create(*(route(name, **PROTECTED) for name in FLEET))
    await scene.ready()
    await scene.elapse(minutes=1)
    return scene.provider.state()


def listed(address: str, *, count: int | None = 0) -> Callable[[str, str, bytes], bytes]:
    """Answers to listings below an address have so many items; None for half of them."""

    def spoil(method: str, url: str, body: bytes) -> bytes:
        path = url.partition("?")[0]
        if method != "GET" or not path.endswith(address):
            return body
        answer = msgspec.json.decode(body)
        items = answer["result"]
        answer["result"] = items[: len(items) // 2 if count is None else count]
        answer["result_info"] = {"page": 1, "per_page": 1000, "total_pages": 1}
        return msgspec.json.encode(answer)

    return spoil


def without_rules(method: str, url: str, body: bytes) -> bytes:
    """The configuration of a tunnel is shown without any rule."""
    if method != "GET" or not url.endswith("/configurations"):
        return body
    answer = msgspec.json.decode(body)
    answer["result"]["config"]["ingress"] = [{"service": "http_status:404"}]
    return msgspec.json.encode(answer)


LIES: Final[dict[str, Callable[[str, str, bytes], bytes]]] = {
    "no applications": listed("/access/apps"),
    "half of the applications": listed("/access/apps", count=None),
    "no records": listed("/dns_records"),
    "half of the records": listed("/dns_records", count=None),
    "no zones": listed("/zones"),
}
REFUSALS: Final = {
    "applications broken": Fault("error", path="*/access/apps*", method="GET", times=None),
    "applications denied": Fault("error", status=403, code=10000, path="*/access/apps*", times=None),
    "records broken off": Fault("truncated", path="*/dns_records*", method="GET", times=None),
    "tunnel not shown": Fault("error", status=404, code=1003, path="*/configurations", times=None),
    "nothing answers": Fault("unsent", times=None),
}


T = TypeVar("T")


def _sampled(cases: Mapping[str, T]) -> list[tuple[str, T]]:
    """All cases under `EDGEKEEPER_CRASH=all`, else every other one."""
    return list(cases.items())[:: 1 if ALL else 2]


def test_things_that_cloudflare_does_not_show_are_not_gone() -> None:
    async def play() -> None:
        async with publishing() as scene:
            before, provider = await a_fleet(scene), scene.provider
            for name, lie in _sampled(LIES):
                provider.spoil = lie
                await scene.elapse(minutes=16)
                provider.spoil = lambda method, url, body: body
                await scene.elapse(minutes=6)
                assert (name, provider.deletions, provider.state()) == (name, 0, before)
            for name, fault in _sampled(REFUSALS):
                provider.cloud.faults.add(fault)
                await scene.elapse(minutes=16)
                provider.cloud.faults.clear()
                await scene.elapse(minutes=6)
                assert (name, provider.deletions, provider.state()) == (name, 0, before)
            await scene.ready()

    run_virtual(play)


@virtual_time
async def test_tunnel_that_is_shown_without_rules_costs_nobody_a_rule() -> None:
    """The version is that of our last write, so the answer cannot be true. Ours and others' rules stay."""
    async with publishing() as scene:
        before = await a_fleet(scene)
        scene.provider.spoil = without_rules
        await scene.elapse(minutes=16)
        scene.provider.spoil = lambda method, url, body: body
        await scene.elapse(minutes=15)
        assert scene.provider.state() == before


def nothing_at_all(request: ApiRequest) -> ApiResponse:
    """An answer that is complete, well-formed, and wrong."""
    listed = {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1000000"}, "items": []}
    return ApiResponse(200, {"content-type": "application/json"}, msgspec.json.encode(listed))


def hidden(request: ApiRequest) -> ApiResponse | None:
    """Listings of routes are empty. Who asks for one is told the truth."""
    return nothing_at_all(request) if request.path.endswith(f"/{HTTP_ROUTE.plural}") else None


SERVERS: Final[dict[str, Callable[[ApiRequest], Any]]] = {
    "lists no routes": hidden,
    "forbids routes": lambda _: refusal(403, "Forbidden"),
    "does not know the kind": lambda _: NOT_FOUND,
    "is broken": lambda _: refusal(500, "InternalError"),
}


def test_routes_that_the_server_does_not_show_are_not_gone() -> None:
    async def play() -> None:
        async with publishing(start=False) as scene:
            transport = FaultyTransport(InProcessTransport(scene.plane))
            await scene.start(transport)
            before = await a_fleet(scene)
            states = [(dig(one, "metadata", "name"), one["data"]) for one in scene.states()]
            for name, answer in SERVERS.items():
                for again in (False, True):
                    if again:
                        await scene.stop()
                        transport = FaultyTransport(InProcessTransport(scene.plane))

                    def refuse(request: ApiRequest, answer: Callable[[ApiRequest], Any] = answer) -> Any:
                        return answer(request) if HTTP_ROUTE.plural in request.path else None

                    transport.refuse = refuse
                    if again:
                        await scene.start(transport)
                    else:
                        await transport.strike(Incident.EXPIRED)
                    await scene.elapse(minutes=20)
                    transport.refuse = lambda _: None
                    await scene.elapse(minutes=6)
                    left = [(dig(one, "metadata", "name"), one["data"]) for one in scene.states()]
                    assert (name, scene.provider.state(), left) == (name, before, states)
            await scene.annotate(FLEET[0], originService="http://other.web.svc:80")
            await scene.until(lambda: "other" in rule_of(scene, FLEET[0])["service"])

    run_virtual(play)


@virtual_time
async def test_namespaces_that_are_not_watched_any_more_keep_everything() -> None:
    async with publishing() as scene:
        before = await a_fleet(scene)
        states = len(scene.states())
        await scene.stop()
        await scene.start(namespaces=("another",))
        await scene.elapse(hours=2)
        assert scene.provider.state() == before
        assert len(scene.states()) == states
        await scene.stop()
        await scene.start()
        await scene.elapse(minutes=10)
        assert scene.provider.state() == before
        await scene.ready()


def rule_of(scene: Scene, name: str) -> JsonObject:
    (found,) = (rule for rule in scene.provider.rules() if rule["hostname"] == host(name))
    return found
