"""Admission webhooks, called for real: an HTTPS server on the loopback interface plays all of them."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from edgekeeper.core.json import JsonObject
from kubesim.plane.auth.certificates import CertificateAuthority
from kubesim.plane.errors import StatusError
from kubesim.plane.request import User
from kubesim.plane.webhook import AdmissionRequest, ConditionError, Surroundings, Webhooks
from kubesim.plane.webhook.endpoint import LARGEST_ANSWER

ALICE = User("alice", ("devs",), "7", {"team": ("a",)})
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "x", "labels": {"app": "web"}},
}
CREATE_POD = AdmissionRequest(
    operation="CREATE",
    group="",
    version="v1",
    kind="Pod",
    resource="pods",
    user=ALICE,
    object=POD,
    name="p",
    namespace="x",
)
EVERYTHING = {
    "operations": ["*"],
    "apiGroups": ["*"],
    "apiVersions": ["*"],
    "resources": ["*/*"],
    "scope": "*",
}

Answer = Callable[[JsonObject], JsonObject]
"""The fields of a response that differ from plain consent, by the request."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Act = Callable[[list[JsonObject]], Awaitable[object]]


@dataclass
class Backend:
    """Plays webhooks: what was asked is noted, what to answer is set per path."""

    port: int
    ca_bundle: str
    asked: list[tuple[str, JsonObject]] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    handlers: dict[str, Handler] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        name = request.path.strip("/")
        if name in self.handlers:
            return await self.handlers[name](request)
        review = msgspec.json.decode(await request.read())
        self.asked.append((name, review["request"]))
        self.queries.append(request.query_string)
        response = {"uid": review["request"]["uid"], "allowed": True}
        if name in self.answers:
            response |= self.answers[name](review["request"])
        answer = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
        return web.json_response(answer)

    def names_asked(self) -> list[str]:
        return [name for name, _ in self.asked]

    def hook(self, name: str, **fields: Any) -> JsonObject:
        """A webhook named `{name}.example` that listens at `/{name}`."""
        return {
            "name": f"{name}.example",
            "clientConfig": {"url": f"https://127.0.0.1:{self.port}/{name}", "caBundle": self.ca_bundle},
            "rules": [EVERYTHING],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            **fields,
        }


def patching(*operations: JsonObject) -> Answer:
    patch = b64encode(msgspec.json.encode(list(operations))).decode()
    return lambda _request: {"patch": patch, "patchType": "JSONPatch"}


def setting_label(key: str, value: str = "set") -> Answer:
    return patching({"op": "add", "path": f"/metadata/labels/{key}", "value": value})


def denying(status: JsonObject | None = None) -> Answer:
    return lambda _request: {"allowed": False} | ({"status": status} if status else {})


def warning(*texts: str) -> Answer:
    return lambda _request: {"warnings": list(texts)}


@dataclass
class Configurations:
    """A source of webhook configurations: `{configuration name: webhooks}`."""

    mutating_hooks: dict[str, list[JsonObject]] = field(default_factory=dict)
    validating_hooks: dict[str, list[JsonObject]] = field(default_factory=dict)
    number: int = 1
    reads: int = 0

    def version(self) -> int:
        return self.number

    def mutating(self) -> Iterable[JsonObject]:
        self.reads += 1
        return [
            {"metadata": {"name": name}, "webhooks": hooks} for name, hooks in self.mutating_hooks.items()
        ]

    def validating(self) -> Iterable[JsonObject]:
        return [
            {"metadata": {"name": name}, "webhooks": hooks} for name, hooks in self.validating_hooks.items()
        ]


NAMESPACES: dict[str, Mapping[str, str]] = {"x": {"team": "red"}, "y": {"team": "blue"}}
SURROUNDINGS = Surroundings(namespace_labels=NAMESPACES.get)


@pytest.fixture(scope="session")
def authority() -> CertificateAuthority:
    return CertificateAuthority.create(datetime.now(UTC))


@pytest.fixture(scope="session")
def server_tls(authority: CertificateAuthority, tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    path: Path = tmp_path_factory.mktemp("tls") / "server.pem"
    pair = authority.issue_serving(["127.0.0.1", "hook.apps.svc"], datetime.now(UTC))
    path.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(path)
    return context


@pytest.fixture
async def backend(authority: CertificateAuthority, server_tls: ssl.SSLContext) -> AsyncIterator[Backend]:
    application = web.Application()
    runner = web.AppRunner(application, access_log=None)
    played = Backend(0, b64encode(authority.certificate).decode())
    application.router.add_route("*", "/{name:.*}", played.serve)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server_tls)
    await site.start()
    played.port = runner.addresses[0][1]
    yield played
    await runner.cleanup()


