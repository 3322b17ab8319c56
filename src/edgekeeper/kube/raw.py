"""Objects as raw JSON: reads their identity and removes `managedFields` without decoding them.

Ten thousand objects cost half a second to decode and half a gigabyte to keep decoded. So nothing here builds a tree:
`peek` reads the five strings that identify an object, and `compact` cuts `managedFields` out of the bytes, which is
often half of them and is of no use to a controller.

Versions (`resourceVersion`) are compared for equality. Kubernetes guarantees since 1.35 that those of one resource are
increasing decimal numbers; `is_older` uses that if both are decimal, and returns False otherwise.
"""

from __future__ import annotations

import sys

import msgspec

from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.nesting import cut


class MalformedObjectError(Exception):
    """Bytes that are not a Kubernetes object: not JSON, without a name, or without a resourceVersion."""


class Header(msgspec.Struct, frozen=True, gc=False):
    """The key, uid and resourceVersion of an object."""

    key: Key
    uid: str
    resource_version: str


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    managed_fields: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="managedFields")


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata
    kind: str = ""


_PARTIAL = "PartialObjectMetadata"
_decode = msgspec.json.Decoder(_Object).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


def peek(raw: bytes) -> Header:
    """Read the header of an object. Raise MalformedObjectError if it has no name or resourceVersion."""
    return _header(_parsed(raw))


def compact(raw: bytes, kind: Kind) -> tuple[Header, bytes]:
    """The object as it is stored: without managedFields, and with its apiVersion and kind.

    Items of lists may lack them, and metadata-only objects have those of PartialObjectMetadata.
    """
    parsed = _parsed(raw)
    header = _header(parsed)
    if not raw.isascii():
        _check_text(raw)
    managed = bytes(parsed.metadata.managed_fields)
    if managed:
        raw = _without_managed_fields(raw, managed)
    if not parsed.kind:
        raw = _typed(raw, kind)
    elif parsed.kind == _PARTIAL:
        raw = _typed_metadata(raw, kind)
    return header, raw


def is_older(version: str, other: str) -> bool:
    """Whether `version` is certainly older than `other`. False if they are not comparable."""
    if not (_is_comparable(version) and _is_comparable(other)):
        return False
    return (len(version), version) < (len(other), other)


def _is_comparable(version: str) -> bool:
    return version.isascii() and version.isdigit() and version[0] != "0"


def _parsed(raw: bytes) -> _Object:
    try:
        return _decode(raw)
    except RecursionError:
        return _parsed(cut(raw))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedObjectError(f"the object cannot be read: {error}") from error


def _header(parsed: _Object) -> Header:
    metadata = parsed.metadata
    if not metadata.name or not metadata.resource_version:
        raise MalformedObjectError("the object has no name or no resourceVersion")
    # Interned, because many objects share a namespace.
    key = Key(sys.intern(metadata.namespace), metadata.name)
    return Header(key, metadata.uid, metadata.resource_version)


def _check_text(raw: bytes) -> None:
    """Check that the bytes are UTF-8, which the parser does not do for strings that it skips."""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedObjectError(f"the object cannot be read: {error}") from error


def _without_managed_fields(raw: bytes, managed: bytes) -> bytes:
    """Cut the member out of the bytes if it occurs exactly once, which is the usual case; else decode the members."""
    member = b'"managedFields":' + managed
    start = raw.find(member)
    end = start + len(member)
    if start < 0 or raw.find(member, end) >= 0:
        return _without_managed_fields_slowly(raw)
    if raw[end : end + 1] == b",":
        return raw[:start] + raw[end + 1 :]
    if raw[start - 1 : start] == b",":
        return raw[: start - 1] + raw[end:]
    return _without_managed_fields_slowly(raw)


def _without_managed_fields_slowly(raw: bytes) -> bytes:
    tree = _members(raw)
    metadata = _members(tree["metadata"])
    del metadata["managedFields"]
    tree["metadata"] = msgspec.Raw(_encode(metadata))
    # Copied, because the buffer of the encoder is larger than its content.
    return bytes(memoryview(_encode(tree)))


def _typed(raw: bytes, kind: Kind) -> bytes:
    start = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}",'.encode()
    # An object with a name has at least one member, so the comma is valid.
    return start + raw.lstrip()[1:]


def _typed_metadata(raw: bytes, kind: Kind) -> bytes:
    head = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}","metadata":'.encode()
    return head + bytes(_members(raw)["metadata"]) + b"}"
