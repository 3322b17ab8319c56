"""What happens between a valid request and the store: namespaces that accept objects, webhooks, RBAC's last word.

Built-in admission is a few plain functions; webhooks are called only where a configuration exists, so a cluster
without any pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.local.plane.call import NAMESPACES, Call
from edgekeeper.local.plane.errors import forbidden, not_found
from edgekeeper.local.plane.webhook import AdmissionRequest, Webhooks

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE"]

IMMORTAL_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})
_ACCESS_REVIEWS = frozenset({"localsubjectaccessreviews"})


@dataclass(slots=True)
class Admission:
    """The admission chain of one cluster."""

    webhooks: Webhooks
    guards: list[Callable[[Call, Operation, JsonObject | None, JsonObject | None], None]] = field(
        default_factory=list
    )
    """Checks that raise a StatusError to refuse: `(call, operation, new, old)`. RBAC adds its escalation check."""

    async def mutate(
        self, call: Call, operation: Operation, new: JsonObject, old: JsonObject | None
    ) -> JsonObject:
        """Let mutating webhooks change an object. Returns the same object where none is concerned."""
        if not self.webhooks.may_mutate():
            return new
        changed, warnings = await self.webhooks.mutate(admission_request(call, operation, new, old))
        for warning in warnings:
            call.warn(warning)
        return changed if changed is not None else new

    async def validate(
        self, call: Call, operation: Operation, new: JsonObject | None, old: JsonObject | None
    ) -> None:
        """Raise the refusal of the first guard or webhook that objects."""
        for guard in self.guards:
            guard(call, operation, new, old)
        if self.webhooks.may_validate():
            for warning in await self.webhooks.validate(admission_request(call, operation, new, old)):
                call.warn(warning)


def admission_request(
    call: Call, operation: Operation, new: JsonObject | None, old: JsonObject | None
) -> AdmissionRequest:
    resource = call.resource
    named = new if new is not None else old
    return AdmissionRequest(
        operation=operation,
        group=resource.group,
        version=resource.version,
        kind=resource.kind,
        resource=resource.plural,
        subresource=call.subresource,
        namespaced=resource.namespaced,
        name=dig(named, "metadata", "name") or call.info.name,
        namespace=call.namespace or (call.info.name if resource.stored_as == NAMESPACES else ""),
        user=call.user,
        object=new,
        old_object=old,
        dry_run=call.dry_run,
    )


def namespace_accepts_objects(
    call: Call, operation: Operation, new: JsonObject | None, _old: JsonObject | None
) -> None:
    """Refuse to create in a namespace that does not exist or is going away; protect the namespaces that must stay."""
    resource = call.resource
    if operation == "DELETE" and resource.stored_as == NAMESPACES and call.info.name in IMMORTAL_NAMESPACES:
        raise forbidden("", "namespaces", call.info.name, "this namespace may not be deleted")
    if (
        operation != "CREATE"
        or not resource.namespaced
        or call.subresource
        or resource.plural in _ACCESS_REVIEWS
    ):
        return
    namespace = call.cluster.store.collection(NAMESPACES).items.get(("", call.namespace))
    if namespace is None:
        raise not_found("", "namespaces", call.namespace)
    # Parsing every namespace on every create would be waste: the marker only ever appears in one form.
    if b'"deletionTimestamp"' in namespace.body and dig(namespace.decode(), "metadata", "deletionTimestamp"):
        raise _terminating(call, dig_object(new, "metadata").get("name", ""))


def _terminating(call: Call, name: str) -> Exception:
    why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
    error = forbidden(call.resource.group, call.resource.plural, name, why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {call.namespace} is being terminated",
        "field": "metadata.namespace",
    }
    error.details = {**(error.details or {}), "causes": [cause]}
    return error