async def mutate(
    hooks: list[JsonObject] | Configurations,
    request: AdmissionRequest = CREATE_POD,
    surroundings: Surroundings = SURROUNDINGS,
) -> tuple[JsonObject | None, list[str]]:
    source = hooks if isinstance(hooks, Configurations) else Configurations(mutating_hooks={"c": hooks})
    webhooks = Webhooks(source, surroundings)
    try:
        return await webhooks.mutate(request)
    finally:
        await webhooks.close()


async def validate(
    hooks: list[JsonObject], request: AdmissionRequest = CREATE_POD, surroundings: Surroundings = SURROUNDINGS
) -> list[str]:
    webhooks = Webhooks(Configurations(validating_hooks={"c": hooks}), surroundings)
    try:
        return await webhooks.validate(request)
    finally:
        await webhooks.close()


async def refused(hooks: list[JsonObject], request: AdmissionRequest = CREATE_POD) -> StatusError:
    with pytest.raises(StatusError) as refusal:
        await validate(hooks, request)
    return refusal.value


def labels(tree: JsonObject | None) -> JsonObject:
    assert tree is not None
    found: JsonObject = tree["metadata"]["labels"]
    return found


# --- what a webhook is asked ---


async def test_webhook_is_asked_in_full(backend: Backend) -> None:
    await validate([backend.hook("a", timeoutSeconds=7)])
    ((_, asked),) = backend.asked
    assert asked.pop("uid")
    assert asked == {
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "p",
        "namespace": "x",
        "operation": "CREATE",
        "userInfo": {"username": "alice", "uid": "7", "groups": ["devs"], "extra": {"team": ["a"]}},
        "object": POD,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    assert backend.queries == ["timeout=7s"]


async def test_webhook_is_told_of_dry_runs_subresources_and_options(backend: Backend) -> None:
    request = replace(CREATE_POD, operation="UPDATE", old_object=POD, subresource="status", dry_run=True)
    await validate([backend.hook("a")], request)
    await validate([backend.hook("a")], replace(request, options={"fieldManager": "m"}))
    first, second = (asked for _, asked in backend.asked)
    assert (first["dryRun"], first["subResource"], first["requestSubResource"]) == (True, "status", "status")
    assert first["options"] == {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]}
    assert first["oldObject"] == POD
    assert second["options"] == {"fieldManager": "m"}


async def test_webhook_is_asked_in_the_version_it_prefers(backend: Backend) -> None:
    backend.answers["a"] = lambda _request: {"uid": "anything"}
    await validate([backend.hook("a", admissionReviewVersions=["v9", "v1beta1", "v1"])])
    assert backend.names_asked() == ["a"]


# --- which requests concern a webhook ---

UPDATE_SCALE = replace(
    CREATE_POD,
    operation="UPDATE",
    group="apps",
    kind="Scale",
    resource="deployments",
    subresource="scale",
    old_object=POD,
)
CREATE_NODE = replace(CREATE_POD, kind="Node", resource="nodes", namespaced=False, namespace="")
RULES: dict[str, tuple[JsonObject, AdmissionRequest, bool]] = {
    "operation": ({"operations": ["CREATE", "UPDATE"]}, CREATE_POD, True),
    "other operation": ({"operations": ["DELETE"]}, CREATE_POD, False),
    "group": ({"apiGroups": [""]}, CREATE_POD, True),
    "other group": ({"apiGroups": ["apps"]}, CREATE_POD, False),
    "version": ({"apiVersions": ["v1"]}, CREATE_POD, True),
    "other version": ({"apiVersions": ["v2"]}, CREATE_POD, False),
    "resource": ({"resources": ["pods"]}, CREATE_POD, True),
    "other resource": ({"resources": ["services"]}, CREATE_POD, False),
    "all resources, no subresources": ({"resources": ["*"]}, UPDATE_SCALE, False),
    "all resources": ({"resources": ["*"]}, CREATE_POD, True),
    "resource, not its subresources": ({"resources": ["deployments"]}, UPDATE_SCALE, False),
    "subresource": ({"resources": ["deployments/scale"]}, UPDATE_SCALE, True),
    "all subresources": ({"resources": ["deployments/*"]}, UPDATE_SCALE, True),
    "all subresources and itself": ({"resources": ["pods/*"]}, CREATE_POD, True),
    "this subresource of all": ({"resources": ["*/scale"]}, UPDATE_SCALE, True),
    "everything": ({"resources": ["*/*"]}, UPDATE_SCALE, True),
    "namespaced": ({"scope": "Namespaced"}, CREATE_POD, True),
    "namespaced, but it is not": ({"scope": "Namespaced"}, CREATE_NODE, False),
    "cluster": ({"scope": "Cluster"}, CREATE_NODE, True),
    "cluster, but it is not": ({"scope": "Cluster"}, CREATE_POD, False),
}


