"""What happens between a valid request and the store: namespaces that accept objects, webhooks, RBAC's last word.

Built-in admission is a few plain functions; webhooks are called only where a configuration exists, so a cluster
without any pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.schema.field_error import invalid_value
from kubesim.plane.call import NAMESPACES, Call
from kubesim.plane.errors import forbidden, not_found
from kubesim.plane.kinds.prepare.service import HEADLESS, derived_cluster_ip
from kubesim.plane.replicas import scale_of, with_replicas
from kubesim.plane.resource import GroupResource
from kubesim.plane.webhook import AdmissionRequest, Webhooks

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE"]

SERVICES = GroupResource("", "services")
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
        request = admission_request(call, operation, new, old)
        changed, warnings = await self.webhooks.mutate(request)
        for warning in warnings:
            call.warn(warning)
        if changed is None or changed == request.object:
            return new
        if call.subresource == "scale":
            return with_replicas(call.resource, new, dig(changed, "spec", "replicas") or 0)
        return changed

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
    scaled = call.subresource == "scale"
    return AdmissionRequest(
        operation=operation,
        group=resource.group,
        version=resource.version,
        kind="Scale" if scaled else resource.kind,
        kind_version=("autoscaling", "v1") if scaled else None,
        resource=resource.plural,
        subresource=call.subresource,
        namespaced=resource.namespaced,
        name=dig(named, "metadata", "name") or call.info.name,
        namespace=call.namespace or (call.info.name if resource.stored_as == NAMESPACES else ""),
        user=call.user,
        object=_seen(call, new),
        old_object=_seen(call, old),
        options=_options(call, operation),
        dry_run=call.dry_run,
    )


def _seen(call: Call, tree: JsonObject | None) -> JsonObject | None:
    """An object as webhooks see it: of a scale subresource, its Scale."""
    return scale_of(call.resource, tree) if tree is not None and call.subresource == "scale" else tree


def _options(call: Call, operation: Operation) -> JsonObject:
    if operation == "DELETE":
        options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    else:
        kind = "CreateOptions" if operation == "CREATE" else "UpdateOptions"
        options = {"kind": kind, "apiVersion": "meta.k8s.io/v1", "fieldValidation": call.field_validation}
        if call.request.parameter("fieldManager"):
            options["fieldManager"] = call.field_manager
    return {**options, "dryRun": ["All"]} if call.dry_run else options


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


def addresses_are_free(
    call: Call, operation: Operation, new: JsonObject | None, old: JsonObject | None
) -> None:
    """Refuse a Service that asks for a cluster address which another one has."""
    if operation == "DELETE" or call.resource.stored_as != SERVICES or new is None:
        return
    address = dig(new, "spec", "clusterIP")
    # Addresses that the server chose are as good as unique, and nobody asked for them.
    if address in (None, HEADLESS, dig(old, "spec", "clusterIP"), derived_cluster_ip(new)):
        return
    own_key = (call.namespace, dig(new, "metadata", "name"))
    for item in call.collection.ordered():
        if item.key != own_key and dig(item.decode(), "spec", "clusterIP") == address:
            why = f"failed to allocate IP {address}: provided IP is already allocated"
            raise call.invalid(own_key[1], [invalid_value("spec.clusterIPs", [address], why)])


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
