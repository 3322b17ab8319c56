"""The Gateway API: its CustomResourceDefinitions, for a server that is asked to have them.

They are no built-in kinds: the server installs them as anyone would, and deletes them likewise. The data file is
written by `tools/gateway_crds.py`.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from edgekeeper.core.json import JsonObject

GROUP = "gateway.networking.k8s.io"
_DATA = Path(__file__).parent.parent / "data" / "gateway.json"
_APPROVAL = "https://github.com/kubernetes-sigs/gateway-api/pull/3328"


def gateway_crds() -> list[JsonObject]:
    """Return the manifests of GatewayClass, Gateway, HTTPRoute and ReferenceGrant, of the standard channel."""
    published = msgspec.json.decode(_DATA.read_bytes())
    return [_definition(kind, published["release"]) for kind in published["kinds"]]


def _definition(kind: JsonObject, release: str) -> JsonObject:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind['names']['plural']}.{GROUP}",
            "annotations": {
                # Groups that end in k8s.io need the approval of the Kubernetes project.
                "api-approved.kubernetes.io": _APPROVAL,
                "gateway.networking.k8s.io/bundle-version": release,
                "gateway.networking.k8s.io/channel": "standard",
            },
        },
        "spec": {
            "group": GROUP,
            "names": kind["names"],
            "scope": kind["scope"],
            "versions": [_version(kind, name) for name in kind["versions"]],
        },
    }


def _version(kind: JsonObject, name: str) -> JsonObject:
    version: JsonObject = {
        "name": name,
        "served": True,
        "storage": name == kind["stored"],
        "additionalPrinterColumns": kind["columns"],
        "schema": {"openAPIV3Schema": kind["schema"]},
    }
    if kind["status"]:
        version["subresources"] = {"status": {}}
    return version
