"""Admission rules, asked by an API server and by anybody else."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from io import BytesIO
from typing import Any

import aiohttp
import msgspec
import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.webhooks import (
    LARGEST_REVIEW,
    Admission,
    Admissions,
    Decision,
    Webhook,
    allow,
    cause,
    change,
    deny,
)
from tests.logs import capture_logs
from tests.unit.runtime.wire import LOOPBACK, listening, say

WIDGET = Kind("example.com", "v1", "Widget", "widgets")
VALIDATE = "/validate-example-com-v1-widget"
SHORTLY = timedelta(milliseconds=20)


async def welcome(_: Admission) -> Decision:
    return allow()


def review(**changes: Any) -> JsonObject:
    request = {
        "uid": "705ab4f5",
        "kind": {"group": "example.com", "version": "v1", "kind": "Widget"},
        "resource": {"group": "example.com", "version": "v1", "resource": "widgets"},
        "operation": "UPDATE",
        "userInfo": {"username": "ann", "uid": "7", "groups": ["ops"], "extra": {"scopes": ["all"]}},
        "object": {"spec": {"size": 1}},
        "oldObject": {"spec": {"size": 2}},
        "name": "shop",
        "namespace": "team-a",
        "dryRun": False,
        "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
        **changes,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


@asynccontextmanager
async def serving(*webhooks: Webhook, metrics: Metrics | None = None) -> AsyncIterator[str]:
    admissions = Admissions(webhooks, metrics or Metrics())
    async with listening(admissions.handle) as port:
        yield f"http://{LOOPBACK}:{port}"


async def post(url: str, body: bytes, **headers: str) -> tuple[int, str]:
    headers.setdefault("Content-Type", "application/json")
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=BytesIO(body), headers=headers) as response,
    ):
        return response.status, await response.text()


async def ask(url: str, asked: JsonObject) -> JsonObject:
    """The response of a review that is answered."""
    status, text = await post(url, msgspec.json.encode(asked))
    assert status == 200, text
    answer = msgspec.json.decode(text)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: JsonObject = answer["response"]
    return response


async def decided(decision: Decision, *, mutating: bool = False) -> JsonObject:
    """What is answered where a rule decides so."""

    async def rule(_: Admission) -> Decision:
        return decision

    webhook = Webhook(WIDGET, rule, mutating)
    async with serving(webhook) as url:
        return await ask(url + webhook.path, review())


# What a rule is told


async def test_rule_is_told_object_old_user_and_operation() -> None:
    told: list[Admission] = []

    async def rule(asked: Admission) -> Decision:
        told.append(asked)
        return allow()

    async with serving(Webhook(WIDGET, rule)) as url:
        await ask(url + VALIDATE, review())
    (asked,) = told
    assert asked.object == {"spec": {"size": 1}}
    assert asked.old == {"spec": {"size": 2}}
    assert asked.operation == "UPDATE"
    assert asked.key == Key("team-a", "shop")
    assert (asked.user.username, asked.user.groups, asked.user.extra) == (
        "ann",
        ("ops",),
        {"scopes": ("all",)},
    )
    assert asked.dry_run is False


@pytest.mark.parametrize(
    ("operation", "changes", "old", "new"),
    [("CREATE", {"oldObject": None}, False, True), ("DELETE", {"object": None}, True, False)],
)
async def test_creation_has_no_old_object_and_deletion_no_new_one(
    operation: str, changes: JsonObject, old: bool, new: bool
) -> None:
    told: list[Admission] = []

    async def rule(asked: Admission) -> Decision:
        told.append(asked)
        return allow()

    async with serving(Webhook(WIDGET, rule)) as url:
        await ask(url + VALIDATE, review(operation=operation, **changes))
    assert (told[0].old is not None, told[0].object is not None) == (old, new)


@pytest.mark.parametrize(
    ("kind", "mutating", "path"),
    [
        (WIDGET, False, "/validate-example-com-v1-widget"),
        (WIDGET, True, "/mutate-example-com-v1-widget"),
        (Kind("", "v1", "ConfigMap", "configmaps"), False, "/validate--v1-configmap"),
    ],
)
def test_path_follows_the_convention(kind: Kind, mutating: bool, path: str) -> None:
    assert Webhook(kind, welcome, mutating).path == path


def test_two_rules_of_one_kind_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="at most one validating and one mutating"):
        Admissions([Webhook(WIDGET, welcome), Webhook(WIDGET, welcome)], Metrics())


# What is answered


async def test_allowed_answer_carries_the_uid_of_the_question() -> None:
    assert await decided(allow()) == {"uid": "705ab4f5", "allowed": True}


async def test_warnings_travel_with_either_decision() -> None:
    assert (await decided(allow("size is deprecated")))["warnings"] == ["size is deprecated"]
    assert (await decided(deny("no", warnings=["really"])))["warnings"] == ["really"]


async def test_denial_says_why() -> None:
    answer = await decided(deny("size cannot shrink"))
    assert answer["allowed"] is False
    assert answer["status"] == {"message": "size cannot shrink", "reason": "Forbidden", "code": 403}


async def test_denial_with_causes_names_the_fields() -> None:
    answer = await decided(
        deny("2 fields are wrong", cause("spec.size", "too small"), cause("spec.a", "b", "c"))
    )
    assert answer["status"] == {
        "message": "2 fields are wrong",
        "reason": "Invalid",
        "code": 422,
        "details": {
            "causes": [
                {"reason": "FieldValueInvalid", "message": "too small", "field": "spec.size"},
                {"reason": "c", "message": "b", "field": "spec.a"},
            ]
        },
    }


async def test_changes_travel_as_a_json_patch() -> None:
    operations = [{"op": "add", "path": "/spec/size", "value": 3}]
    answer = await decided(change(operations, "size was filled in"), mutating=True)
    assert answer["patchType"] == "JSONPatch"
    assert msgspec.json.decode(b64decode(answer["patch"])) == operations


async def test_validator_cannot_change_anything() -> None:
    with capture_logs() as logs:
        answer = await decided(change([{"op": "remove", "path": "/spec"}]))
    assert answer["allowed"] is False
    assert "patch" not in answer
    assert logs[0]["event"] == "Validator wants to change the object"


# Rules that do not decide


async def broken(_: Admission) -> Decision:
    raise RuntimeError("password=hunter2")


async def endless(_: Admission) -> Decision:
    await asyncio.Event().wait()
    return allow()


@pytest.mark.parametrize(
    ("rule", "why"),
    [(broken, "it failed"), (endless, "it did not decide within 0.02 s")],
    ids=["broken", "endless"],
)
@pytest.mark.parametrize("on_error", ["deny", "allow"])
async def test_rule_that_does_not_decide_leaves_it_to_its_policy(rule: Any, why: str, on_error: Any) -> None:
    metrics = Metrics()
    webhook = Webhook(WIDGET, rule, on_error=on_error, limit=SHORTLY)
    async with serving(webhook, metrics=metrics) as url:
        with capture_logs():
            answer = await ask(url + VALIDATE, review())
    told = f"the rule for Widget could not be checked: {why}"
    if on_error == "allow":
        assert answer == {"uid": "705ab4f5", "allowed": True, "warnings": [told]}
    else:
        status = {"message": told, "reason": "InternalError", "code": 500}
        assert answer == {"uid": "705ab4f5", "allowed": False, "status": status}
    panics = [line for line in (await metrics.text()).decode().splitlines() if "panics_total " in line][-1]
    assert panics.endswith(f" {int(rule is broken)}.0")


# Bodies that are no reviews


def _encoded(**changes: Any) -> bytes:
    return msgspec.json.encode({**review(), **changes})


BAD = {
    "nothing": (b"", "this is no AdmissionReview"),
    "no JSON": (b"{", "this is no AdmissionReview"),
    "no UTF-8": (b'{"apiVersion":"\xff"}', "this is no AdmissionReview"),
    "a list": (b"[]", "this is no AdmissionReview"),
    "deep": (b'{"apiVersion":"a","kind":"b","request":' + b"[" * 100_000, "this is no AdmissionReview"),
    "another version": (
        _encoded(apiVersion="admission.k8s.io/v1beta1"),
        "only an AdmissionReview of admission.k8s.io/v1 is understood",
    ),
    "another kind": (_encoded(kind="Status"), "only an AdmissionReview"),
    "no request": (_encoded(request=None), "it has no request with a uid"),
    "no uid": (msgspec.json.encode(review(uid="")), "it has no request with a uid"),
    "unknown operation": (msgspec.json.encode(review(operation="EAT")), "this is no AdmissionReview"),
    "object of a wrong type": (msgspec.json.encode(review(object="x")), "this is no AdmissionReview"),
    "another resource": (
        msgspec.json.encode(review(kind={"group": "", "version": "v1", "kind": "Secret"})),
        "this path reviews Widget of example.com/v1",
    ),
}


@pytest.mark.parametrize("name", BAD)
async def test_malformed_review_gets_400_and_one_line(name: str) -> None:
    body, why = BAD[name]
    async with serving(Webhook(WIDGET, welcome)) as url:
        with capture_logs() as logs:
            status, text = await post(url + VALIDATE, body)
    assert status == 400
    assert why in text
    assert text.count("\n") == 1
    assert logs == []


@pytest.mark.parametrize(
    "headers",
    [{"Content-Type": "text/yaml"}, {"Content-Type": "application/json", "Content-Encoding": "gzip"}],
    ids=["yaml", "compressed"],
)
async def test_other_forms_are_refused(headers: dict[str, str]) -> None:
    async with serving(Webhook(WIDGET, welcome)) as url:
        status, text = await post(url + VALIDATE, _encoded(), **headers)
    assert (status, text) == (415, "a review is application/json, and not compressed\n")


async def test_charset_of_the_content_type_makes_no_difference() -> None:
    async with serving(Webhook(WIDGET, welcome)) as url:
        headers = {"Content-Type": "application/json; charset=utf-8"}
        assert (await post(url + VALIDATE, _encoded(), **headers))[0] == 200


async def test_oversized_review_is_refused_before_it_is_read() -> None:
    head = (
        f"POST {VALIDATE} HTTP/1.1\r\nHost: us\r\nContent-Type: application/json\r\n"
        f"Content-Length: {LARGEST_REVIEW + 1}\r\n\r\n"
    )
    async with serving(Webhook(WIDGET, welcome)) as url:
        answer = await say(int(url.rpartition(":")[2]), head.encode())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert answer.endswith(f"a review has at most {LARGEST_REVIEW} bytes\n".encode())


async def test_two_objects_of_the_largest_size_fit() -> None:
    largest = {"data": "x" * (1536 * 1024 - 100)}
    async with serving(Webhook(WIDGET, welcome)) as url:
        assert (await ask(url + VALIDATE, review(object=largest, oldObject=largest)))["allowed"]


async def test_other_paths_and_methods_lead_nowhere() -> None:
    async with serving(Webhook(WIDGET, welcome)) as url:
        assert await post(f"{url}/validate", _encoded()) == (404, "not found\n")
        async with aiohttp.ClientSession() as session, session.get(url + VALIDATE) as response:
            assert response.status == 405


# What is counted


async def test_reviews_are_counted_by_code() -> None:
    metrics = Metrics()
    async with serving(Webhook(WIDGET, welcome), metrics=metrics) as url:
        await ask(url + VALIDATE, review())
        await post(url + VALIDATE, b"{")
        await post(f"{url}/unknown", b"{}")
    text = (await metrics.text()).decode()
    found = [
        line for line in text.splitlines() if line.startswith("controller_runtime_webhook_requests_total{")
    ]
    assert found == [
        f'controller_runtime_webhook_requests_total{{code="200",webhook="{VALIDATE}"}} 1.0',
        f'controller_runtime_webhook_requests_total{{code="500",webhook="{VALIDATE}"}} 0.0',
        f'controller_runtime_webhook_requests_total{{code="400",webhook="{VALIDATE}"}} 1.0',
    ]
    assert f'controller_runtime_webhook_requests_in_flight{{webhook="{VALIDATE}"}} 0.0' in text


async def test_caller_who_leaves_cancels_the_rule() -> None:
    entered, left = asyncio.Event(), asyncio.Event()

    async def rule(_: Admission) -> Decision:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return allow()

    metrics = Metrics()
    async with serving(Webhook(WIDGET, rule), metrics=metrics) as url:
        asking = asyncio.create_task(post(url + VALIDATE, _encoded()))
        await entered.wait()
        asking.cancel()
        async with asyncio.timeout(5):
            await left.wait()
        while 'in_flight{webhook="' + VALIDATE + '"} 0.0' not in (await metrics.text()).decode():  # noqa: ASYNC110
            await asyncio.sleep(0)
