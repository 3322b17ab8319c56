"""The examples of the described operator, and what follows from its documents, with the whole operator.

The annotations are exactly those of the examples. Their `spec` is rewritten to what HTTPRoutes have.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from edgekeeper.api.zerotrust import FINALIZER
from edgekeeper.controllers.zerotrust.route_index import TASK, TENANT
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, SECRET, Key
from kubesim.virtual import virtual_time
from tests.zerotrust.acceptance_world import (
    APPS,
    HOME,
    SECRET_NAME,
    AcceptanceWorld,
    cluster,
    operating,
    route,
    running,
)

TRAEFIK = "http://traefik.traefik.svc:80"
SIMPLE = {"hostname": "simple.example.com"}
ADMIN = {
    "hostname": "admin.example.com",
    "accessApp": "true",
    "allowEmails": "admin@example.com,manager@example.com",
    "sessionDuration": "8h",
}
API = {
    "hostname": "api.example.com",
    "accessApp": "true",
    "allowGroups": "Engineering",
    "serviceToken": "true",
}
APP = {"hostname": "app.example.com", "accessApp": "true", "allowEmails": "user1@example.com"}
SPLIT = ("manager", "kube-worker", "cloudflare-worker")


def add_group(world: AcceptanceWorld, name: str = "Engineering") -> str:
    body = {"name": name, "include": [{"email_domain": {"domain": "example.com"}}]}
    return str(world.act("POST", "access/groups", body)["id"])


def emails(*addresses: str) -> list[JsonObject]:
    return [{"email": {"email": address}} for address in addresses]


# The examples


@virtual_time
async def test_first_example_publishes_a_public_hostname() -> None:
    async with operating() as world:
        await world.create(route("simple-app", **SIMPLE))
        await world.ready("simple-app")
        assert world.rules() == [
            {"hostname": "simple.example.com", "service": TRAEFIK},
            {"service": "http_status:404"},
        ]
        (record,) = world.records("simple.example.com")
        assert (record["type"], record["content"]) == ("CNAME", f"{world.estate.tunnel}.cfargotunnel.com")
        assert (record["proxied"], record["ttl"]) == (True, 1)
        annotations = world.annotations("simple-app")
        assert annotations["hostnameRouteId"] == world.estate.tunnel
        assert annotations["cnameRecordId"] == record["id"]
        assert annotations["lastReconcile"].endswith("Z")
        assert not world.account.applications
        assert FINALIZER in world.get(HTTP_ROUTE, "simple-app")["metadata"]["finalizers"]


@pytest.mark.parametrize("roles", [("",), SPLIT], ids=["one process", "three processes"])
@virtual_time
async def test_second_example_lets_two_people_in_for_eight_hours(roles: tuple[str, ...]) -> None:
    async with operating(roles=roles) as world:
        world.estate.guarded.add("admin.example.com")
        await world.create(route("admin-panel", **ADMIN))
        await world.ready("admin-panel")
        application = world.application("admin.example.com")
        assert application is not None
        assert (application["name"], application["type"]) == ("admin-panel", "self_hosted")
        assert application["session_duration"] == "8h"
        (policy,) = world.policies("admin.example.com")
        assert (policy["name"], policy["decision"]) == ("admin-panel-allow-policy", "allow")
        assert policy["include"] == emails("admin@example.com", "manager@example.com")
        rule = world.rule("admin.example.com")
        assert dig(rule, "originRequest", "access", "audTag") == [application["aud"]]
        annotations = world.annotations("admin-panel")
        assert annotations["hostnameRouteId"] == world.estate.tunnel
        assert annotations["accessAppId"] == application["id"]
        assert annotations["accessPolicyIds"] == policy["id"]
        assert "lastReconcile" in annotations
        assert "serviceTokenId" not in annotations


@virtual_time
async def test_third_example_stores_a_token_for_programs() -> None:
    async with operating() as world:
        world.estate.guarded.add("api.example.com")
        group = add_group(world)
        await world.create(route("api-service", **API))
        await world.ready("api-service")
        (token,) = world.tokens()
        assert (token["name"], token["duration"]) == ("api-service-service-token", "8760h")
        includes = [(one["decision"], one["include"]) for one in world.policies("api.example.com")]
        assert sorted(includes) == [
            ("allow", [{"group": {"id": group}}]),
            ("non_identity", [{"service_token": {"token_id": token["id"]}}]),
        ]
        secret = world.secret("api-service-cfzt-service-token")
        assert secret is not None
        assert sorted(secret) == ["client_id", "client_secret"]
        assert world.cloud.opens(world.account.id, secret["client_id"], secret["client_secret"])
        annotations = world.annotations("api-service")
        application = world.application("api.example.com")
        assert application is not None
        assert annotations["accessAppId"] == application["id"]
        assert set(annotations["accessPolicyIds"].split(",")) == {
            one["id"] for one in world.policies("api.example.com")
        }
        assert annotations["serviceTokenId"] == token["id"]
        assert annotations["serviceTokenSecretName"] == "api-service-cfzt-service-token"
        assert {"hostnameRouteId", "lastReconcile"} <= annotations.keys()


@virtual_time
async def test_fourth_example_changes_the_policy_in_place() -> None:
    async with operating() as world:
        world.estate.guarded.add("app.example.com")
        await world.create(route("app", **APP))
        await world.ready("app")
        before = world.annotations("app")
        await world.elapse(minutes=5)
        await world.annotate("app", allowEmails="user1@example.com,user2@example.com")
        await world.until(
            lambda: (
                world.policies("app.example.com")[0]["include"]
                == emails("user1@example.com", "user2@example.com")
            )
        )
        await world.ready("app")
        await world.until(lambda: world.annotations("app")["lastReconcile"] != before["lastReconcile"])
        after = world.annotations("app")
        changed = {name for name in before | after if before.get(name) != after.get(name)}
        assert changed == {"allowEmails", "lastReconcile"}
        assert (len(world.account.applications), len(world.account.policies)) == (1, 1)


# What follows from the documents


@virtual_time
async def test_new_route_has_exactly_one_task_that_is_pending_first() -> None:
    """A1."""
    async with operating() as world:
        await world.create(route("simple-app", **SIMPLE))
        await world.ready("simple-app")
        tasks = world.tasks_ever()
        assert {one["metadata"]["uid"] for one in tasks} == {tasks[0]["metadata"]["uid"]}
        assert tasks[0]["metadata"]["name"] == "cfzt-default-simple-app"
        assert dig(tasks[0], "status", "phase") in (None, "Pending")
        assert tasks[0]["metadata"]["labels"] == {
            "cfzt.cloudflare.com/httproute-name": "simple-app",
            "cfzt.cloudflare.com/httproute-namespace": APPS,
            "cfzt.cloudflare.com/tenant": "main",
        }


@virtual_time
async def test_unchanged_route_has_no_task_and_no_call_of_its_own() -> None:
    """A2: equal hashes cause nothing; only the bulk reads of drift detection go on."""
    async with operating() as world:
        add_group(world)
        await world.create(route("simple-app", **SIMPLE), route("api-service", **API))
        await world.ready("simple-app", "api-service")
        await world.elapse(minutes=1)
        tasks, stored, writes = len(world.tasks_ever()), len(world.versions), world.estate.writes
        calls = world.calls()
        await world.elapse(hours=1)
        assert len(world.tasks_ever()) == tasks
        assert world.estate.writes == writes
        assert [one for one in world.versions[stored:] if one[0] != "leases"] == []
        rounds = timedelta(hours=1) / timedelta(minutes=5)
        assert world.calls() - calls <= 10 * rounds


@virtual_time
async def test_restart_writes_nothing() -> None:
    """A2, across processes."""
    async with cluster() as world:
        add_group(world)
        async with running(world):
            await world.create(route("simple-app", **SIMPLE), route("api-service", **API))
            await world.ready("simple-app", "api-service")
            await world.elapse(minutes=1)
        stored, writes = len(world.versions), world.estate.writes
        async with running(world):
            await world.elapse(minutes=30)
        assert world.estate.writes == writes
        assert world.versions[stored:] == []


@virtual_time
async def test_task_is_claimed_completed_and_deleted() -> None:
    """A7: Pending, InProgress with the pod, Completed, deleted; the result is in the state."""
    async with operating() as world:
        await world.create(route("admin-panel", **ADMIN))
        await world.ready("admin-panel")
        phases = [dig(one, "status", "phase") or "Pending" for one in world.tasks_ever()]
        order = [*dict.fromkeys(phases)]
        assert order == ["Pending", "InProgress", "Completed"]
        claimed = [one for one in world.tasks_ever() if dig(one, "status", "phase") == "InProgress"]
        assert {dig(one, "status", "workerPod") for one in claimed} == {"pod-1"}
        assert world.all(TASK) == []
        state = world.states()[APPS, "admin-panel"]
        assert state["metadata"]["name"] == "cfzt-default-admin-panel"
        assert state["metadata"]["namespace"] == HOME
        labels = state["metadata"]["labels"]
        assert labels["app.kubernetes.io/component"] == "state-tracker"
        assert {"annotation_hash", "cloudflare_ids", "last_sync_time"} <= state["data"].keys()


@virtual_time
async def test_refused_task_says_why_and_recovers() -> None:
    """A7: Failed with a message, never stuck InProgress; another try follows by itself."""
    async with operating() as world:
        world.estate.guarded.add("api.example.com")
        await world.create(route("api-service", **API))
        message = await world.says("GroupNotFound", "api-service")
        assert "Engineering" in message
        (task,) = world.all(TASK)
        assert (task["status"]["phase"], task["status"]["message"]) == ("Failed", message)
        assert world.rule("api.example.com") is None
        assert world.records("api.example.com") == []
        add_group(world)
        await world.ready("api-service")


@virtual_time
async def test_what_is_gone_already_is_no_failure_at_deletion() -> None:
    """A8: 404 of every deletion is success."""
    async with operating() as world:
        add_group(world)
        await world.create(route("api-service", **API))
        await world.ready("api-service")
        (token,) = world.tokens()
        application = world.application("api.example.com")
        assert application is not None
        world.act("DELETE", f"access/apps/{application['id']}")
        world.act("DELETE", f"access/service_tokens/{token['id']}")
        for record in world.records("api.example.com"):
            world.cloud.act("DELETE", f"/zones/{world.estate.zone.id}/dns_records/{record['id']}")
        await world.user.delete(SECRET, Key(APPS, "api-service-cfzt-service-token"))
        await world.delete("api-service")
        await world.elapse(seconds=15)
        assert world.find(HTTP_ROUTE, Key(APPS, "api-service")) is None
        assert world.rules() == [{"service": "http_status:404"}]
        assert world.states() == {}
        assert world.all(TASK) == []
        assert [one["reason"] for one in world.events() if one["type"] == "Warning"] == []


@virtual_time
async def test_tenant_says_what_it_has_and_what_is_wrong() -> None:
    """A9: the three reasons of the described status."""
    async with operating() as world:

        def ready() -> tuple[str, str]:
            found = world.condition(TENANT, "main", APPS)
            return str(found.get("status")), str(found.get("reason"))

        add_group(world)
        await world.create(route("simple-app", **SIMPLE), route("api-service", **API))
        await world.ready("simple-app", "api-service")
        await world.until(lambda: ready() == ("True", "ReconcileSuccess"))
        await world.until(
            lambda: dig(world.get(TENANT, "main"), "status", "summary", "managedHTTPRoutes") == 2
        )
        assert world.get(TENANT, "main")["status"]["summary"] == {
            "managedHTTPRoutes": 2,
            "hostnameRoutes": 2,
            "accessApplications": 1,
            "accessPolicies": 2,
            "serviceTokens": 1,
        }
        await world.user.delete(SECRET, Key(APPS, SECRET_NAME))
        await world.until(lambda: ready() == ("False", "CredentialNotFound"))
        assert SECRET_NAME in world.condition(TENANT, "main", APPS)["message"]
        await world.create(world.credential(token="0" * 40))
        await world.until(lambda: ready() == ("False", "CloudflareAPIError"))
        assert "0" * 40 not in str(world.get(TENANT, "main"))
        secret = world.credential()
        await world.user.merge_patch(
            SECRET, Key(APPS, SECRET_NAME), {"data": None, "stringData": secret["stringData"]}
        )
        await world.until(lambda: ready() == ("True", "ReconcileSuccess"))


@virtual_time
async def test_route_that_vanished_is_withdrawn_with_its_state() -> None:
    """A12: the route is gone without its finalizer having been heeded."""
    async with operating() as world:
        add_group(world)
        await world.create(route("api-service", **API))
        await world.ready("api-service")
        await world.user.merge_patch(HTTP_ROUTE, Key(APPS, "api-service"), {"metadata": {"finalizers": []}})
        await world.delete("api-service")
        await world.until(lambda: world.states() == {} and not world.all(TASK))
        assert world.find(HTTP_ROUTE, Key(APPS, "api-service")) is None
        assert world.rules() == [{"service": "http_status:404"}]
        assert (world.records(), world.tokens(), world.account.applications) == ([], [], {})
        assert world.secret("api-service-cfzt-service-token") is None


@pytest.mark.parametrize("how", ["deleted", "disabled", "annotation removed"])
@virtual_time
async def test_withdrawn_route_leaves_nothing(how: str) -> None:
    async with operating() as world:
        world.estate.guarded.add("api.example.com")
        add_group(world)
        await world.create(route("api-service", **API))
        await world.ready("api-service")
        if how == "deleted":
            await world.delete("api-service")
        else:
            await world.annotate("api-service", enabled="false" if how == "disabled" else None)
        await world.until(lambda: world.states() == {} and not world.all(TASK))
        assert world.rules() == [{"service": "http_status:404"}]
        assert (world.records(), world.tokens(), world.account.applications) == ([], [], {})
        assert world.secret("api-service-cfzt-service-token") is None
        if how == "deleted":
            await world.gone("api-service")
            return
        await world.until(lambda: not world.get(HTTP_ROUTE, "api-service")["metadata"].get("finalizers"))
        own = {name for name in world.annotations("api-service") if name not in {"enabled", *API}}
        assert own == set()
        assert world.said("api-service") == ("", "", "")


@virtual_time
async def test_same_name_in_two_namespaces_is_kept_apart() -> None:
    """A13, and where the plain names of states would be the same: a-b/c and a/b-c."""
    async with operating(("a", "a-b")) as world:
        for namespace in ("a", "a-b"):
            await world.create(
                world.credential(namespace),
                world.tenant("main", namespace, defaults={"sessionDuration": "1h"}),
            )
        pairs = [("a", "b-c"), ("a-b", "c"), ("a", "web"), ("a-b", "web")]
        for number, (namespace, name) in enumerate(pairs):
            await world.create(
                route(
                    name,
                    namespace,
                    hostname=f"h{number}.example.com",
                    accessApp="true",
                    allowEmails="a@example.com",
                    serviceToken="true",
                )
            )
        for namespace, name in pairs:
            await world.ready(name, namespace=namespace)
        assert set(world.states()) == set(pairs)
        assert len({one["metadata"]["name"] for one in world.states().values()}) == 4
        assert len(world.tokens()) == len({one["name"] for one in world.tokens()}) == 4
        for number, (namespace, name) in enumerate(pairs):
            hostname = f"h{number}.example.com"
            application = world.application(hostname)
            assert application is not None
            assert world.annotations(name, namespace)["accessAppId"] == application["id"]
            secret = world.secret(world.annotations(name, namespace)["serviceTokenSecretName"], namespace)
            assert secret is not None
            assert world.cloud.opens(world.account.id, secret["client_id"], secret["client_secret"])
        await world.delete("web", "a")
        await world.gone("web", namespace="a")
        assert set(world.states()) == {*pairs} - {("a", "web")}
        assert world.application("h3.example.com") is not None
        assert world.secret("web-cfzt-service-token", "a-b") is not None


@virtual_time
async def test_failing_tenants_and_routes_do_not_stop_others() -> None:
    """A14."""
    async with operating(("broken",)) as world:
        await world.create(world.tenant("main", "broken"))
        await world.create(route("lost", "broken", hostname="lost.example.com"))
        await world.create(
            route("typo", hostname="typo.example.com", accesApp="true"),
            route("nowhere", hostname="nowhere.example.org"),
            route("empty", hostname="empty.example.com", accessApp="true"),
        )
        await world.create(route("simple-app", **SIMPLE), route("admin-panel", **ADMIN))
        await world.ready_only("simple-app", "admin-panel")
        assert "accessApp" in await world.says("InvalidAnnotation", "typo")
        assert "example.org" in await world.says("ZoneNotFound", "nowhere")
        await world.says("NoPolicy", "empty")
        await world.says("CredentialNotFound", "lost", "broken")
        published = {one.get("hostname") for one in world.rules()}
        assert published == {"simple.example.com", "admin.example.com", None}


@virtual_time
async def test_zone_is_the_longest_that_fits() -> None:
    """A15."""
    expected = {
        "a.b.co.uk": "b.co.uk",
        "b.co.uk": "b.co.uk",
        "x.sub.example.com": "sub.example.com",
        "sub.example.com": "sub.example.com",
        "xsub.example.com": "example.com",
        "a.b.c.example.com": "example.com",
    }
    async with operating() as world:
        zones = {"example.com": world.estate.zone} | {
            name: world.cloud.add_zone(world.account.id, name) for name in ("sub.example.com", "b.co.uk")
        }
        names = {f"web-{number}": hostname for number, hostname in enumerate(expected)}
        await world.create(*(route(name, hostname=hostname) for name, hostname in names.items()))
        await world.ready(*names)
        found = {record["name"]: name for name, one in zones.items() for record in one.records.values()}
        assert found == expected


@virtual_time
async def test_zone_of_the_tenant_is_a_guard() -> None:
    async with operating() as world:
        other = world.cloud.add_zone(world.account.id, "example.net")
        await world.user.merge_patch(TENANT, Key(APPS, "main"), {"spec": {"zoneId": other.id}})
        await world.create(route("web", hostname="web.example.com"))
        message = await world.says("ZoneMismatch", "web")
        assert other.id in message
        assert world.records() == []
        assert world.rule("web.example.com") is None
        await world.annotate("web", hostname="web.example.net")
        await world.ready("web")


@virtual_time
async def test_state_has_the_keys_of_the_described_state() -> None:
    async with operating() as world:
        add_group(world)
        await world.create(route("api-service", **API))
        await world.ready("api-service")
        (config_map,) = [one for one in world.all(CONFIG_MAP) if "data" in one and "inventory" in one["data"]]
        data = config_map["data"]
        described = {
            *("annotation_hash", "cloudflare_ids", "last_sync_time", "httproute_namespace", "httproute_name"),
            *("hostname", "tunnel_id", "zone_id", "tenant_name"),
        }
        assert described <= data.keys()
        ids = json.loads(data["cloudflare_ids"])
        assert ids["tunnel_id"] == world.estate.tunnel
        assert ids["hostname"] == "api.example.com"
        assert ids["access_app_id"] == world.annotations("api-service")["accessAppId"]
        assert ids["service_token_id"] == world.annotations("api-service")["serviceTokenId"]
        assert config_map["metadata"]["annotations"]["cfzt.cloudflare.com/httproute-uid"]
