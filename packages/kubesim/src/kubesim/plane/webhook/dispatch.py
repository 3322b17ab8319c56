"""All admission webhooks of a cluster: mutating ones one after another, then validating ones all at once.

Order and repetition follow kube-apiserver: configurations by name, and once more through those mutating webhooks that
ask for it (`reinvocationPolicy: IfNeeded`) if another one changed the object after their turn. Configurations of
webhooks are never shown to webhooks, or a broken one could not be repaired.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import aiohttp
import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError, bad_request, forbidden, internal
from kubesim.plane.patch import json_patch
from kubesim.plane.webhook.endpoint import ServiceResolver
from kubesim.plane.webhook.hook import Hook, NamespaceLabels, compile_hooks
from kubesim.plane.webhook.review import (
    AdmissionRequest,
    Answer,
    CallError,
    ConditionError,
    denial,
    read_answer,
    review_version_of,
)

_log = logging.getLogger(__name__)

_EXEMPT_GROUP = "admissionregistration.k8s.io"
_EXEMPT_KINDS = frozenset(
    {
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }
)


class ConfigurationSource(Protocol):
    """Where webhook configurations are read. The version changes whenever any of them does."""

    def version(self) -> int: ...

    def mutating(self) -> Iterable[JsonObject]: ...

    def validating(self) -> Iterable[JsonObject]: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What webhooks need to know of the cluster around them."""

    namespace_labels: NamespaceLabels
    resolve_service: ServiceResolver = lambda _namespace, _name, _path, _port: None
    served_versions: Callable[[str, str], Sequence[str]] = lambda _group, _resource: ()
    """The versions in which a resource `(group, plural)` is served, for the match policy Equivalent."""
    conditions_hold: Callable[[Sequence[JsonObject], AdmissionRequest, str], bool] | None = None
    """Evaluates match conditions (CEL) on a request as seen in a version; may raise `ConditionError`.

    Without it, conditions are taken to hold.
    """


@dataclass(frozen=True, slots=True)
class _Invocation:
    """A webhook that is to be asked, and the version in which it wants to see the object."""

    hook: Hook
    version: str


@dataclass(slots=True)
class _Mutation:
    """One request on its way through mutating webhooks, with a note of who must be asked again.

    A change concerns all reinvocable webhooks that were asked before it. The set may grow during the second round,
    too: a webhook further down may have to follow one that was called again.
    """

    request: AdmissionRequest
    warnings: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)

    def accept(self, hook: Hook, changed: JsonObject | None) -> None:
        if changed != self.request.object:
            self.request = replace(self.request, object=changed)
            self.again |= self.asked
            self.asked = set()
        if hook.reinvocable:
            self.asked.add(hook.key)


