"""Admission webhooks: answers the AdmissionReviews that the API server sends before it stores an object.

A webhook is an async function from an `Admission` (the object, the old one, the user, the operation) to a `Decision`:

    async def no_shrinking(admission: Admission) -> Decision:
        if admission.old and dig(admission.object, "spec", "size") < dig(admission.old, "spec", "size"):
            return deny("size cannot shrink", cause("spec.size", "is smaller than before"))
        return allow()

    validating(WIDGET, validator)                       the rules of a kind (`runtime.validation`)
    Webhook(WIDGET, no_shrinking)                       a validator, at /validate-example-com-v1-widget
    Webhook(WIDGET, defaults, mutating=True)            a mutator, at /mutate-example-com-v1-widget

Every write of a kind waits for its webhook, so a response always comes in time: after five seconds, or when the function
raises, `on_error` decides. `deny` is the default, as with `failurePolicy: Fail`; `allow` admits the write with a
warning. The reconciler applies the same rules, because objects can be older than their webhook.

The endpoint has no authentication. A response contains nothing but the result of the rules for the object in the
request. Bodies that are too large, of another type or not a review get 4xx and one line of text.
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
"""In bytes: two objects of the maximum size that etcd stores, and the rest of a review."""
LONGEST_REVIEW = timedelta(seconds=5)
_API_VERSION = "admission.k8s.io/v1"


class GroupVersionKind(msgspec.Struct, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class Admission(msgspec.Struct, frozen=True, rename="camel"):
    """The request of an AdmissionReview. A creation has no old object, a deletion no new one."""

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
    """The result of a webhook."""

    allowed: bool
    status: JsonObject | None = None
    """The Kubernetes `Status` of a denial."""
    patch: tuple[JsonObject, ...] = ()
    """A JSON patch (RFC 6902), from mutators only."""
    warnings: tuple[str, ...] = ()
    """Shown by kubectl, whether the write is allowed or not."""


def allow(*warnings: str) -> Decision:
    return Decision(allowed=True, warnings=warnings)


def change(operations: Sequence[JsonObject], *warnings: str) -> Decision:
    """Allow the write, with the object changed by this JSON patch."""
    return Decision(allowed=True, patch=tuple(operations), warnings=warnings)


def deny(message: str, *causes: JsonObject, warnings: Sequence[str] = ()) -> Decision:
    """Deny the write: Forbidden, or Invalid with `causes` that name the fields."""
    status: JsonObject = {"message": message, "reason": "Forbidden", "code": 403}
    if causes:
        status.update(reason="Invalid", code=422, details={"causes": list(causes)})
    return Decision(allowed=False, status=status, warnings=tuple(warnings))


def cause(field: str, message: str, reason: str = "FieldValueInvalid") -> JsonObject:
    """The cause of a denial: what is wrong with one field."""
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
        """The path at which it is served, by the convention of controller-runtime."""
        verb = "mutate" if self.mutating else "validate"
        return f"/{verb}-{self.kind.group.replace('.', '-')}-{self.kind.version}-{self.kind.kind.lower()}"


def validating(kind: Kind, validator: Validator, on_error: Literal["deny", "allow"] = "deny") -> Webhook:
    """The webhook that applies the rules of a kind. Each problem is a cause of the refusal, with its field."""

    async def rule(admission: Admission) -> Decision:
        if _is_exempt(admission):
            return allow()
        problems = await validator.validate(admission.old, admission.object, admission.user)
        if not problems:
            return allow()
        message = "; ".join(f"{problem.field}: {problem.message}" for problem in problems)
        return deny(message, *(cause(problem.field, problem.message) for problem in problems))

    return Webhook(kind, rule, on_error=on_error)


def _is_exempt(admission: Admission) -> bool:
    """Whether the rules do not apply: the object is being deleted, or spec, labels and annotations are unchanged."""
    if dig(admission.object, "metadata", "deletionTimestamp"):
        return True
    if admission.object is None or admission.old is None:
        return False
    return _ruled(admission.old) == _ruled(admission.object)


def _ruled(obj: JsonObject) -> tuple[Any, ...]:
    return (
        obj.get("spec"),
        dig_object(obj, "metadata", "labels"),
        dig_object(obj, "metadata", "annotations"),
    )


class Admissions:
    """The HTTP handler of all webhooks: decodes reviews, applies the rules and counts the results."""

    def __init__(self, webhooks: Sequence[Webhook], metrics: Metrics) -> None:
        self._webhooks = {each.path: (each, metrics.webhook(each.path)) for each in webhooks}
        if len(self._webhooks) < len(webhooks):
            raise ValueError("a kind has at most one validating and one mutating webhook")

    async def handle(self, request: web.BaseRequest) -> web.Response:
        entry = self._webhooks.get(request.path)
        if entry is None:
            return refusal(404, "not found")
        webhook, tally = entry
        loop = asyncio.get_running_loop()
        began = loop.time()
        code = 499  # if the client closes the connection
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
        admission = _read(body, webhook)
    except _NoReviewError as error:
        return refusal(400, str(error))
    return _written(admission, await _decide(admission, webhook, tally))


class _NoReviewError(Exception):
    """The body is not an AdmissionReview that this webhook can answer."""


def _read(body: bytes, webhook: Webhook) -> Admission:
    try:
        review = msgspec.json.decode(body, type=_Review)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _NoReviewError(f"this is no AdmissionReview: {error}") from error
    if (review.api_version, review.kind) != (_API_VERSION, "AdmissionReview"):
        raise _NoReviewError(f"only an AdmissionReview of {_API_VERSION} is understood")
    admission = review.request
    if admission is None or not admission.uid:
        raise _NoReviewError("the review asks for nothing: it has no request with a uid")
    kind = webhook.kind
    if (admission.kind.group, admission.kind.kind) != (kind.group, kind.kind):
        raise _NoReviewError(f"this path reviews {kind.kind} of {kind.api_version}")
    return admission


async def _decide(admission: Admission, webhook: Webhook, tally: WebhookTally) -> Decision:
    about = {"webhook": webhook.path, "namespace": admission.namespace, "name": admission.name}
    try:
        async with asyncio.timeout(webhook.limit.total_seconds()):
            decision = await webhook.rule(admission)
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
    log.debug("Admission reviewed", allowed=decision.allowed, operation=admission.operation, **about)
    return decision


def _undecided(webhook: Webhook, why: str) -> Decision:
    message = f"the rule for {webhook.kind.kind} could not be checked: {why}"
    if webhook.on_error == "allow":
        return allow(message)
    return Decision(allowed=False, status={"message": message, "reason": "InternalError", "code": 500})


def _written(admission: Admission, decision: Decision) -> web.Response:
    answer: dict[str, Any] = {"uid": admission.uid, "allowed": decision.allowed}
    if decision.status is not None:
        answer["status"] = decision.status
    if decision.patch:
        patch = b64encode(msgspec.json.encode(decision.patch)).decode()
        answer.update(patchType="JSONPatch", patch=patch)
    if decision.warnings:
        answer["warnings"] = decision.warnings
    review = {"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": answer}
    return web.Response(body=msgspec.json.encode(review), content_type="application/json")
