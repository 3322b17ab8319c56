"""Access as Cloudflare keeps it: what a write leaves out matters, and protection can be lost by a careless one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.core.clock import timestamp
from packages.kubesim.tests.cloudflare.place import Place, place, refused

INCLUDE: list[Any] = [{"email": {"email": "a@example.com"}}]
POLICY: dict[str, Any] = {"name": "people", "decision": "allow", "include": INCLUDE}
APP: dict[str, Any] = {"type": "self_hosted", "domain": "app.example.com", "name": "app"}


def _app(here: Place, **more: Any) -> Any:
    return here.access("POST", "apps", {**APP, **more})


# Applications and their policies


def test_application_shows_its_policies_written_out_and_in_order() -> None:
    here = place()
    first, second = (
        here.access("POST", "policies", {**POLICY, "name": name})["id"] for name in ("one", "two")
    )
    made = _app(here, policies=[{"id": first, "precedence": 2}, {"id": second, "precedence": 1}])
    assert [(policy["name"], policy["reusable"]) for policy in made["policies"]] == [
        ("two", True),
        ("one", True),
    ]
    assert len(made["aud"]) == 64
    assert made["self_hosted_domains"] == ["app.example.com"]


def test_application_write_without_policies_leaves_them() -> None:
    here = place()
    made = _app(here, policies=[POLICY], session_duration="8h")
    changed = here.access("PUT", f"apps/{made['id']}", APP)
    assert changed["policies"] == made["policies"]
    assert changed["session_duration"] == "24h", "everything else that is left out has its default again"
    assert (changed["aud"], changed["created_at"]) == (made["aud"], made["created_at"])


@pytest.mark.parametrize("nothing", [None, []], ids=["null", "empty"])
def test_application_write_with_no_policies_removes_them_and_those_of_its_own_are_gone(nothing: Any) -> None:
    here = place()
    reusable = here.access("POST", "policies", POLICY)["id"]
    one, two = _app(here, policies=[POLICY]), _app(here, domain="b.example.com", policies=[reusable])
    for made in (one, two):
        changed = here.access(
            "PUT", f"apps/{made['id']}", {**APP, "domain": made["domain"], "policies": nothing}
        )
        assert changed["policies"] == []
    assert list(here.account.policies) == [reusable]


def test_application_takes_reusable_or_inline_policies_but_not_both() -> None:
    here = place()
    reusable = here.access("POST", "policies", POLICY)["id"]
    with refused(12130):
        _app(here, policies=[reusable, POLICY])
    with refused(12130):
        _app(here, policies=["unknown"])
    assert not here.account.applications


@pytest.mark.parametrize("places", [(1, 1), (0, 1), ("1", 2), (True, 2)], ids=str)
def test_precedences_are_unique_and_positive(places: tuple[Any, Any]) -> None:
    here = place()
    ids = [here.access("POST", "policies", {**POLICY, "name": name})["id"] for name in ("one", "two")]
    with refused(12130):
        _app(here, policies=[{"id": id_, "precedence": at} for id_, at in zip(ids, places, strict=True)])


def test_policy_of_one_application_cannot_guard_another() -> None:
    here = place()
    own = _app(here, policies=[POLICY])["policies"][0]["id"]
    with refused(12130):
        _app(here, domain="b.example.com", policies=[own])


def test_domain_belongs_to_one_application() -> None:
    here = place()
    made = _app(
        here,
        destinations=[
            {"type": "public", "uri": "app.example.com"},
            {"type": "public", "uri": "b.example.com"},
        ],
    )
    for domain in ("app.example.com", "b.example.com"):
        with refused(11010):
            _app(here, domain=domain)
    here.access("PUT", f"apps/{made['id']}", APP)
    _app(here, domain="b.example.com")


@pytest.mark.parametrize(
    "fields",
    [
        {"domain": ""},
        {"type": "ssh"},
        {"tags": ["unknown"]},
        {"auto_redirect_to_identity": True},
        {"allow_authenticate_via_warp": True},
        {"options_preflight_bypass": True, "cors_headers": {"allow_all_origins": True}},
        {"destinations": [{"type": "public", "uri": f"{number}.example.com"} for number in range(6)]},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_application_that_cannot_be_is_refused(fields: dict[str, Any]) -> None:
    with refused(12130):
        _app(place(), **fields)


def test_applications_are_found_by_domain_name_and_audience() -> None:
    here = place()
    made = _app(here)
    _app(here, domain="app.example.com.evil.net", name="other")
    assert len(here.access("GET", "apps", domain="app.example.com")) == 2
    for query in ({"domain": "app.example.com", "exact": "true"}, {"name": "app"}, {"aud": made["aud"]}):
        assert [item["id"] for item in here.access("GET", "apps", **query)] == [made["id"]]


def test_applications_are_paged_by_25_unless_asked_for_up_to_a_thousand() -> None:
    here = place()
    for number in range(30):
        _app(here, domain=f"{number}.example.com")
    assert len(here.access("GET", "apps")) == 25
    assert len(here.access("GET", "apps", per_page="1000")) == 30
    with refused(1100):
        here.access("GET", "apps", per_page="1001")


def test_application_that_is_gone_is_unknown() -> None:
    here = place()
    made = _app(here, policies=[POLICY])
    here.access("DELETE", f"apps/{made['id']}")
    assert not here.account.policies
    for method in ("GET", "PUT", "DELETE"):
        with refused(11021):
            here.access(method, f"apps/{made['id']}", APP)


def test_own_policies_are_written_through_their_application_only() -> None:
    here = place()
    made = _app(here)
    policy = here.access("POST", f"apps/{made['id']}/policies", POLICY)
    with refused(12130):
        here.access("POST", f"apps/{made['id']}/policies", {**POLICY, "precedence": 1})
    with refused(12135):
        here.access("PUT", f"policies/{policy['id']}", POLICY)
    here.access("PUT", f"apps/{made['id']}/policies/{policy['id']}", {**POLICY, "decision": "deny"})
    assert here.access("GET", f"apps/{made['id']}/policies")[0]["decision"] == "deny"
    here.access("DELETE", f"apps/{made['id']}/policies/{policy['id']}")
    assert here.access("GET", f"apps/{made['id']}")["policies"] == []
    with refused(12135):
        here.access("DELETE", f"apps/{made['id']}/policies/{policy['id']}")


# Reusable policies


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"decision": "maybe"}, 12130),
        ({"name": ""}, 12130),
        ({"include": []}, 12130),
        ({"include": [{"email": {}, "ip": {}}]}, 12130),
        ({"include": [{"email": "a@example.com"}]}, 12130),
        ({"include": [{"group": {"id": "engineers"}}]}, 11020),
    ],
    ids=str,
)
def test_policy_that_cannot_be_is_refused(fields: dict[str, Any], code: int) -> None:
    with refused(code):
        place().access("POST", "policies", {**POLICY, **fields})


def test_policy_in_use_is_counted_and_not_deleted() -> None:
    here = place()
    policy = here.access("POST", "policies", POLICY)
    made = _app(here, policies=[policy["id"]])
    assert here.access("GET", f"policies/{policy['id']}")["app_count"] == 1
    with refused(12130):
        here.access("DELETE", f"policies/{policy['id']}")
    here.access("DELETE", f"apps/{made['id']}")
    here.access("DELETE", f"policies/{policy['id']}")
    with refused(12135):
        here.access("GET", f"policies/{policy['id']}")


def test_listing_of_policies_holds_reusable_ones_only() -> None:
    here = place()
    _app(here, policies=[POLICY])
    reusable = here.access("POST", "policies", POLICY)
    assert [policy["id"] for policy in here.access("GET", "policies")] == [reusable["id"]]


# Groups, tags, quotas


def test_tag_in_use_is_not_deleted_and_none_is_made_twice() -> None:
    here = place()
    here.access("POST", "tags", {"name": "cfzt"})
    with refused(12130):
        here.access("POST", "tags", {"name": "cfzt"})
    _app(here, tags=["cfzt"])
    assert here.access("GET", "tags/cfzt")["app_count"] == 1
    with refused(12130):
        here.access("DELETE", "tags/cfzt")
    with refused(12135):
        here.access("GET", "tags/none")


def test_groups_are_found_by_name_and_missing_ones_have_a_code_of_their_own() -> None:
    here = place()
    made = here.access("POST", "groups", {"name": "engineers", "include": INCLUDE})
    assert [group["id"] for group in here.access("GET", "groups", name="Engineers")] == [made["id"]]
    here.access("POST", "policies", {**POLICY, "include": [{"group": {"id": made["id"]}}]})
    here.access("DELETE", f"groups/{made['id']}")
    with refused(12152):
        here.access("GET", f"groups/{made['id']}")
    with refused(12130):
        here.access("POST", "groups", {"name": "nobody", "include": []})


@pytest.mark.parametrize("what", ["apps", "policies", "groups", "service_tokens"])
def test_quotas_are_kept(what: str) -> None:
    here = place()
    for name in ("applications", "policies", "groups", "service_tokens"):
        setattr(here.account.quotas, name, 1)
    bodies: dict[str, dict[str, Any]] = {
        "apps": APP,
        "policies": POLICY,
        "groups": {"name": "g", "include": INCLUDE},
    }
    body = bodies.get(what, {"name": "t"})
    here.access("POST", what, body)
    with pytest.raises(Exception, match="maximum number of"):
        here.access("POST", what, {**body, "domain": "other.example.com"})


@pytest.mark.parametrize("what", ["apps", "policies", "groups", "tags", "service_tokens", "organizations"])
def test_access_that_was_never_switched_on_says_so(what: str) -> None:
    here = place()
    here.account.access_enabled = False
    with refused(9999):
        here.access("GET", what)


# Service tokens


def test_service_token_shows_its_secret_when_made_and_when_rotated_only() -> None:
    here = place()
    made = here.access("POST", "service_tokens", {"name": "app", "duration": "24h"})
    path = f"service_tokens/{made['id']}"
    rotated = here.access("POST", f"{path}/rotate", {})
    assert made["client_secret"] != rotated["client_secret"]
    quiet = [
        here.access("GET", path),
        here.access("POST", f"{path}/refresh"),
        *here.access("GET", "service_tokens"),
    ]
    assert not [shown for shown in quiet if "client_secret" in shown]


def test_old_secret_ends_at_once_unless_a_time_is_given() -> None:
    here = place()
    made = here.access("POST", "service_tokens", {"name": "app"})
    path = f"service_tokens/{made['id']}"

    def works(secret: str) -> bool:
        return here.cloud.opens(here.account.id, made["client_id"], secret)

    second = here.access("POST", f"{path}/rotate", {})["client_secret"]
    assert [works(made["client_secret"]), works(second)] == [False, True]
    until = timestamp(here.cloud.clock.now() + timedelta(hours=1))
    third = here.access("POST", f"{path}/rotate", {"previous_client_secret_expires_at": until})[
        "client_secret"
    ]
    assert [works(second), works(third)] == [True, True]
    here.cloud.advance(timedelta(hours=1))
    assert [works(second), works(third)] == [False, True]


def test_grace_of_an_old_secret_can_be_cut_short() -> None:
    here = place()
    made = here.access("POST", "service_tokens", {"name": "app"})
    path = f"service_tokens/{made['id']}"
    later = timestamp(here.cloud.clock.now() + timedelta(days=3))
    here.access("POST", f"{path}/rotate", {"previous_client_secret_expires_at": later})
    now = timestamp(here.cloud.clock.now())
    here.access("PUT", path, {"previous_client_secret_expires_at": now})
    assert not here.cloud.opens(here.account.id, made["client_id"], made["client_secret"])


def test_disabled_expired_and_unknown_tokens_open_nothing() -> None:
    here = place()
    made = here.access("POST", "service_tokens", {"name": "app", "duration": "1h30m"})
    credentials = (made["client_id"], made["client_secret"])
    assert here.cloud.opens(here.account.id, *credentials)
    here.access("PUT", f"service_tokens/{made['id']}", {"enabled": False})
    assert not here.cloud.opens(here.account.id, *credentials)
    here.access("PUT", f"service_tokens/{made['id']}", {"enabled": True})
    here.cloud.advance(timedelta(minutes=91))
    assert not here.cloud.opens(here.account.id, *credentials)
    assert not here.cloud.opens(here.account.id, "unknown", "unknown")


def test_token_without_end_never_ends() -> None:
    here = place()
    made = here.access("POST", "service_tokens", {"name": "app", "duration": "forever"})
    here.cloud.advance(timedelta(days=4000))
    assert made["expires_at"] is None
    assert here.cloud.opens(here.account.id, made["client_id"], made["client_secret"])


@pytest.mark.parametrize("duration", ["", "1 year", "1x", 5, "h"], ids=str)
def test_duration_is_written_as_go_writes_it(duration: Any) -> None:
    with refused(12130):
        place().access("POST", "service_tokens", {"name": "app", "duration": duration})


def test_time_of_a_rotation_has_to_be_one() -> None:
    here = place()
    made = here.access("POST", "service_tokens", {"name": "app"})
    with refused(12130):
        here.access(
            "POST", f"service_tokens/{made['id']}/rotate", {"previous_client_secret_expires_at": "soon"}
        )


@pytest.mark.parametrize("rest", ["", "/refresh", "/rotate"])
def test_service_token_that_is_gone_is_not_found(rest: str) -> None:
    with refused(12135):
        place().access("GET" if not rest else "POST", f"service_tokens/none{rest}")
