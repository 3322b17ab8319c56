"""Requests for verbs on kinds, as values: where they go and what they carry. Pure; `kube.client` sends them.

Names of objects come from users too, by way of references between objects, and become parts of paths here. A name that
would lead elsewhere is refused before anything is sent: one with a slash could reach another kind, and a delete with an
empty one would delete the whole collection.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.transport import ApiRequest

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_METADATA_LIST = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_METADATA = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind: all of them, or those of a namespace or with certain labels or fields.

    `metadata_only` asks for their metadata and nothing else (PartialObjectMetadata).
    """

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False

    def query(self) -> dict[str, str]:
        given = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Extent:
    """What a watch covers: from where, for how long, and what beside the changes."""

    resource_version: str
    timeout: timedelta
    bookmarks: bool = True
    initial_events: bool = False

    def query(self) -> dict[str, str]:
        query = {
            "resourceVersion": self.resource_version,
            "timeoutSeconds": str(max(1, round(self.timeout.total_seconds()))),
        }
        if self.bookmarks:
            query["allowWatchBookmarks"] = "true"
        if self.initial_events:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        return query


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must still be true of an object for it to be deleted."""

    uid: str = ""
    resource_version: str = ""

    def body(self) -> JsonObject:
        given = {"uid": self.uid, "resourceVersion": self.resource_version}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and how records and logs name it."""

    operation: str
    subject: str
    request: ApiRequest
    mutating: bool


def get(kind: Kind, key: Key) -> Call:
    request = _request("GET", object_path(kind, key))
    return Call(f"GET {kind.plural}", str(key), request, mutating=False)


def fetch(path: str, query: Mapping[str, str], accept: str) -> Call:
    """A document of the server that is no object of a kind, such as what it serves."""
    return Call(f"GET {path}", "", _request("GET", path, query, accept=accept), mutating=False)


def list_page(kind: Kind, selection: Selection, limit: int, token: str) -> Call:
    query = selection.query() | {"limit": str(limit)}
    if token:
        query["continue"] = token
    path = collection_path(kind, selection.namespace)
    request = _request("GET", path, query, accept=_METADATA_LIST if selection.metadata_only else JSON)
    return Call(f"LIST {kind.plural}", selection.namespace, request, mutating=False)


def watch(kind: Kind, selection: Selection, extent: Extent) -> Call:
    query = selection.query() | extent.query() | {"watch": "1"}
    path = collection_path(kind, selection.namespace)
    request = _request("GET", path, query, accept=_METADATA if selection.metadata_only else JSON)
    return Call(f"WATCH {kind.plural}", selection.namespace, request, mutating=False)


def create(kind: Kind, tree: JsonObject, namespace: str) -> Call:
    _check_scope(kind, namespace)
    name = dig(tree, "metadata", "name") or f"{dig(tree, 'metadata', 'generateName') or ''}*"
    request = _request("POST", collection_path(kind, namespace), body=_typed(kind, tree))
    return Call(f"POST {kind.plural}", str(Key(namespace, name)), request, mutating=True)


def review(kind: Kind, tree: JsonObject) -> Call:
    request = _request("POST", collection_path(kind, ""), body=_typed(kind, tree))
    return Call(f"POST {kind.plural}", "", request, mutating=False)


def replace(kind: Kind, key: Key, tree: JsonObject, subresource: str) -> Call:
    request = _request("PUT", object_path(kind, key, subresource), body=_typed(kind, tree))
    return _write(kind, key, subresource, request)


def patch(kind: Kind, key: Key, body: Any, content_type: str, subresource: str) -> Call:
    request = _request("PATCH", object_path(kind, key, subresource), body=body, content_type=content_type)
    return _write(kind, key, subresource, request)


def apply(kind: Kind, key: Key, fields: JsonObject, options: Mapping[str, str], subresource: str) -> Call:
    """`options` are the query parameters: the field manager, whether it takes fields from others, whether it is a trial."""
    identity = {"name": key.name, "namespace": key.namespace} if key.namespace else {"name": key.name}
    body = _typed(kind, {**fields, "metadata": {**fields.get("metadata", {}), **identity}})
    path = object_path(kind, key, subresource)
    call = _write(kind, key, subresource, _request("PATCH", path, options, body, APPLY_PATCH))
    return dataclasses.replace(call, mutating=False) if "dryRun" in options else call


def delete(kind: Kind, key: Key, preconditions: Preconditions, propagation: str) -> Call:
    options = _delete_options(preconditions, propagation)
    return _write(kind, key, "", _request("DELETE", object_path(kind, key), body=options))


def delete_collection(
    kind: Kind, selection: Selection, preconditions: Preconditions, propagation: str
) -> Call:
    """Raise InvalidError for a selection that selects everything: who wants that has to say so."""
    _check_scope(kind, selection.namespace)
    if not selection.query():
        raise InvalidError(
            400, "BadRequest", f"{kind.qualified_plural} are deleted by labels or fields, not all at once"
        )
    path = collection_path(kind, selection.namespace)
    options = _delete_options(preconditions, propagation)
    request = _request("DELETE", path, selection.query(), body=options)
    return Call(f"DELETECOLLECTION {kind.plural}", selection.namespace, request, mutating=True)


def _delete_options(preconditions: Preconditions, propagation: str) -> JsonObject:
    options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if expected := preconditions.body():
        options["preconditions"] = expected
    if propagation:
        options["propagationPolicy"] = propagation
    return options


def collection_path(kind: Kind, namespace: str) -> str:
    """Where the objects of a kind are: in one namespace, or in all of them where `namespace` is empty."""
    if namespace:
        _check_segment("namespace", namespace)
        _check_scope(kind, namespace)
    return kind.collection_path(namespace)


def object_path(kind: Kind, key: Key, subresource: str = "") -> str:
    """Where one object is. Raise InvalidError for a key that names none, or something else."""
    _check_scope(kind, key.namespace)
    if key.namespace:
        _check_segment("namespace", key.namespace)
    _check_segment("name", key.name)
    return kind.path(key, subresource)


def _check_segment(what: str, value: str) -> None:
    if not value or value in {".", ".."} or "/" in value or "%" in value:
        raise InvalidError(
            400, "BadRequest", f'{value!r} is no {what}: it is empty, "." or "..", or has "/" or "%"'
        )


def _check_scope(kind: Kind, namespace: str) -> None:
    if kind.namespaced and not namespace:
        raise InvalidError(400, "BadRequest", f"an object of {kind.qualified_plural} needs a namespace")
    if namespace and not kind.namespaced:
        raise InvalidError(400, "BadRequest", f"{kind.qualified_plural} are not in namespaces")


def _typed(kind: Kind, tree: JsonObject) -> JsonObject:
    """The object with its type, which objects that came out of a list may lack."""
    return {**tree, "apiVersion": kind.api_version, "kind": kind.kind}


def _write(kind: Kind, key: Key, subresource: str, request: ApiRequest) -> Call:
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    return Call(f"{request.method} {resource}", str(key), request, mutating=True)


def _request(
    method: str,
    path: str,
    query: Mapping[str, str] | None = None,
    body: Any = None,
    content_type: str = JSON,
    *,
    accept: str = JSON,
) -> ApiRequest:
    headers = {"accept": accept}
    if body is None:
        return ApiRequest(method, path, query or {}, headers)
    headers["content-type"] = content_type
    return ApiRequest(method, path, query or {}, headers, msgspec.json.encode(body))
