"""Admission webhooks: what the API server asks us before it stores an object, and what we answer.

A webhook is an async function from an `Admission` (the object, the old one, the user, the operation) to a `Decision`:

    async def no_shrinking(asked: Admission) -> Decision:
        if asked.old and dig(asked.object, "spec", "size") < dig(asked.old, "spec", "size"):
            return deny("size cannot shrink", cause("spec.size", "is smaller than before"))
        return allow()

    validating(WIDGET, validator)                       the rules of a kind (`runtime.validation`)
    Webhook(WIDGET, no_shrinking)                       a validator, at /validate-example-com-v1-widget
    Webhook(WIDGET, defaults, mutating=True)            a mutator, at /mutate-example-com-v1-widget

A webhook stands in the way of every write of its kind, so it never hangs and never breaks: after five seconds, or when
it raises, `on_error` decides. `deny` is the default, as with `failurePolicy: Fail`; `allow` lets the write pass with a
warning. The same rules run in the reconciler anyway, since objects can be older than their webhook.

Anybody can connect here, and learns nothing but what a rule says about an object that they sent themselves. Bodies that
are too large, in another form or no review get 4xx and one line of text.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import msgspec
from aiohttp import web

from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.log import get_logger
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.runtime.http_server import read_body, refusal
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.tallies import WebhookTally
from edgekeeper.runtime.validation import User, Validator

__all__ = [
    "LARGEST_REVIEW",
    "LONGEST_REVIEW",
    "Admission",
    "Admissions",
    "Decision",
    "GroupVersionKind",
    "User",
    "Webhook",
    "allow",
    "cause",
    "change",
    "deny",
    "validating",
]

log = get_logger(__name__)

LARGEST_REVIEW = 3 * 1024 * 1024 + 64 * 1024
"""Bytes: two objects of the size that etcd stores at most, and what a review says beside them."""
LONGEST_REVIEW = timedelta(seconds=5)
_API_VERSION = "admission.k8s.io/v1"


class GroupVersionKind(msgspec.Struct, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class Admission(msgspec.Struct, frozen=True, rename="camel"):
    """One write that is about to happen. A creation has no old object, a deletion no new one."""

    uid: str
    kind: GroupVersionKind
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    user: User = msgspec.field(default=User(), name="userInfo")
    object: JsonObject | None = None
    old: JsonObject | None = msgspec.field(default=None, name="oldObject")
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    dry_run: bool | None = False

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class _Review(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: Admission | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a webhook says."""

    allowed: bool
    status: JsonObject | None = None
    """Why not: a `Status` of Kubernetes."""
    patch: tuple[JsonObject, ...] = ()
    """What to change: operations of RFC 6902, from mutators only."""
    warnings: tuple[str, ...] = ()
    """Shown by kubectl, whatever the decision."""


def allow(*warnings: str) -> Decision:
    return Decision(allowed=True, warnings=warnings)


def change(operations: Sequence[JsonObject], *warnings: str) -> Decision:
    """Allow it, changed by these operations."""
    return Decision(allowed=True, patch=tuple(operations), warnings=warnings)


def deny(message: str, *causes: JsonObject, warnings: Sequence[str] = ()) -> Decision:
    """Refuse. With causes the refusal says which fields are wrong, as a schema would."""
    status: JsonObject = {"message": message, "reason": "Forbidden", "code": 403}
    if causes:
        status.update(reason="Invalid", code=422, details={"causes": list(causes)})
    return Decision(allowed=False, status=status, warnings=tuple(warnings))


def cause(field: str, message: str, reason: str = "FieldValueInvalid") -> JsonObject:
    """What is wrong with one field."""
    return {"reason": reason, "message": message, "field": field}


Rule = Callable[[Admission], Awaitable[Decision]]


@dataclass(frozen=True, slots=True)
class Webhook:
    """A rule for one kind."""

    kind: Kind
    rule: Rule
    mutating: bool = False
    on_error: Literal["deny", "allow"] = "deny"
    limit: timedelta = LONGEST_REVIEW

    @property
    def path(self) -> str:
        """Where it is served, by the convention of controller-runtime."""
        verb = "mutate" if self.mutating else "validate"
        return f"/{verb}-{self.kind.group.replace('.', '-')}-{self.kind.version}-{self.kind.kind.lower()}"


def validating(kind: Kind, validator: Validator, on_error: Literal["deny", "allow"] = "deny") -> Webhook:
    """The webhook that applies the rules of a kind. Each problem is a cause of the refusal, with its field."""

    async def rule(asked: Admission) -> Decision:
        if _is_exempt(asked):
            return allow()
        problems = await validator.validate(asked.old, asked.object, asked.user)
        if not problems:
            return allow()
        told = "; ".join(f"{problem.field}: {problem.message}" for problem in problems)
        return deny(told, *(cause(problem.field, problem.message) for problem in problems))

    return Webhook(kind, rule, on_error=on_error)


