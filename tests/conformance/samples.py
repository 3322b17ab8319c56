"""Objects of every built-in kind, as a client would create them.

Most are those whose treatment by a real server is recorded for the unit tests; kinds that are only answered, never
stored, and those without a record follow here.
"""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from copy import deepcopy
from pathlib import Path

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.kinds.catalogue import ROWS, Row
from tests.conformance.kinds import CLAIMS, Kind
from tests.conformance.servers import ADMIN, TOKENS

_RECORDED = Path(__file__).parents[2] / "packages/kubesim/tests/plane/builtin/accepted.json"
_RECORDED_NAMESPACE = '"recorded"'
_RECORDED_GROUP = "example.com"
_DEFAULT_CLASS = "is-default-class"

_ATTRIBUTES = {"verb": "list", "resource": "configmaps", "namespace": "recorded"}
_AUTHENTICATION, _AUTHORIZATION = "authentication.k8s.io/v1", "authorization.k8s.io/v1"
_OWN: tuple[JsonObject, ...] = (
    CLAIMS.new(
        "claim",
        spec={
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    ),
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "class"},
        "provisioner": "a.b/c",
        "parameters": {"kind": "fast"},
        "mountOptions": ["ro"],
        "allowVolumeExpansion": False,
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}],
    },
    {"apiVersion": _AUTHENTICATION, "kind": "SelfSubjectReview"},
    {"apiVersion": _AUTHENTICATION, "kind": "TokenReview", "spec": {"token": TOKENS[ADMIN]}},
    {
        "apiVersion": _AUTHORIZATION,
        "kind": "LocalSubjectAccessReview",
        "metadata": {"namespace": "recorded"},
        "spec": {"resourceAttributes": _ATTRIBUTES, "user": "dora", "groups": ["readers", "writers"]},
    },
    {
        "apiVersion": _AUTHORIZATION,
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": _ATTRIBUTES},
    },
    {"apiVersion": _AUTHORIZATION, "kind": "SelfSubjectRulesReview", "spec": {"namespace": "recorded"}},
    {
        "apiVersion": _AUTHORIZATION,
        "kind": "SubjectAccessReview",
        "spec": {
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
            "user": "dora",
            "extra": {"scopes": ["a", "b"]},
        },
    },
)


def _by_kind() -> dict[tuple[str, str], list[JsonObject]]:
    recorded = [entry["sent"] for entry in json.loads(_RECORDED.read_text())]
    found: dict[tuple[str, str], list[JsonObject]] = defaultdict(list)
    for sample in (*recorded, *_OWN):
        found[sample["apiVersion"], sample["kind"]].append(sample)
    return found


_SAMPLES = _by_kind()


def kind_of(row: Row) -> Kind:
    return Kind(row.group, row.version, row.plural, row.kind, row.namespaced)


STORED = tuple(kind_of(row) for row in ROWS if "get" in row.verbs)
"""The built-in kinds whose objects are kept."""

ANSWERED = tuple(kind_of(row) for row in ROWS if "get" not in row.verbs)
"""The built-in kinds that are questions: created, answered and forgotten."""


def samples(kind: Kind, namespace: str) -> list[JsonObject]:
    """All objects of a kind, each under a name that nobody else uses."""
    return [_renamed(sample, namespace) for sample in _SAMPLES[kind.api_version, kind.kind]]


def fullest(kind: Kind, namespace: str) -> JsonObject:
    """The object of a kind that says most, stays where it is, and changes nothing about other objects."""
    harmless = [
        sample
        for sample in _SAMPLES[kind.api_version, kind.kind]
        if not dig(sample, "metadata", "ownerReferences")
        and _DEFAULT_CLASS not in json.dumps(dig(sample, "metadata"))
    ]
    return _renamed(max(harmless, key=lambda sample: len(json.dumps(sample))), namespace)


def _renamed(sample: JsonObject, namespace: str) -> JsonObject:
    suffix = secrets.token_hex(4)
    text = json.dumps(deepcopy(sample)).replace(_RECORDED_NAMESPACE, json.dumps(namespace))
    if sample["kind"] == "CustomResourceDefinition":
        text = text.replace(_RECORDED_GROUP, f"g{suffix}.conformance.example")
    renamed: JsonObject = json.loads(text)
    name = dig(renamed, "metadata", "name")
    if name and sample["kind"] != "CustomResourceDefinition":
        renamed["metadata"]["name"] = f"{name}-{suffix}"
    return renamed
