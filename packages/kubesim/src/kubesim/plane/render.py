"""From stored items to answers: bytes are spliced where possible, and decoded only for tables and conversions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import yaml

from edgekeeper.core.json import JsonObject
from kubesim.plane.body import JSON, PROTOBUF, YAML
from kubesim.plane.call import Call
from kubesim.plane.negotiate import Wanted
from kubesim.plane.protobuf import encode_protobuf
from kubesim.plane.request import JSON_TYPE, Response
from kubesim.plane.resource import Resource
from kubesim.plane.store import Item
from kubesim.plane.table import build_table

encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Page:
    """A list, or one page of it."""

    items: list[Item]
    revision: int
    continue_token: str = ""
    remaining: int | None = None

    def metadata(self, *, custom: bool = False) -> JsonObject:
        """The metadata of the list. Lists of custom resources say even that there is no next page."""
        metadata: JsonObject = {"resourceVersion": str(self.revision)}
        if self.continue_token or custom:
            metadata["continue"] = self.continue_token
        if self.remaining:
            metadata["remainingItemCount"] = self.remaining
        return metadata


def render_item(call: Call, item: Item, status: int = 200) -> Response:
    """Answer one object in the form the client wants."""
    wanted = call.negotiated()
    if wanted.form == "object" and wanted.media_type == JSON:
        return Response(status, item_bytes(call.resource, item))
    return render_tree(call, call.in_own_version(item), status)


def render_tree(call: Call, tree: JsonObject, status: int = 200) -> Response:
    """Answer an object that is not, or not yet, stored: dry runs, subresources, reviews."""
    wanted = call.negotiated()
    shown = tree
    if wanted.form == "table":
        shown = build_table(
            call, [tree], {"resourceVersion": tree["metadata"].get("resourceVersion", "")}, wanted
        )
    elif wanted.form == "partial":
        shown = partial(tree, wanted)
    return respond(shown, status, wanted.media_type)


def render_page(call: Call, page: Page) -> Response:
    wanted = call.negotiated()
    if wanted.form == "object" and wanted.media_type == JSON:
        return Response(200, _list_bytes(call.resource, page))
    trees = [call.in_own_version(item) for item in page.items]
    if wanted.form == "table":
        shown = build_table(call, trees, page.metadata(), wanted)
    elif wanted.form == "partial":
        shown = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"meta.k8s.io/{wanted.meta_version}",
            "metadata": page.metadata(),
            "items": [partial(tree, wanted) for tree in trees],
        }
    else:
        resource = call.resource
        shown = {
            "kind": resource.list_kind or f"{resource.kind}List",
            "apiVersion": resource.api_version,
            "metadata": page.metadata(),
            "items": trees,
        }
    return respond(shown, media_type=wanted.media_type)


def prettied(response: Response) -> Response:
    """Indent an answer for people, as `pretty=true` asks."""
    if response.stream is None and response.content_type == JSON_TYPE and response.body:
        response.body = msgspec.json.format(response.body, indent=2)
    return response


def respond(tree: JsonObject, status: int = 200, media_type: str = JSON) -> Response:
    """Answer a tree as it is."""
    return Response(status, encode_as(media_type, tree), media_type)


def encode_as(media_type: str, tree: JsonObject) -> bytes:
    if media_type == PROTOBUF:
        return encode_protobuf(tree)
    if media_type == YAML:
        text = yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=True, allow_unicode=True)
        return text.encode()
    return encode(tree)


def partial(tree: JsonObject, wanted: Wanted) -> JsonObject:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{wanted.meta_version}",
        "metadata": tree["metadata"],
    }


def item_bytes(resource: Resource, item: Item) -> bytes:
    """An item as a complete object in the resource's version."""
    return _head(resource.kind, resource.api_version) + _body(resource, item)[1:]


def _body(resource: Resource, item: Item) -> bytes:
    if resource.from_storage is None:
        return item.body
    tree = resource.from_storage(item.decode())
    tree.pop("apiVersion", None)
    tree.pop("kind", None)
    return encode(tree)


def _list_bytes(resource: Resource, page: Page) -> bytes:
    kind = resource.list_kind or f"{resource.kind}List"
    head = (
        _head(kind, resource.api_version)
        + b'"metadata":'
        + encode(page.metadata(custom=resource.custom))
        + b',"items":['
    )
    # Built-in kinds do not repeat kind and apiVersion in every item of a list; custom resources do.
    pieces: Iterable[bytes]
    if resource.custom:
        pieces = (item_bytes(resource, item) for item in page.items)
    else:
        pieces = (_body(resource, item) for item in page.items)
    return head + b",".join(pieces) + b"]}"


@lru_cache(maxsize=1024)
def _head(kind: str, api_version: str) -> bytes:
    return b'{"kind":%b,"apiVersion":%b,' % (encode(kind), encode(api_version))