@pytest.mark.parametrize(("rule", "request_", "concerned"), RULES.values(), ids=RULES)
async def test_webhook_is_asked_where_a_rule_matches(
    backend: Backend, rule: JsonObject, request_: AdmissionRequest, concerned: bool
) -> None:
    await validate([backend.hook("a", rules=[{**EVERYTHING, **rule}])], request_)
    assert bool(backend.asked) is concerned


def named_namespace(
    operation: str, tree: JsonObject | None, old: JsonObject | None = None
) -> AdmissionRequest:
    return AdmissionRequest(
        operation,
        "",
        "v1",
        "Namespace",
        "namespaces",
        ALICE,
        tree,
        old,
        namespaced=False,
        name="x",
        namespace="x",
    )


BLUE = {"metadata": {"labels": {"team": "blue"}}}
SELECTED: dict[str, tuple[JsonObject, AdmissionRequest, bool]] = {
    "namespace": ({"namespaceSelector": {"matchLabels": {"team": "red"}}}, CREATE_POD, True),
    "other namespace": ({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, CREATE_POD, False),
    "cluster scope": ({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, CREATE_NODE, True),
    "new namespace by its new labels": (
        {"namespaceSelector": {"matchLabels": {"team": "blue"}}},
        named_namespace("CREATE", BLUE),
        True,
    ),
    "deleted namespace by its present labels": (
        {"namespaceSelector": {"matchLabels": {"team": "blue"}}},
        named_namespace("DELETE", None, BLUE),
        False,
    ),
    "object": ({"objectSelector": {"matchLabels": {"app": "web"}}}, CREATE_POD, True),
    "other object": (
        {"objectSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}},
        CREATE_POD,
        False,
    ),
    "old object": (
        {"objectSelector": {"matchLabels": {"team": "blue"}}},
        replace(CREATE_POD, operation="UPDATE", old_object=BLUE),
        True,
    ),
}


@pytest.mark.parametrize(("selector", "request_", "concerned"), SELECTED.values(), ids=SELECTED)
async def test_webhook_is_asked_where_its_selectors_match(
    backend: Backend, selector: JsonObject, request_: AdmissionRequest, concerned: bool
) -> None:
    await validate([backend.hook("a", **selector)], request_)
    assert bool(backend.asked) is concerned


async def test_namespace_selector_needs_the_namespace(backend: Backend) -> None:
    hook = backend.hook("a", namespaceSelector={"matchLabels": {"team": "red"}})
    refusal = await refused([hook], replace(CREATE_POD, namespace="gone"))
    assert (refusal.code, refusal.message) == (404, 'namespaces "gone" not found')


async def test_broken_selector_fails_only_requests_it_concerns(backend: Backend) -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}
    hook = backend.hook("a", objectSelector=selector, rules=[{**EVERYTHING, "resources": ["pods"]}])
    assert (await refused([hook])).code == 500
    assert await validate([hook], CREATE_NODE) == []


async def test_equivalent_webhook_sees_the_version_it_knows(backend: Backend) -> None:
    thing = {"apiVersion": "example.org/v2", "kind": "Thing", "metadata": {"name": "t", "labels": {}}}
    request = replace(
        CREATE_POD, group="example.org", version="v2", kind="Thing", resource="things", object=thing
    )
    around = replace(SURROUNDINGS, served_versions=lambda _group, _resource: ["v1", "v2"])
    rules = [{**EVERYTHING, "apiVersions": ["v1"]}]
    backend.answers["a"] = patching(
        {"op": "test", "path": "/apiVersion", "value": "example.org/v1"},
        {"op": "add", "path": "/metadata/labels/seen", "value": "yes"},
    )
    changed, _ = await mutate([backend.hook("a", rules=rules)], request, around)
    ((_, asked),) = backend.asked
    assert asked["kind"]["version"] == asked["resource"]["version"] == "v1"
    assert asked["requestKind"]["version"] == asked["requestResource"]["version"] == "v2"
    assert asked["object"]["apiVersion"] == "example.org/v1"
    assert changed == {**thing, "metadata": {"name": "t", "labels": {"seen": "yes"}}}
    await mutate([backend.hook("b", rules=rules, matchPolicy="Exact")], request, around)
    assert backend.names_asked() == ["a"]


@pytest.mark.parametrize("holds", [True, False])
async def test_match_conditions_are_left_to_their_evaluator(backend: Backend, holds: bool) -> None:
    conditions = [{"name": "c", "expression": "true"}]
    seen = []

    def evaluate(given: Any, request: AdmissionRequest, version: str) -> bool:
        seen.append((list(given), request, version))
        return holds

    around = replace(SURROUNDINGS, conditions_hold=evaluate)
    await validate([backend.hook("a", matchConditions=conditions), backend.hook("b")], surroundings=around)
    assert seen == [(conditions, CREATE_POD, "v1")]
    assert sorted(backend.names_asked()) == (["a", "b"] if holds else ["b"])


def unanswerable(*_: Any) -> bool:
    raise ConditionError("no such key: x")


async def test_match_conditions_that_fail_refuse_the_request(backend: Backend) -> None:
    hook = backend.hook("a", matchConditions=[{"name": "c", "expression": "object.x"}])
    with pytest.raises(StatusError) as refusal:
        await validate([hook], surroundings=replace(SURROUNDINGS, conditions_hold=unanswerable))
    assert (refusal.value.code, refusal.value.message) == (403, 'pods "p" is forbidden: no such key: x')
    assert backend.asked == []


async def test_match_conditions_that_fail_are_ignored_where_failures_are(backend: Backend) -> None:
    conditions = [{"name": "c", "expression": "object.x"}]
    hook = backend.hook("a", matchConditions=conditions, failurePolicy="Ignore")
    await validate([hook], surroundings=replace(SURROUNDINGS, conditions_hold=unanswerable))
    assert backend.asked == []


async def test_match_conditions_hold_without_an_evaluator(backend: Backend) -> None:
    await validate([backend.hook("a", matchConditions=[{"name": "c", "expression": "false"}])])
    assert backend.names_asked() == ["a"]


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
async def test_webhooks_have_no_say_in_webhook_configurations(backend: Backend, kind: str) -> None:
    request = replace(
        CREATE_POD, group="admissionregistration.k8s.io", kind=kind, namespaced=False, namespace=""
    )
    assert await validate([backend.hook("a")], request) == []
    assert await mutate([backend.hook("a")], request) == (POD, [])
    assert backend.asked == []


# --- mutation ---


async def test_mutating_webhooks_act_in_order_of_configuration_names(backend: Backend) -> None:
    backend.answers = {name: setting_label("last", name) for name in "abc"}
    source = Configurations({"second": [backend.hook("c")], "first": [backend.hook("b"), backend.hook("a")]})
    changed, _ = await mutate(source)
    assert backend.names_asked() == ["b", "a", "c"]
    assert labels(changed) == {"app": "web", "last": "c"}
    assert backend.asked[1][1]["object"]["metadata"]["labels"]["last"] == "b"
    assert labels(POD) == {"app": "web"}


async def test_selectors_see_what_earlier_webhooks_changed(backend: Backend) -> None:
    backend.answers["a"] = setting_label("app", "api")
    await mutate([backend.hook("a"), backend.hook("b", objectSelector={"matchLabels": {"app": "web"}})])
    assert backend.names_asked() == ["a"]


async def test_reinvocable_webhook_is_asked_again_after_a_later_change(backend: Backend) -> None:
    backend.answers["b"] = setting_label("b")
    await mutate([backend.hook("a", reinvocationPolicy="IfNeeded"), backend.hook("b"), backend.hook("c")])
    assert backend.names_asked() == ["a", "b", "c", "a"]


async def test_reinvocable_webhook_is_not_asked_again_for_its_own_change(backend: Backend) -> None:
    backend.answers["a"] = setting_label("a")
    await mutate([backend.hook("a", reinvocationPolicy="IfNeeded"), backend.hook("b")])
    assert backend.names_asked() == ["a", "b"]


async def test_reinvocation_reaches_webhooks_further_down_and_then_ends(backend: Backend) -> None:
    backend.answers["a"] = lambda request: setting_label("a", request["uid"])(request)
    backend.answers["b"] = lambda request: setting_label("b", request["uid"])(request)
    again = {"reinvocationPolicy": "IfNeeded"}
    await mutate([backend.hook("a", **again), backend.hook("b", **again)])
    assert backend.names_asked() == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    "answer",
    [
        lambda _request: {},
        patching(),
        patching({"op": "replace", "path": "/metadata/labels/app", "value": "web"}),
    ],
    ids=["no patch", "empty patch", "patch without effect"],
)
async def test_webhook_without_effect_changes_nothing(backend: Backend, answer: Answer) -> None:
    backend.answers["b"] = answer
    changed, _ = await mutate([backend.hook("a", reinvocationPolicy="IfNeeded"), backend.hook("b")])
    assert changed == POD
    assert backend.names_asked() == ["a", "b"]


async def test_patch_of_a_deletion_is_an_error(backend: Backend) -> None:
    backend.answers["a"] = setting_label("a")
    request = replace(CREATE_POD, operation="DELETE", object=None, old_object=POD)
    with pytest.raises(StatusError) as refusal:
        await mutate([backend.hook("a", failurePolicy="Ignore")], request)
    assert refusal.value.code == 500
    assert refusal.value.message == (
        'Internal error occurred: admission webhook "a.example" attempted to modify the object, '
        "which is not supported for this operation"
    )


async def test_patch_that_does_not_apply_is_an_error(backend: Backend) -> None:
    backend.answers["a"] = patching({"op": "remove", "path": "/spec/nowhere"})
    with pytest.raises(StatusError) as refusal:
        await mutate([backend.hook("a")])
    assert (refusal.value.code, refusal.value.reason) == (500, "InternalError")


# --- refusals and warnings ---

DENIALS: dict[str, tuple[JsonObject | None, int, str, str]] = {
    "with a message": (
        {"code": 403, "message": "no", "reason": "Forbidden"},
        403,
        "Forbidden",
        'admission webhook "a.example" denied the request: no',
    ),
    "with a reason": (
        {"reason": "Nope", "code": 422},
        422,
        "Nope",
        'admission webhook "a.example" denied the request: Nope',
    ),
    "without explanation": (
        None,
        400,
        "",
        'admission webhook "a.example" denied the request without explanation',
    ),
    "with a code of success": (
        {"code": 200, "message": "no"},
        400,
        "",
        'admission webhook "a.example" denied the request: no',
    ),
}


@pytest.mark.parametrize(("status", "code", "reason", "message"), DENIALS.values(), ids=DENIALS)
async def test_denial_is_passed_on(
    backend: Backend, status: JsonObject | None, code: int, reason: str, message: str
) -> None:
    backend.answers["a"] = denying(status)
    refusal = await refused([backend.hook("a", failurePolicy="Ignore")])
    assert (refusal.code, refusal.reason, refusal.message) == (code, reason, message)


async def test_denial_keeps_its_details(backend: Backend) -> None:
    details = {"causes": [{"field": "spec", "message": "bad"}]}
    backend.answers["a"] = denying({"code": 422, "message": "no", "details": details})
    assert (await refused([backend.hook("a")])).details == details


async def test_denial_by_a_mutating_webhook_ends_the_round(backend: Backend) -> None:
    backend.answers["a"] = denying({"message": "no"})
    with pytest.raises(StatusError, match="denied the request: no"):
        await mutate([backend.hook("a"), backend.hook("b")])
    assert backend.names_asked() == ["a"]


async def test_first_refusal_in_order_wins(backend: Backend) -> None:
    backend.answers = {"a": denying({"message": "first"}), "b": denying({"message": "second"})}
    assert (await refused([backend.hook("a"), backend.hook("b")])).message.endswith("first")


async def test_warnings_are_collected(backend: Backend) -> None:
    backend.answers = {"a": warning("one", "two"), "b": warning("three")}
    hooks = [backend.hook("a"), backend.hook("b")]
    assert sorted(await validate(hooks)) == ["one", "three", "two"]
    assert await mutate(hooks) == (POD, ["one", "two", "three"])


@pytest.mark.parametrize("act", [validate, mutate])
async def test_warnings_travel_with_a_refusal(backend: Backend, act: Act) -> None:
    backend.answers = {"a": lambda _request: {"allowed": False, "warnings": ["mind this"]}}
    with pytest.raises(StatusError, match="denied") as refusal:
        await act([backend.hook("a")])
    assert refusal.value.warnings == ["mind this"]


async def test_validating_webhooks_are_asked_at_once(backend: Backend) -> None:
    both_arrived = asyncio.Barrier(2)

    async def meet(request: web.Request) -> web.StreamResponse:
        review = msgspec.json.decode(await request.read())
        await both_arrived.wait()
        answer = {"uid": review["request"]["uid"], "allowed": True}
        return web.json_response({**review, "response": answer})

    backend.handlers = {"a": meet, "b": meet}
    assert await validate([backend.hook("a"), backend.hook("b")]) == []


@pytest.mark.parametrize(
    ("side_effects", "supported"),
    [("None", True), ("NoneOnDryRun", True), ("Some", False), ("Unknown", False)],
)
async def test_dry_run_spares_webhooks_with_side_effects(
    backend: Backend, side_effects: str, supported: bool
) -> None:
    hook = backend.hook("a", sideEffects=side_effects, failurePolicy="Ignore")
    request = replace(CREATE_POD, dry_run=True)
    if supported:
        assert await validate([hook], request) == []
    else:
        refusal = await refused([hook], request)
        assert (refusal.code, refusal.message) == (
            400,
            'admission webhook "a.example" does not support dry run',
        )
        assert backend.asked == []


# --- failures ---


def replying(status: int = 200, **fields: Any) -> Handler:
    async def reply(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, **fields)

    return reply


def reviewing(response: JsonObject | None = None, **fields: Any) -> Handler:
    """Answer with an AdmissionReview in which `fields` are not as they should be."""

    async def reply(request: web.Request) -> web.StreamResponse:
        asked = msgspec.json.decode(await request.read())
        given = {"uid": asked["request"]["uid"], "allowed": True, **(response or {})}
        answer = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": given,
            **fields,
        }
        return web.json_response(answer)

    return reply