def _is_exempt(asked: Admission) -> bool:
    """Whether a write must pass, whatever the rules say now: finalizers go, and metadata of old objects is written."""
    if dig(asked.object, "metadata", "deletionTimestamp"):
        return True
    if asked.object is None or asked.old is None:
        return False
    return _ruled(asked.old) == _ruled(asked.object)


def _ruled(obj: JsonObject) -> tuple[Any, ...]:
    return (
        obj.get("spec"),
        dig_object(obj, "metadata", "labels"),
        dig_object(obj, "metadata", "annotations"),
    )


class Admissions:
    """Answers reviews."""

    def __init__(self, webhooks: Sequence[Webhook], metrics: Metrics) -> None:
        self._webhooks = {each.path: (each, metrics.webhook(each.path)) for each in webhooks}
        if len(self._webhooks) < len(webhooks):
            raise ValueError("a kind has at most one validating and one mutating webhook")

    async def handle(self, request: web.BaseRequest) -> web.Response:
        found = self._webhooks.get(request.path)
        if found is None:
            return refusal(404, "not found")
        webhook, tally = found
        loop = asyncio.get_running_loop()
        began = loop.time()
        code = 499  # the caller left
        tally.review_started()
        try:
            response = await _answer(request, webhook, tally)
            code = response.status
        finally:
            tally.review_ended(code, loop.time() - began)
        return response


async def _answer(request: web.BaseRequest, webhook: Webhook, tally: WebhookTally) -> web.Response:
    if request.method != "POST":
        return refusal(405, "reviews are posted")
    if request.content_type != "application/json" or "Content-Encoding" in request.headers:
        return refusal(415, "a review is application/json, and not compressed")
    body = await read_body(request, LARGEST_REVIEW)
    if body is None:
        return refusal(413, f"a review has at most {LARGEST_REVIEW} bytes")
    try:
        asked = _read(body, webhook)
    except _NoReviewError as error:
        return refusal(400, str(error))
    return _written(asked, await _decide(asked, webhook, tally))


class _NoReviewError(Exception):
    """What was posted is no review that this webhook could answer."""


def _read(body: bytes, webhook: Webhook) -> Admission:
    try:
        review = msgspec.json.decode(body, type=_Review)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _NoReviewError(f"this is no AdmissionReview: {error}") from error
    if (review.api_version, review.kind) != (_API_VERSION, "AdmissionReview"):
        raise _NoReviewError(f"only an AdmissionReview of {_API_VERSION} is understood")
    asked = review.request
    if asked is None or not asked.uid:
        raise _NoReviewError("the review asks for nothing: it has no request with a uid")
    kind = webhook.kind
    if (asked.kind.group, asked.kind.kind) != (kind.group, kind.kind):
        raise _NoReviewError(f"this path reviews {kind.kind} of {kind.api_version}")
    return asked


async def _decide(asked: Admission, webhook: Webhook, tally: WebhookTally) -> Decision:
    about = {"webhook": webhook.path, "namespace": asked.namespace, "name": asked.name}
    try:
        async with asyncio.timeout(webhook.limit.total_seconds()):
            decision = await webhook.rule(asked)
    except TimeoutError:
        log.warning("Admission rule took too long", **about)
        return _undecided(webhook, f"it did not decide within {webhook.limit.total_seconds():g} s")
    except Exception:
        tally.panicked()
        log.exception("Admission rule failed", **about)
        return _undecided(webhook, "it failed")
    if decision.patch and not webhook.mutating:
        tally.panicked()
        log.error("Validator wants to change the object", **about)
        return _undecided(webhook, "it failed")
    log.debug("Admission reviewed", allowed=decision.allowed, operation=asked.operation, **about)
    return decision


def _undecided(webhook: Webhook, why: str) -> Decision:
    told = f"the rule for {webhook.kind.kind} could not be checked: {why}"
    if webhook.on_error == "allow":
        return allow(told)
    return Decision(allowed=False, status={"message": told, "reason": "InternalError", "code": 500})


def _written(asked: Admission, decision: Decision) -> web.Response:
    answer: dict[str, Any] = {"uid": asked.uid, "allowed": decision.allowed}
    if decision.status is not None:
        answer["status"] = decision.status
    if decision.patch:
        patch = b64encode(msgspec.json.encode(decision.patch)).decode()
        answer.update(patchType="JSONPatch", patch=patch)
    if decision.warnings:
        answer["warnings"] = decision.warnings
    review = {"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": answer}
    return web.Response(body=msgspec.json.encode(review), content_type="application/json")