class Webhooks:
    """Calls the webhooks of one cluster. `close` ends the connections that calls have left open."""

    def __init__(self, source: ConfigurationSource, surroundings: Surroundings) -> None:
        self._source = source
        self._surroundings = surroundings
        self._session: aiohttp.ClientSession | None = None
        self._version: int | None = None
        self._mutating: tuple[Hook, ...] = ()
        self._validating: tuple[Hook, ...] = ()

    def may_mutate(self) -> bool:
        """Tell cheaply whether there is any mutating webhook at all."""
        self._refresh()
        return bool(self._mutating)

    def may_validate(self) -> bool:
        self._refresh()
        return bool(self._validating)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def mutate(self, request: AdmissionRequest) -> tuple[JsonObject | None, list[str]]:
        """Return the object as mutating webhooks want it, and their warnings. Raise the refusal of any of them."""
        self._refresh()
        if _is_exempt(request):
            return request.object, []
        mutation = _Mutation(request)
        hooks = self._mutating
        try:
            for hook in hooks:
                await self._mutate_by(hook, mutation)
            for hook in hooks:
                if hook.key in mutation.again:
                    await self._mutate_by(hook, mutation)
        except StatusError as refusal:
            refusal.warnings.extend(mutation.warnings)
            raise
        return mutation.request.object, mutation.warnings

    async def validate(self, request: AdmissionRequest) -> list[str]:
        """Ask all validating webhooks at once. Return their warnings; raise the first refusal in their order."""
        self._refresh()
        if _is_exempt(request):
            return []
        warnings: list[str] = []
        invocations = [found for hook in self._validating if (found := self._invocation(hook, request))]
        outcomes = await asyncio.gather(
            *(self._ask(invocation, request, warnings, mutating=False) for invocation in invocations),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, StatusError):
                outcome.warnings.extend(warnings)
            if isinstance(outcome, BaseException):
                raise outcome
        return warnings

    async def _mutate_by(self, hook: Hook, mutation: _Mutation) -> None:
        request = mutation.request
        invocation = self._invocation(hook, request)
        if invocation is None:
            return
        operations = await self._ask(invocation, request, mutation.warnings, mutating=True)
        changed = request.object if operations is None else _patched(invocation, request, operations)
        mutation.accept(hook, changed)

    def _invocation(self, hook: Hook, request: AdmissionRequest) -> _Invocation | None:
        around = self._surroundings
        version = hook.version_for(request, around.served_versions(request.group, request.resource))
        if version is None or not hook.selects(request, around.namespace_labels):
            return None
        if hook.conditions and not self._conditions_hold(hook, request, version):
            return None
        return _Invocation(hook, version)

    def _conditions_hold(self, hook: Hook, request: AdmissionRequest, version: str) -> bool:
        evaluate = self._surroundings.conditions_hold
        if evaluate is None:
            return True
        try:
            return evaluate(hook.conditions, request, version)
        except ConditionError as error:
            if hook.ignores_failures:
                return False
            raise forbidden(request.group, request.resource, request.name, str(error)) from error

    async def _ask(
        self, invocation: _Invocation, request: AdmissionRequest, warnings: list[str], *, mutating: bool
    ) -> list[JsonObject] | None:
        """Return the JSON patch that a webhook wants applied, `None` where it wants none. Raise its refusal."""
        hook = invocation.hook
        if request.dry_run and not hook.harmless_on_dry_run:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        try:
            answer = await self._call(invocation, request, mutating=mutating)
            warnings += answer.warnings or ()
            operations = answer.operations() if mutating and answer.allowed else None
        except CallError as error:
            message = f'failed calling webhook "{hook.name}": {error}'
            if not hook.ignores_failures:
                raise internal(message) from error
            _log.warning("ignored the failure of an admission webhook", extra={"failure": message})
            return None
        if not answer.allowed:
            raise denial(hook.name, answer.status)
        return operations

    async def _call(self, invocation: _Invocation, request: AdmissionRequest, *, mutating: bool) -> Answer:
        hook = invocation.hook
        uid = str(uuid.uuid4())
        review_version = review_version_of(hook.review_versions)
        body = msgspec.json.encode(request.review(uid, review_version, invocation.version))
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        reply = await hook.endpoint.post(
            self._session, body, hook.timeout, self._surroundings.resolve_service
        )
        return read_answer(reply, uid, review_version, mutating=mutating)

    def _refresh(self) -> None:
        version = self._source.version()
        if version != self._version:
            self._mutating = compile_hooks(self._source.mutating())
            self._validating = compile_hooks(self._source.validating())
            self._version = version


def _is_exempt(request: AdmissionRequest) -> bool:
    return request.group == _EXEMPT_GROUP and request.kind in _EXEMPT_KINDS


def _patched(invocation: _Invocation, request: AdmissionRequest, operations: list[JsonObject]) -> JsonObject:
    """Apply a webhook's patch to the object as the webhook saw it, and return it in its own version again."""
    seen = request.seen_as(request.object, invocation.version)
    if request.object is None or seen is None:
        raise internal(
            f'admission webhook "{invocation.hook.name}" attempted to modify the object, '
            "which is not supported for this operation"
        )
    try:
        patched = json_patch(seen, operations)
    except StatusError as error:
        raise internal(str(error.__cause__ or error)) from error
    if invocation.version != request.version:
        patched["apiVersion"] = request.object["apiVersion"]
    return patched
