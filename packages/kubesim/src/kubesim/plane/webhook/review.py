"""What a webhook is asked and what it may answer: the AdmissionReview object in both directions.

Answers come from outside, so each rule that kube-apiserver holds them to is checked here, and broken rules are
reported in its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig_object
from kubesim.plane.errors import StatusError
from kubesim.plane.request import User

REVIEW_VERSIONS = ("v1", "v1beta1")
_OPTIONS_KIND = {
    "CREATE": "CreateOptions",
    "UPDATE": "UpdateOptions",
    "DELETE": "DeleteOptions",
    "CONNECT": "PodExecOptions",
}


class CallError(Exception):
    """A webhook that could not be asked or made no sense. Its failure policy decides what follows."""


class ConditionError(Exception):
    """Match conditions that could not be evaluated. The webhook's failure policy decides what follows."""


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One write that is about to happen. Deletions have only an old object, creations only a new one."""

    operation: str
    group: str
    version: str
    kind: str
    resource: str
    user: User
    object: JsonObject | None
    old_object: JsonObject | None = None
    kind_version: tuple[str, str] | None = None
    """Group and version of the kind where they are not the resource's: a Scale is always of `autoscaling/v1`."""
    subresource: str = ""
    namespaced: bool = True
    name: str = ""
    namespace: str = ""
    """The namespace of the object; of a Namespace object, its own name."""
    options: JsonObject | None = None
    dry_run: bool = False

    def review(self, uid: str, review_version: str, seen_version: str) -> JsonObject:
        """Return the question. `seen_version` is the version of the object in which the webhook wants to see it."""
        asked: JsonObject = {
            "uid": uid,
            "kind": self._kind(seen_version),
            "resource": {"group": self.group, "version": seen_version, "resource": self.resource},
            "requestKind": self._kind(self.version),
            "requestResource": {"group": self.group, "version": self.version, "resource": self.resource},
            "operation": self.operation,
            "userInfo": self.user.info(),
            "object": self.seen_as(self.object, seen_version),
            "oldObject": self.seen_as(self.old_object, seen_version),
            "dryRun": self.dry_run,
            "options": self.options or self._default_options(),
        }
        optional = {
            "subResource": self.subresource,
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
        }
        asked.update({key: value for key, value in optional.items() if value})
        return {
            "kind": "AdmissionReview",
            "apiVersion": f"admission.k8s.io/{review_version}",
            "request": asked,
        }

    def _kind(self, version: str) -> JsonObject:
        group, own_version = self.kind_version or (self.group, version)
        return {"group": group, "version": own_version, "kind": self.kind}

    def seen_as(self, tree: JsonObject | None, version: str) -> JsonObject | None:
        """Versions of one kind differ in `apiVersion` alone here, so changing it is the whole conversion."""
        if tree is None or version == self.version or self.kind_version is not None:
            return tree
        return {**tree, "apiVersion": f"{self.group}/{version}" if self.group else version}

    def _default_options(self) -> JsonObject:
        options: JsonObject = {"kind": _OPTIONS_KIND[self.operation], "apiVersion": "meta.k8s.io/v1"}
        return {**options, "dryRun": ["All"]} if self.dry_run else options


class Answer(msgspec.Struct, rename="camel"):
    """The `response` of an AdmissionReview. Audit annotations are for a log that does not exist here."""

    uid: str = ""
    allowed: bool = False
    status: dict[str, Any] | None = None
    patch: bytes | None = None
    patch_type: str | None = None
    warnings: list[str] | None = None

    def operations(self) -> list[JsonObject] | None:
        """Return the decoded JSON patch, `None` where there is nothing to change."""
        if not self.patch:
            return None
        try:
            operations = msgspec.json.decode(self.patch, type=list[dict[str, Any]])
        except msgspec.MsgspecError as error:
            raise CallError(f"received undecodable patch in webhook response: {error}") from error
        if operations and self.patch_type != "JSONPatch":
            raise CallError(f'unsupported patch type "{self.patch_type}"')
        return operations or None


class _AnsweredReview(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    response: Answer | None = None


def review_version_of(accepted: Sequence[str]) -> str:
    """Return the first version of AdmissionReview that both sides know."""
    for version in accepted:
        if version in REVIEW_VERSIONS:
            return version
    raise CallError(
        "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
    )


def read_answer(body: bytes, uid: str, review_version: str, *, mutating: bool) -> Answer:
    """Decode and check what a webhook answered. Raise CallError where it breaks a rule."""
    try:
        review = msgspec.json.decode(body, type=_AnsweredReview)
    except msgspec.ValidationError as error:
        raise CallError(f"failed to call webhook: cannot unmarshal AdmissionReview: {error}") from error
    except msgspec.DecodeError as error:
        raise CallError(
            f"failed to call webhook: couldn't get version/kind; json parse error: {error}"
        ) from error
    answer = review.response
    if answer is None:
        raise CallError("received invalid webhook response: webhook response was absent")
    if review_version == "v1beta1":
        # v1beta1 asked for none of what follows, and old webhooks rely on that
        answer.patch_type = "JSONPatch"
        return answer
    problem = _problem_of(review, answer, uid) or _problem_of_patch(answer, mutating=mutating)
    if problem:
        raise CallError(f"received invalid webhook response: {problem}")
    return answer


def _problem_of(review: _AnsweredReview, answer: Answer, uid: str) -> str:
    if answer.uid != uid:
        return f'expected response.uid="{uid}", got "{answer.uid}"'
    expected = "admission.k8s.io/v1, Kind=AdmissionReview"
    group, _, version = review.api_version.rpartition("/")
    got = f"{group}/{version}, Kind={review.kind}"
    return "" if got == expected else f"expected webhook response of {expected}, got {got}"


def _problem_of_patch(answer: Answer, *, mutating: bool) -> str:
    if not mutating:
        if answer.patch:
            return "validating webhook may not return response.patch"
        return "" if answer.patch_type is None else "validating webhook may not return response.patchType"
    if answer.patch and answer.patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    if not answer.patch and answer.patch_type is not None:
        return "webhook returned response.patchType but not response.patch"
    return 'webhook returned invalid response.patchType of ""' if answer.patch_type == "" else ""


def denial(hook_name: str, status: JsonObject | None) -> StatusError:
    """Return the refusal of a webhook, with the code, reason and details that it chose."""
    given = dig_object(status)
    denied = f'admission webhook "{hook_name}" denied the request'
    why = given.get("message") or given.get("reason")
    code = given.get("code")
    details = given.get("details")
    return StatusError(
        code if isinstance(code, int) and code >= 400 else 400,
        str(given.get("reason") or ""),
        f"{denied}: {why}" if why else f"{denied} without explanation",
        details=details if isinstance(details, dict) else None,
    )
