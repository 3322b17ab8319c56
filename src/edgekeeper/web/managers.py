"""Who changed an object last, as its managedFields tell. Pure; accepts any content.

    last_manager(raw).shown      "kubectl apply", "Argo CD", "Helm", or the field manager itself

A field manager is the name that a client gives itself, and no proof of who it was. Deletions leave no trace there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from edgekeeper.controllers.composition.labels import CHILD_MANAGER, PARENT_MANAGER
from edgekeeper.core.json import JsonObject
from edgekeeper.core.redaction import redact_text

_STATUS: Final = "status"
_KUBECTL: Final = "kubectl"
_CLIENT_SIDE_APPLY: Final = "kubectl-client-side-apply"
_APPLY: Final = "Apply"
_LONGEST: Final = 80
_UP: Final = "edgekeeper-up"
"""Applies what people have written, for `edgekeeper up`."""
_PRODUCTS: Final = {
    "argocd-controller": "Argo CD",
    "argocd-application-controller": "Argo CD",
    "helm": "Helm",
    "kustomize-controller": "Flux (kustomize-controller)",
    "helm-controller": "Flux (helm-controller)",
    "Terraform": "Terraform",
    "pulumi-kubernetes": "Pulumi",
    CHILD_MANAGER: "edgekeeper, for a composed instance",
    _UP: "edgekeeper up",
}


class Manager(msgspec.Struct, frozen=True):
    """One entry of managedFields, without the fields."""

    manager: str = ""
    operation: str = ""
    time: str = ""
    subresource: str = ""

    @property
    def is_operator(self) -> bool:
        """Whether it is the operator itself, on behalf of nobody else."""
        is_ours = self.manager == "edgekeeper" or self.manager.startswith("edgekeeper-")
        return (is_ours and self.manager != _UP) or self.manager == PARENT_MANAGER

    @property
    def shown(self) -> str:
        """The client in words that people use."""
        name = redact_text(self.manager)[:_LONGEST]
        if name == _CLIENT_SIDE_APPLY:
            return "kubectl apply"
        if name == _KUBECTL and self.operation == _APPLY:
            return "kubectl apply --server-side"
        if name.startswith(f"{_KUBECTL}-"):
            return f"{_KUBECTL} {name.removeprefix(f'{_KUBECTL}-')}"
        return _PRODUCTS.get(name, name)


class _Metadata(msgspec.Struct):
    managed_fields: list[Manager] = msgspec.field(default_factory=list, name="managedFields")


class _Object(msgspec.Struct):
    metadata: _Metadata


_decode = msgspec.json.Decoder(_Object).decode


def last_manager(raw: bytes) -> Manager | None:
    """Who changed the object last, apart from its status; None if that is not known."""
    try:
        managers = _decode(raw).metadata.managed_fields
    except msgspec.DecodeError:
        return None
    return _last(managers)


def last_person(obj: JsonObject) -> Manager | None:
    """Who else than the operator changed an object last; None if that is not known."""
    try:
        managers = msgspec.convert(obj, _Object).metadata.managed_fields
    except msgspec.ValidationError:
        return None
    return _last([one for one in managers if not one.is_operator])


def _last(managers: Iterable[Manager]) -> Manager | None:
    writers = [one for one in managers if one.manager and one.subresource != _STATUS]
    return max(writers, key=lambda one: (one.time, not one.is_operator), default=None)
