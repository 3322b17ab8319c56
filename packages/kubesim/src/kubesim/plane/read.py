"""Get and list: selectors, pages that stay consistent while the world changes, and resourceVersion semantics.

A continue token names the revision of the first page and the last key served. The next page is computed from the
log at that revision, so the pages of one list are one snapshot, as they are in etcd. A token whose revision is no
longer in the log gets 410 with a fresh token that goes on from the same key, without the promise of one snapshot.
"""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Callable

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import FieldError
from edgekeeper.schema.gotext import parse_integer
from kubesim.plane.call import Call
from kubesim.plane.errors import StatusError, bad_request, expired, invalid, not_found
from kubesim.plane.kinds.fields import field_text
from kubesim.plane.render import Page, render_item, render_page
from kubesim.plane.request import Response
from kubesim.plane.resource import Resource
from kubesim.plane.selector import (
    FieldSelector,
    LabelSelector,
    parse_field_selector,
    parse_label_selector,
)
from kubesim.plane.store import CompactedError, Item, Key

CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class _Labels(msgspec.Struct):
    """Just enough of an object to match a label selector: decoding the rest would cost ten times as much."""

    class Metadata(msgspec.Struct):
        labels: dict[str, str] = {}

    metadata: Metadata


_decode_labels = msgspec.json.Decoder(_Labels).decode


class Selection:
    """The namespace and selectors of a list or watch, as one predicate on items."""

    def __init__(self, call: Call) -> None:
        self.namespace = call.namespace
        self.labels: LabelSelector = parse_label_selector(call.request.parameter("labelSelector"))
        self.fields: FieldSelector = parse_field_selector(call.request.parameter("fieldSelector"))
        self._resource = call.resource
        self._check_fields()
        self.everything = not self.namespace and not self.labels.requirements and not self.fields.requirements

    def matches(self, item: Item) -> bool:
        if self.namespace and item.key[0] != self.namespace:
            return False
        if self.labels.requirements and not self.labels.matches(_decode_labels(item.body).metadata.labels):
            return False
        return not self.fields.requirements or self.fields.matches(self._lookup(item))

    def _check_fields(self) -> None:
        known = {"metadata.name", "metadata.namespace", *self._resource.selectable_fields}
        if not self._resource.namespaced:
            known.discard("metadata.namespace")
        for requirement in self.fields.requirements:
            if requirement[0] not in known:
                raise self._unknown_field(requirement[0])

    def _unknown_field(self, path: str) -> StatusError:
        if self._resource.custom or self._resource.selectable_fields:
            return bad_request(f"field label not supported: {path}")
        return bad_request(
            f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        )

    def _lookup(self, item: Item) -> Callable[[str], str]:
        trees: list[JsonObject] = []

        def lookup(path: str) -> str:
            if path == "metadata.name":
                return item.key[1]
            if path == "metadata.namespace":
                return item.key[0]
            if not trees:
                trees.append(own_version(self._resource, item))
            return field_text(self._resource.kind, trees[0], path)

        return lookup


def own_version(resource: Resource, item: Item) -> JsonObject:
    tree = item.decode()
    return resource.from_storage(tree) if resource.from_storage is not None else tree


def get(call: Call) -> Response:
    item = call.current()
    if item is None:
        raise not_found(call.resource.group, call.resource.plural, call.info.name)
    revision = call.request.parameter("resourceVersion")
    if revision not in ("", "0") and parse_revision(revision) > call.cluster.store.revision:
        raise too_large_revision(parse_revision(revision), call.cluster.store.revision)
    return render_item(call, item)


def list_page(call: Call) -> Response:
    selection = Selection(call)
    limit = call.number("limit")
    call.number("timeoutSeconds")  # means nothing for a list, but has to be a number
    token = call.request.parameter("continue")
    revision, start = _starting_point(call, token)
    try:
        items = call.collection.at(revision)
    except CompactedError as error:
        raise _expired_list(call, token, start) from error
    if start is not None:
        items = items[bisect_right(items, start, key=lambda item: item.key) :]
    return render_page(call, _page(selection, items, revision, limit))


def _page(selection: Selection, items: list[Item], revision: int, limit: int) -> Page:
    if selection.everything and (not limit or limit >= len(items)):
        return Page(items, revision)
    chosen: list[Item] = []
    for index, item in enumerate(items):
        if not selection.matches(item):
            continue
        if limit and len(chosen) == limit:
            left = None
            if not selection.labels.requirements and not selection.fields.requirements:
                left = sum(selection.matches(other) for other in items[index:])
            return Page(chosen, revision, encode_continue(revision, chosen[-1].key), left)
        chosen.append(item)
    return Page(chosen, revision)


def _starting_point(call: Call, token: str) -> tuple[int, Key | None]:
    """Return the revision to list at, and the key after which to go on."""
    current = call.cluster.store.revision
    requested = call.request.parameter("resourceVersion")
    match = call.request.parameter("resourceVersionMatch")
    _check_version_match(call, requested, match, token)
    if token:
        revision, start = decode_continue(token)
        return (current if revision < 0 else revision), start
    if requested in ("", "0"):
        return current, None
    revision = parse_revision(requested)
    if revision > current:
        raise too_large_revision(revision, current)
    # A first page without a match rule and with a limit is served exactly at the version asked for.
    exact = match == "Exact" or (not match and call.number("limit") > 0)
    return (revision if exact else current), None


def _check_version_match(call: Call, requested: str, match: str, token: str) -> None:
    refuse = _list_options_error
    if call.flag("sendInitialEvents"):
        raise refuse("sendInitialEvents", "Forbidden", "sendInitialEvents is forbidden for list")
    if match and match not in ("Exact", "NotOlderThan"):
        raise refuse(
            "resourceVersionMatch", "Unsupported value", 'supported values: "Exact", "NotOlderThan"', match
        )
    if match and token:
        raise refuse(
            "resourceVersionMatch", "Forbidden", "resourceVersionMatch is forbidden when continue is provided"
        )
    if match and not requested:
        raise refuse(
            "resourceVersionMatch",
            "Forbidden",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        )
    if match == "Exact" and requested == "0":
        raise refuse(
            "resourceVersionMatch",
            "Forbidden",
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        )
    if token and requested not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")


def _list_options_error(field: str, problem: str, detail: str, *value: str) -> StatusError:
    return invalid("meta.k8s.io", "ListOptions", "", [FieldError(field, problem, detail, *value)])


def parse_revision(text: str) -> int:
    try:
        return parse_integer(text, signed=False)
    except ValueError as error:
        raise bad_request(f'resourceVersion: Invalid value: "{text}": {error}') from error


def too_large_revision(requested: int, current: int) -> StatusError:
    """504, as the real server answers after waiting for a revision that nobody has written."""
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return StatusError(504, "Timeout", message, details=details)


def encode_continue(revision: int, key: Key) -> str:
    raw = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": revision, "start": "/".join(key)})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode_continue(token: str) -> tuple[int, Key]:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        tree = msgspec.json.decode(raw)
        namespace, _, name = tree["start"].rpartition("/")
        return int(tree["rv"]), (namespace, name)
    except (ValueError, KeyError, TypeError, AttributeError, msgspec.DecodeError):
        raise bad_request(f"invalid continue token: continue key is not valid: {token!r}") from None


def _expired_list(call: Call, token: str, start: Key | None) -> StatusError:
    if not token or start is None:
        return expired("The resourceVersion for the provided list is too old.")
    return expired(CONTINUE_EXPIRED, {"continue": encode_continue(-1, start)})
