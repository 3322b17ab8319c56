"""One request function and one paginator: complete or an error, and always with the token of this moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from edgekeeper.cloud.cloudflare import operations
from edgekeeper.cloud.cloudflare.client import CloudflareCall, CloudflareClient, checked_base
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.cloud.cloudflare.models import DnsRecord, Zone
from edgekeeper.cloud.cloudflare.records import Records
from edgekeeper.cloud.cloudflare.zones import Zones
from edgekeeper.core.errors import PassError, Retry, Stall, Wait
from kubesim.cloudflare.faults import Fault
from tests.unit.cloud.cloudflare.world import World, both_ways, in_virtual_time


def _fill(world: World, count: int) -> None:
    for number in range(count):
        world.add_record(type="A", name=f"host-{number}", content="192.0.2.1")


async def _listed(world: World, per_page: int) -> list[str]:
    call = CloudflareCall(operations.LIST_RECORDS, {"zone": world.zone.id})
    return [record.name async for page in world.client.pages(call, DnsRecord, per_page) for record in page]


@both_ways
async def test_pages_hold_everything_once_in_as_few_calls_as_possible(world: World) -> None:
    _fill(world, 10)
    for per_page, calls in ((5, 2), (3, 4), (10, 1), (100, 1)):
        before = world.count()
        assert len(set(await _listed(world, per_page))) == 10
        assert world.count() - before == calls, f"{per_page} per page"


@both_ways
async def test_pages_raise_where_a_later_page_fails(world: World) -> None:
    _fill(world, 10)
    world.cloud.faults.add(Fault("error", status=400, code=9109, path="*/dns_records", skip=1))
    with pytest.raises(PassError):
        await _listed(world, 5)


@both_ways
async def test_read_is_repeated_where_no_answer_came(world: World) -> None:
    _fill(world, 3)
    world.cloud.faults.add(Fault("unsent"), Fault("html", status=502), Fault("truncated"))
    assert len(await _listed(world, 100)) == 3


@in_virtual_time
async def test_read_fails_where_no_answer_ever_comes(world: World) -> None:
    world.cloud.faults.add(Fault("html", status=200, times=None))
    with pytest.raises((Retry, Wait)):
        await _listed(world, 100)


@both_ways
async def test_redirect_is_not_followed(world: World) -> None:
    world.cloud.faults.add(Fault("redirect", times=None))
    with pytest.raises(PassError):
        await world.client.call(
            CloudflareCall(operations.CREATE_TAG, {"account": world.owner.id}, body={"name": "x"}), dict
        )
    assert world.count() == 1


@both_ways
async def test_post_is_never_repeated_blindly(world: World) -> None:
    for kind in ("lost", "truncated", "html"):
        before = world.count()
        world.cloud.faults.add(Fault(kind, method="POST"))
        call = CloudflareCall(operations.CREATE_TAG, {"account": world.owner.id}, body={"name": kind})
        with pytest.raises(Retry):
            await world.client.call(call, dict)
        assert world.count() - before == 1


async def _zones(world: World) -> list[str]:
    return [id_ async for page in Zones(world.client, world.owner.id).pages() for id_ in page]


@both_ways
async def test_token_of_a_changed_secret_is_used_by_the_very_next_call(world: World) -> None:
    old = world.secret["token"]
    await _zones(world)
    world.secret["token"] = f"  {world.cloud.add_token().value}\n"
    del world.cloud.world.tokens[old]
    assert await _zones(world)


@both_ways
async def test_refused_token_stalls_with_the_providers_words(world: World) -> None:
    world.secret["token"] = "unknown-token"
    with pytest.raises(Stall) as caught:
        await _zones(world)
    assert caught.value.reason == "AuthFailed"
    assert "Invalid access token (9109)" in caught.value.message
    assert "unknown-token" not in str(caught.value)


@pytest.mark.parametrize("value", ["", "   ", "two words", "line\nfeed", "tökén", "x" * 600])
@pytest.mark.parametrize("_", ["credential"])
def test_secret_that_is_no_token_stalls_without_a_call(value: str, _: str) -> None:
    with pytest.raises(Stall) as caught:
        Credential("team-a/secret/key", lambda: value).token()
    assert caught.value.reason == "CredentialInvalid"
    assert "team-a/secret/key" in caught.value.message
    assert not value.strip() or value.strip() not in caught.value.message


def test_credentials_do_not_show_their_token() -> None:
    credential = Credential("team-a/secret/key", lambda: "verysecret")
    token = credential.token()
    assert "verysecret" not in repr(credential) + repr(token) + token.fingerprint
    assert token.header == "Bearer verysecret"


@both_ways
async def test_ids_cannot_lead_to_another_address(world: World) -> None:
    for id_ in ("..", ".", "", f"{world.zone.id}/../../user?x=", "a%2fb", "a b", "a\r\nHost: b", "x" * 65):
        with pytest.raises(Stall):
            await Records(world.client, id_).all()
    assert not world.count()


@both_ways
async def test_absent_object_is_none_and_not_an_error(world: World) -> None:
    assert await world.account.tunnels.get("no-such-tunnel") is None
    call = CloudflareCall(operations.GET_APPLICATION, {"account": world.owner.id, "application": "none"})
    assert await world.client.find(call, dict) is None


class _Scripted:
    """Answers every request for a page with the next envelope of a script."""

    def __init__(self, *envelopes: dict[str, Any]) -> None:
        self._envelopes = list(envelopes)

    async def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        return 200, {}, msgspec.json.encode({"success": True, "errors": [], **self._envelopes.pop(0)})


def _zone(number: int) -> dict[str, Any]:
    return {"id": str(number), "name": f"zone-{number}", "account": {"id": "a"}}


async def _scripted(world: World, *envelopes: dict[str, Any]) -> list[str]:
    client = CloudflareClient(world.transport, _Scripted(*envelopes), world.credential)
    call = CloudflareCall(operations.LIST_ZONES, {})
    return [zone.id async for page in client.pages(call, Zone, 2) for zone in page]


@in_virtual_time
async def test_pages_that_promise_more_than_they_hold_are_not_believed(world: World) -> None:
    """An empty list of a thousand objects is no empty list."""
    with pytest.raises(Retry, match="0 of 1000"):
        await _scripted(world, {"result": [], "result_info": {"page": 1, "per_page": 2, "total_count": 1000}})


@in_virtual_time
async def test_pages_follow_the_size_that_the_server_chose(world: World) -> None:
    first = {"result": [_zone(1)], "result_info": {"page": 1, "per_page": 1, "total_count": 2}}
    second = {"result": [_zone(2)], "result_info": {"page": 2, "per_page": 1, "total_count": 2}}
    assert await _scripted(world, first, second) == ["1", "2"]


@in_virtual_time
async def test_pages_end_at_a_short_one_where_nothing_is_said_about_them(world: World) -> None:
    assert await _scripted(world, {"result": [_zone(1), _zone(2)]}, {"result": [_zone(3)]}) == ["1", "2", "3"]


@in_virtual_time
async def test_pages_that_say_nothing_sensible_about_themselves_still_end(world: World) -> None:
    nonsense = {"page": -1, "per_page": 0, "total_count": None}
    assert await _scripted(world, {"result": [_zone(1)], "result_info": nonsense}) == ["1"]


@pytest.mark.parametrize(
    "address", ["http://api.example.com", "ftp://127.0.0.1", "api.example.com", "", "file:///x"]
)
def test_token_is_never_sent_in_the_clear(address: str) -> None:
    with pytest.raises(ValueError, match="https"):
        checked_base(address)


@pytest.mark.parametrize(
    "address", ["https://api.cloudflare.com/client/v4/", "http://127.0.0.1:8080/client/v4"]
)
def test_base_address_may_be_https_or_loopback(address: str) -> None:
    assert checked_base(address) == address.rstrip("/")