INVALID = "received invalid webhook response: "
FAILURES: dict[str, tuple[Handler, str]] = {
    "server error": (
        replying(500, text="boom\n"),
        'failed to call webhook: an error on the server ("boom") has prevented the request from succeeding',
    ),
    "not found": (replying(404), "failed to call webhook: the server could not find the requested resource"),
    "forbidden": (replying(403, text="go away"), "failed to call webhook: go away"),
    "redirect": (
        replying(302, headers={"Location": "/b"}),
        "failed to call webhook: the server responded with the status code 302 but did not return more information",
    ),
    "not JSON": (
        replying(text="hello"),
        "failed to call webhook: couldn't get version/kind; json parse error: ",
    ),
    "wrong types": (
        reviewing(response={"allowed": "yes"}),
        "failed to call webhook: cannot unmarshal AdmissionReview: ",
    ),
    "empty": (
        replying(text=""),
        (
            "failed to call webhook: "
            "0-length response with status code: 200 and content type: text/plain; charset=utf-8"
        ),
    ),
    "too large": (
        replying(body=b" " * (LARGEST_ANSWER + 1)),
        f"failed to call webhook: the answer is larger than {LARGEST_ANSWER} bytes",
    ),
    "no response": (replying(text="{}"), f"{INVALID}webhook response was absent"),
    "another uid": (reviewing(response={"uid": "1"}), f'{INVALID}expected response.uid="'),
    "another version": (
        reviewing(apiVersion="admission.k8s.io/v2"),
        (
            f"{INVALID}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
            "got admission.k8s.io/v2, Kind=AdmissionReview"
        ),
    ),
    "no version": (
        reviewing(apiVersion="", kind=""),
        f"{INVALID}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    ),
}
MUTATION_FAILURES = {
    "patch without its type": (
        reviewing(response={"patch": b64encode(b"[]").decode()}),
        f"{INVALID}webhook returned response.patch but not response.patchType",
    ),
    "type without a patch": (
        reviewing(response={"patchType": "JSONPatch"}),
        f"{INVALID}webhook returned response.patchType but not response.patch",
    ),
    "empty type": (
        reviewing(response={"patch": b64encode(b"[]").decode(), "patchType": ""}),
        f'{INVALID}webhook returned invalid response.patchType of ""',
    ),
    "unknown type": (
        reviewing(response={"patch": b64encode(b'[{"op":"remove"}]').decode(), "patchType": "Merge"}),
        'unsupported patch type "Merge"',
    ),
    "patch that is none": (
        reviewing(response={"patch": b64encode(b"{}").decode(), "patchType": "JSONPatch"}),
        "received undecodable patch in webhook response: ",
    ),
}
VALIDATION_FAILURES = {
    "patch": (
        reviewing(response={"patch": b64encode(b"[]").decode()}),
        f"{INVALID}validating webhook may not return response.patch",
    ),
    "patch type": (
        reviewing(response={"patchType": "JSONPatch"}),
        f"{INVALID}validating webhook may not return response.patchType",
    ),
}


@pytest.mark.parametrize(("handler", "why"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("act", [validate, mutate])
async def test_failure_of_a_webhook_is_an_internal_error(
    backend: Backend,
    handler: Handler,
    why: str,
    act: Act,
) -> None:
    await _assert_failure(backend, handler, why, act)


@pytest.mark.parametrize(("handler", "why"), MUTATION_FAILURES.values(), ids=MUTATION_FAILURES)
async def test_mutating_webhook_must_answer_by_the_rules(
    backend: Backend, handler: Handler, why: str
) -> None:
    await _assert_failure(backend, handler, why, mutate)


@pytest.mark.parametrize(("handler", "why"), VALIDATION_FAILURES.values(), ids=VALIDATION_FAILURES)
async def test_validating_webhook_must_answer_by_the_rules(
    backend: Backend, handler: Handler, why: str
) -> None:
    await _assert_failure(backend, handler, why, validate)


async def _assert_failure(
    backend: Backend,
    handler: Handler,
    why: str,
    act: Act,
) -> None:
    backend.handlers["a"] = handler
    with pytest.raises(StatusError) as refusal:
        await act([backend.hook("a")])
    assert (refusal.value.code, refusal.value.reason) == (500, "InternalError")
    expected = f'Internal error occurred: failed calling webhook "a.example": {why}'
    assert refusal.value.message.startswith(expected)
    await act([backend.hook("a", failurePolicy="Ignore")])


async def test_ignored_failure_leaves_the_object_to_the_others(backend: Backend) -> None:
    backend.handlers["a"] = replying(500)
    backend.answers["b"] = setting_label("b")
    changed, _ = await mutate([backend.hook("a", failurePolicy="Ignore"), backend.hook("b")])
    assert labels(changed) == {"app": "web", "b": "set"}


async def test_redirects_are_not_followed(backend: Backend) -> None:
    backend.handlers["a"] = replying(307, headers={"Location": f"https://127.0.0.1:{backend.port}/b"})
    await validate([backend.hook("a", failurePolicy="Ignore")])
    assert backend.asked == []


async def test_slow_webhook_times_out(backend: Backend) -> None:
    never = asyncio.Event()

    async def hang(_request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response()

    backend.handlers["a"] = hang
    hook = backend.hook("a", timeoutSeconds=0.05)
    message = (await refused([hook])).message
    never.set()
    assert message == (
        'Internal error occurred: failed calling webhook "a.example": failed to call webhook: '
        f'Post "https://127.0.0.1:{backend.port}/a?timeout=0.05s": context deadline exceeded'
    )


async def test_broken_connection_is_a_failure(backend: Backend) -> None:
    async def hang_up(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    backend.handlers["a"] = hang_up
    assert (await refused([backend.hook("a")])).message.endswith(": EOF")


async def test_webhook_that_is_not_there_is_a_failure(backend: Backend, unused_tcp_port: int) -> None:
    url = f"https://127.0.0.1:{unused_tcp_port}/a"
    hook = backend.hook("a", clientConfig={"url": url, "caBundle": backend.ca_bundle})
    expected = (
        f': Post "{url}?timeout=10s": dial tcp 127.0.0.1:{unused_tcp_port}: connect: connection refused'
    )
    assert (await refused([hook])).message.endswith(expected)


@pytest.mark.parametrize(
    ("bundle", "why"),
    [
        ("", "tls: failed to verify certificate: x509: certificate signed by unknown authority"),
        (
            b64encode(CertificateAuthority.create(datetime.now(UTC)).certificate).decode(),
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        ),
        (
            b64encode(b"garbage").decode(),
            "unable to load root certificates: unable to parse bytes as PEM block",
        ),
    ],
    ids=["system authorities", "another authority", "garbage"],
)
async def test_untrusted_webhook_is_a_failure(backend: Backend, bundle: str, why: str) -> None:
    hook = backend.hook("a")
    hook["clientConfig"]["caBundle"] = bundle
    assert (await refused([hook])).message.endswith(why)
    assert backend.asked == []


async def test_webhook_must_be_who_its_url_says(backend: Backend) -> None:
    hook = backend.hook("a")
    hook["clientConfig"]["url"] = f"https://localhost:{backend.port}/a"
    expected = "tls: failed to verify certificate: x509: certificate is not valid for localhost"
    assert (await refused([hook])).message.endswith(expected)
    assert backend.asked == []


async def test_webhook_that_speaks_no_known_version_is_a_failure(backend: Backend) -> None:
    refusal = await refused([backend.hook("a", admissionReviewVersions=["v9"])])
    assert refusal.message.endswith(
        "could not create admission objects: "
        "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
    )


async def test_unreadable_url_is_a_failure(backend: Backend) -> None:
    refusal = await refused([backend.hook("a", clientConfig={"url": "https://[::1/a"})])
    assert 'failed to call webhook: Post "https://[::1/a?timeout=10s": ' in refusal.message


# --- services ---


async def test_webhook_behind_a_service_is_found_and_verified_by_its_name(backend: Backend) -> None:
    resolved = []

    def resolve(namespace: str, name: str, path: str, port: int) -> str:
        resolved.append((namespace, name, path, port))
        return f"https://127.0.0.1:{backend.port}{path}"

    around = replace(SURROUNDINGS, resolve_service=resolve)
    for name in ("hook", "other"):
        service = {"namespace": "apps", "name": name, "path": "/a"}
        client = {"service": service, "caBundle": backend.ca_bundle}
        await validate([backend.hook("a", clientConfig=client, failurePolicy="Ignore")], surroundings=around)
    assert resolved == [("apps", "hook", "/a", 443), ("apps", "other", "/a", 443)]
    assert backend.names_asked() == ["a"], "the certificate is not made out to the other service"


@pytest.mark.parametrize(
    ("details", "shown"),
    [({"port": 8443, "path": "/a?b"}, ":8443/a?b&timeout=10s"), ({}, ":443/?timeout=10s")],
)
async def test_service_that_does_not_exist_is_a_failure(
    backend: Backend, details: JsonObject, shown: str
) -> None:
    service = {"namespace": "apps", "name": "gone", **details}
    refusal = await refused([backend.hook("a", clientConfig={"service": service})])
    assert refusal.message.endswith(
        f'failed to call webhook: Post "https://gone.apps.svc{shown}": service "gone" not found'
    )


async def test_server_that_speaks_no_tls_is_a_failure(backend: Backend) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server:
        hook = backend.hook("a")
        hook["clientConfig"]["url"] = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/a"
        refusal = await refused([hook])
    assert "failed to call webhook: Post" in refusal.message


# --- configurations ---


async def test_cluster_without_webhooks_calls_nobody() -> None:
    webhooks = Webhooks(Configurations(), SURROUNDINGS)
    assert not webhooks.may_mutate()
    assert not webhooks.may_validate()
    assert await webhooks.mutate(CREATE_POD) == (POD, [])
    assert await webhooks.validate(CREATE_POD) == []
    await webhooks.close()


async def test_configurations_are_read_once_per_version(backend: Backend) -> None:
    source = Configurations()
    webhooks = Webhooks(source, SURROUNDINGS)
    assert [webhooks.may_mutate() for _ in range(3)] == [False, False, False]
    assert source.reads == 1
    source.mutating_hooks["c"] = [backend.hook("a")]
    source.number += 1
    assert webhooks.may_mutate()
    assert not webhooks.may_validate()
    assert source.reads == 2
