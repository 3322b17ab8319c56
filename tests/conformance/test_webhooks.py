"""Admission webhooks, called for real: what they are told, what they may do, and what happens when they fail."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.admission import CONFIG_MAP_WRITES, allow, listening, patch, registered
from tests.conformance.client import Client
from tests.conformance.definitions import define
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, config_map, deployment, labelled
from tests.conformance.servers import ADMIN, GROUPS

UNREACHABLE = "https://127.0.0.1:1/admit"


def deny(message: str = "not today", **status: Any) -> Any:
    return lambda _: {"allowed": False, "status": {"message": message, **status}}


def without_canary(asked: list[JsonObject]) -> list[JsonObject]:
    """The server may still ask about the probe that told when registration took effect."""
    return [request for request in asked if request.get("name") != "canary"]


async def test_request_is_described(api: Client, namespace: str) -> None:
    async with listening(api) as hook, registered(api, namespace, hook.entry(namespace)):
        created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    (request,) = without_canary(hook.asked)
    assert request["uid"]
    assert request["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert request["requestKind"] == request["kind"]
    assert (request["operation"], request["namespace"], request["name"]) == ("CREATE", namespace, "one")
    assert (request["userInfo"]["username"], request["dryRun"]) == (ADMIN, False)
    assert GROUPS[ADMIN] in request["userInfo"]["groups"]
    assert request["object"]["data"] == created["data"]
    assert request["oldObject"] is None
    assert request["options"]["kind"] == "CreateOptions"


async def test_update_shows_both_states(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    async with listening(api) as hook, registered(api, namespace, hook.entry(namespace)):
        await api.patch(CONFIG_MAPS.path(namespace, "one"), {"data": {"colour": "red"}})
    (request,) = without_canary(hook.asked)
    assert request["operation"] == "UPDATE"
    assert request["object"]["data"] == {"colour": "red"}
    assert request["oldObject"]["data"] == {"colour": "green"}
    assert request["options"]["kind"] == "UpdateOptions"


async def test_deletion_shows_the_old_state(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    async with listening(api) as hook, registered(api, namespace, hook.entry(namespace)):
        await api.delete(CONFIG_MAPS.path(namespace, "one"))
    (request,) = without_canary(hook.asked)
    assert (request["operation"], request["object"]) == ("DELETE", None)
    assert request["oldObject"]["metadata"]["name"] == "one"


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [({}, 400, ""), ({"code": 422, "reason": "Invalid"}, 422, "Invalid"), ({"code": 403}, 403, "")],
    ids=["plain", "with-reason", "with-code"],
)
async def test_denied_request_is_refused(
    api: Client, namespace: str, status: JsonObject, code: int, reason: str
) -> None:
    async with (
        listening(api, deny(**status)) as hook,
        registered(api, namespace, hook.entry(namespace)),
    ):
        (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).refuse(
            code, reason, 'admission webhook "hook.conformance.example" denied the request: not today'
        )
        (await api.get(CONFIG_MAPS.path(namespace, "one"))).refuse(404, "NotFound")


async def test_denial_without_a_message_says_so(api: Client, namespace: str) -> None:
    async with (
        listening(api, lambda _: {"allowed": False}) as hook,
        registered(api, namespace, hook.entry(namespace)),
    ):
        (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).refuse(
            400, "", 'admission webhook "hook.conformance.example" denied the request without explanation'
        )


async def test_warnings_reach_the_client(api: Client, namespace: str) -> None:
    verdict = lambda _: {"allowed": True, "warnings": ["mind the gap", "and the step"]}  # noqa: E731
    async with (
        listening(api, verdict) as hook,
        registered(api, namespace, hook.entry(namespace)),
    ):
        answer = await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    answer.expect(201)
    assert answer.warnings == ('299 - "mind the gap"', '299 - "and the step"')


async def test_mutation_changes_what_is_stored(api: Client, namespace: str) -> None:
    operations = patch(
        {"op": "add", "path": "/metadata/labels", "value": {"touched": "yes"}},
        {"op": "add", "path": "/data/added", "value": "by the hook"},
    )
    async with (
        listening(api, operations) as hook,
        registered(api, namespace, hook.entry(namespace), mutating=True),
    ):
        created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    assert created["metadata"]["labels"] == {"touched": "yes"}
    assert created["data"] == {"colour": "green", "added": "by the hook"}
    assert (await api.get(CONFIG_MAPS.path(namespace, "one"))).expect(200) == created


async def test_validation_sees_what_mutation_made(api: Client, namespace: str) -> None:
    change = patch({"op": "replace", "path": "/data/colour", "value": "blue"})
    async with (
        listening(api, change) as mutator,
        listening(api) as validator,
        registered(api, namespace, mutator.entry(namespace, "mutator"), mutating=True),
        registered(api, namespace, validator.entry(namespace, "validator")),
    ):
        await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    (request,) = without_canary(validator.asked)
    assert request["object"]["data"] == {"colour": "blue"}


async def test_mutated_object_is_validated_by_the_server(api: Client, namespace: str) -> None:
    change = patch({"op": "add", "path": "/data/bad key", "value": "x"})
    async with (
        listening(api, change) as hook,
        registered(api, namespace, hook.entry(namespace), mutating=True),
    ):
        (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).refuse(422, "Invalid")


async def test_mutators_run_one_after_the_other(api: Client, namespace: str) -> None:
    first = patch({"op": "add", "path": "/data/first", "value": "1"})
    second = patch({"op": "add", "path": "/data/second", "value": "2"})
    async with (
        listening(api, first) as one,
        listening(api, second) as two,
        registered(api, namespace, one.entry(namespace, "one"), two.entry(namespace, "two"), mutating=True),
    ):
        created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    assert created["data"] == {"colour": "green", "first": "1", "second": "2"}
    assert without_canary(two.asked)[0]["object"]["data"]["first"] == "1"


async def test_reinvocation_shows_later_changes_to_earlier_mutators(api: Client, namespace: str) -> None:
    async with (
        listening(api) as one,
        listening(api, patch({"op": "add", "path": "/data/second", "value": "2"})) as two,
        registered(
            api,
            namespace,
            one.entry(namespace, "one", reinvocationPolicy="IfNeeded"),
            two.entry(namespace, "two"),
            mutating=True,
        ),
    ):
        await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    first, again = without_canary(one.asked)
    assert "second" not in first["object"]["data"]
    assert again["object"]["data"]["second"] == "2"


async def test_unreachable_webhook_fails_the_request(api: Client, namespace: str) -> None:
    async with listening(api) as hook:
        entry = hook.entry(namespace, failurePolicy="Fail", clientConfig={"url": UNREACHABLE})
        async with registered(api, namespace, entry):
            status = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).refuse(
                500, "InternalError"
            )
    assert status["message"].startswith(
        'Internal error occurred: failed calling webhook "hook.conformance.example": failed to call webhook: '
        f'Post "{UNREACHABLE}?timeout=5s": '
    )


async def test_unreachable_webhook_can_be_ignored(api: Client, namespace: str) -> None:
    async with listening(api) as hook:
        entry = hook.entry(namespace, failurePolicy="Ignore", clientConfig={"url": UNREACHABLE})
        async with registered(api, namespace, entry):
            (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
async def test_slow_webhook_counts_as_failed(api: Client, namespace: str, policy: str, status: int) -> None:
    never = asyncio.Event()

    async def hang(_: JsonObject) -> JsonObject:
        await never.wait()
        return {"allowed": True}

    async with listening(api, hang) as hook:
        entry = hook.entry(namespace, failurePolicy=policy, timeoutSeconds=1)
        async with registered(api, namespace, entry | {"objectSelector": {"matchLabels": {"slow": "yes"}}}):
            answer = await api.create(CONFIG_MAPS.path(namespace), labelled("one", slow="yes"))
        never.set()
    assert answer.status == status, answer.text
    if status == 500:
        assert "context deadline exceeded" in answer.body["message"]


async def test_object_selector_narrows(api: Client, namespace: str) -> None:
    selector = {"matchLabels": {"watched": "yes"}}
    async with (
        listening(api, deny()) as hook,
        registered(api, namespace, hook.entry(namespace, objectSelector=selector)),
    ):
        (await api.create(CONFIG_MAPS.path(namespace), labelled("free"))).expect(201)
        assert (
            await api.create(CONFIG_MAPS.path(namespace), labelled("caught", watched="yes"))
        ).status == 400


async def test_namespace_selector_narrows(api: Client, namespace: str) -> None:
    entry_for = {"matchLabels": {"kubernetes.io/metadata.name": "another"}}
    async with (
        listening(api, deny()) as hook,
        registered(api, namespace, hook.entry(namespace, namespaceSelector=entry_for)),
    ):
        (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    assert hook.asked == []


@pytest.mark.parametrize(
    ("rule", "caught"),
    [
        ({"operations": ["UPDATE"]}, False),
        ({"operations": ["CREATE", "DELETE"]}, True),
        ({"apiGroups": ["apps"]}, False),
        ({"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}, True),
        ({"resources": ["configmaps/status"]}, False),
        ({"scope": "Cluster"}, False),
        ({"scope": "Namespaced"}, True),
    ],
    ids=["operation", "operations", "group", "everything", "subresource", "cluster", "namespaced"],
)
async def test_rules_choose_the_requests(api: Client, namespace: str, rule: JsonObject, caught: bool) -> None:
    entry_rule = {**CONFIG_MAP_WRITES, **rule}
    async with (
        listening(api) as hook,
        registered(api, namespace, hook.entry(namespace, rules=[entry_rule])),
    ):
        await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    assert bool(without_canary(hook.asked)) is caught


async def test_dry_run_is_told_to_webhooks_without_side_effects(api: Client, namespace: str) -> None:
    async with listening(api) as hook, registered(api, namespace, hook.entry(namespace)):
        await api.create(CONFIG_MAPS.path(namespace), config_map("one"), dryRun="All")
    assert [request["dryRun"] for request in without_canary(hook.asked)] == [True]


async def test_scale_is_its_own_resource(api: Client, namespace: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment())
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments/scale"],
        "operations": ["UPDATE"],
    }
    async with (
        listening(api, deny()) as hook,
        registered(api, namespace, hook.entry(namespace, rules=[rule])),
    ):
        path = DEPLOYMENTS.path(namespace, "web")
        assert (await api.patch(f"{path}/scale", {"spec": {"replicas": 3}})).status == 400
        (await api.patch(path, {"spec": {"replicas": 2}})).expect(200)
    (request,) = hook.asked
    assert (request["subResource"], request["kind"]["kind"]) == ("scale", "Scale")
    assert request["object"]["spec"] == {"replicas": 3}


async def test_custom_kinds_are_admitted_too(api: Client, namespace: str) -> None:
    kind = await define(api)
    rule = {
        "apiGroups": [kind.group],
        "apiVersions": ["v1"],
        "resources": ["widgets"],
        "operations": ["CREATE"],
    }
    change = patch({"op": "add", "path": "/spec", "value": {"size": 7, "unknown": 1}})
    async with (
        listening(api, change) as hook,
        registered(api, namespace, hook.entry(namespace, rules=[rule]), mutating=True),
    ):
        created = (await api.create(kind.path(namespace), kind.new("one"))).expect(201)
    assert created["spec"] == {"size": 7}
    assert hook.asked[0]["kind"] == {"group": kind.group, "version": "v1", "kind": "Widget"}


async def test_malformed_patch_is_an_internal_error(api: Client, namespace: str) -> None:
    change = patch({"op": "remove", "path": "/data/absent"})
    async with (
        listening(api, change) as hook,
        registered(api, namespace, hook.entry(namespace), mutating=True),
    ):
        (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).refuse(500, "InternalError")


async def test_applied_objects_are_admitted(api: Client, namespace: str) -> None:
    async with listening(api, deny("no applying")) as hook, registered(api, namespace, hook.entry(namespace)):
        answer = await api.apply(CONFIG_MAPS.path(namespace, "one"), config_map("one"), "me")
    assert answer.refuse(400, "")["message"].endswith("denied the request: no applying")
    assert hook.asked[-1]["options"]["fieldManager"] == "me"


async def test_allowing_webhook_changes_nothing(api: Client, namespace: str) -> None:
    async with (
        listening(api, allow) as hook,
        registered(api, namespace, hook.entry(namespace), mutating=True),
    ):
        created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    assert created["data"] == {"colour": "green"}
