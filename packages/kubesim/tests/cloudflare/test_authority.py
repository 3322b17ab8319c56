"""Who may do what: the several ways in which Cloudflare says no."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubesim.cloudflare.state import PERMISSIONS
from packages.kubesim.tests.cloudflare.place import Place, place


async def _code(
    here: Place, method: str, path: str, headers: dict[str, str] | None = None
) -> tuple[int, int]:
    """Status and code of a refusal; zero where there is none."""
    status, _, answer = await here.ask(method, path, None if method == "GET" else {}, headers)
    assert (answer["result"] is None) == bool(answer["errors"])
    assert answer["success"] is not bool(answer["errors"])
    return status, answer["errors"][0]["code"] if answer["errors"] else 0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, (400, 9106)),
        ({"Authorization": "Basic x"}, (400, 6111)),
        ({"Authorization": "Bearer"}, (400, 6111)),
        ({"Authorization": "Bearer a b"}, (400, 6111)),
        ({"Authorization": "Bearer 0123456789"}, (403, 9109)),
    ],
    ids=str,
)
async def test_request_without_a_known_token_is_refused(
    headers: dict[str, str], expected: tuple[int, int]
) -> None:
    assert await _code(place(), "GET", "/zones", headers) == expected


async def test_token_ends_when_disabled_or_expired() -> None:
    here = place()
    here.token.expires = here.cloud.clock.now() + timedelta(hours=1)
    assert await _code(here, "GET", "/zones") == (200, 0)
    here.cloud.advance(timedelta(hours=1))
    assert await _code(here, "GET", "/zones") == (403, 9109)
    assert await _code(here, "GET", "/user/tokens/verify") == (401, 1000)
    here.token.expires = None
    here.token.status = "disabled"
    assert await _code(here, "GET", "/zones") == (403, 9109)


_NEEDS = [
    ("DNS Write", "GET", "/zones/{zone}/dns_records"),
    ("DNS Write", "POST", "/zones/{zone}/dns_records/batch"),
    ("Cloudflare Tunnel Write", "GET", "/accounts/{account}/cfd_tunnel/{tunnel}/configurations"),
    ("Access: Apps and Policies Write", "GET", "/accounts/{account}/access/apps"),
    ("Access: Apps and Policies Write", "GET", "/accounts/{account}/access/policies"),
    ("Access: Apps and Policies Write", "GET", "/accounts/{account}/access/tags"),
    ("Access: Service Tokens Write", "GET", "/accounts/{account}/access/service_tokens"),
    (
        "Access: Organizations, Identity Providers, and Groups Write",
        "GET",
        "/accounts/{account}/access/groups",
    ),
    (
        "Access: Organizations, Identity Providers, and Groups Write",
        "GET",
        "/accounts/{account}/access/organizations",
    ),
    ("Zone Read", "GET", "/zones/{zone}"),
]


@pytest.mark.parametrize(("permission", "method", "path"), _NEEDS, ids=str)
async def test_operation_takes_its_permission_and_no_other(permission: str, method: str, path: str) -> None:
    here = place()
    filled = path.format(zone=here.zone.id, account=here.account.id, tunnel=here.tunnel)
    here.token.permissions = PERMISSIONS - {permission}
    assert await _code(here, method, filled) == (403, 10000)
    here.token.permissions = frozenset({permission})
    assert (await _code(here, method, filled))[0] == 200


async def test_reading_takes_less_than_writing() -> None:
    here = place()
    here.token.permissions = frozenset({"DNS Read"})
    path = f"/zones/{here.zone.id}/dns_records"
    assert await _code(here, "GET", path) == (200, 0)
    assert await _code(here, "POST", path) == (403, 10000)


async def test_listing_zones_without_permission_is_refused_in_a_way_of_its_own() -> None:
    here = place()
    here.token.permissions = PERMISSIONS - {"Zone Read"}
    status, _, answer = await here.ask("GET", "/zones")
    assert status == 403
    assert "com.cloudflare.api.account.zone.list" in answer["errors"][0]["message"]


async def test_token_sees_its_own_accounts_and_zones_only() -> None:
    here = place()
    other = here.cloud.add_account("other")
    theirs = here.cloud.add_zone(other.id, "example.net")
    here.token.accounts = frozenset({here.account.id})
    assert await _code(here, "GET", f"/accounts/{other.id}/access/apps") == (403, 10000)
    assert await _code(here, "GET", f"/zones/{theirs.id}/dns_records") == (403, 9109)
    _, _, answer = await here.ask("GET", "/zones")
    assert [zone["name"] for zone in answer["result"]] == ["example.com"]
    here.token.accounts, here.token.zones = None, frozenset({theirs.id})
    assert await _code(here, "GET", f"/zones/{here.zone.id}") == (403, 9109)


async def test_user_and_account_tokens_are_verified_in_different_places() -> None:
    here = place()
    account = f"/accounts/{here.account.id}/tokens/verify"
    assert await _code(here, "GET", "/user/tokens/verify") == (200, 0)
    assert await _code(here, "GET", account) == (401, 1000)
    here.token.owner = here.account.id
    assert await _code(here, "GET", "/user/tokens/verify") == (401, 1000)
    assert await _code(here, "GET", account) == (200, 0)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nowhere", (404, 7003)),
        ("GET", "/zones/none/dns_records", (404, 7003)),
        ("GET", "/accounts/none/access/apps", (404, 7003)),
        ("DELETE", "/zones", (405, 7001)),
    ],
)
async def test_address_that_leads_nowhere_is_told(method: str, path: str, expected: tuple[int, int]) -> None:
    assert await _code(place(), method, path) == expected


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff"])
async def test_body_that_is_no_object_is_refused(body: bytes) -> None:
    here = place()
    url = f"http://x/client/v4/zones/{here.zone.id}/dns_records"
    headers = {"authorization": f"Bearer {here.token.value}"}
    status, _, answer = await here.cloud.send("POST", url, headers, body)
    assert status == 400
    assert b"6007" in answer


async def test_zones_are_paged_by_50_at_most() -> None:
    here = place()
    for number in range(60):
        here.cloud.add_zone(here.account.id, f"zone-{number}.net")
    assert (await _code(here, "GET", "/zones?per_page=51"))[0] == 400
    _, _, answer = await here.ask("GET", "/zones?per_page=50")
    assert answer["result_info"] == {
        "page": 1,
        "per_page": 50,
        "count": 50,
        "total_count": 61,
        "total_pages": 2,
    }


async def test_zones_are_found_by_name_account_and_status() -> None:
    here = place()
    other = here.cloud.add_account("other")
    here.cloud.add_zone(other.id, "example.net", status="pending")
    found: dict[str, Any] = {}
    for query in ("name=example.net", f"account.id={other.id}", "status=active", "name=none"):
        _, _, answer = await here.ask("GET", f"/zones?{query}")
        found[query.partition("=")[0] + query[-4:]] = [zone["name"] for zone in answer["result"]]
    assert sorted(map(tuple, found.values())) == [(), ("example.com",), ("example.net",), ("example.net",)]
