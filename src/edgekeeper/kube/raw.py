"""Objects as the bytes they came as: who they are, and without what nobody needs.

Ten thousand objects cost half a second to decode and half a gigabyte to keep decoded. So nothing here builds a tree:
`peek` reads the five strings that identify an object, and `compact` cuts `managedFields` out of the bytes, which is
often half of them and is of no use to a controller.

Versions (`resourceVersion`) are compared for equality. Beyond that, Kubernetes has promised since 1.35 that those of
one resource are decimal numbers which grow; `is_older` makes use of it where both look like that, and claims nothing
where they do not.
"""

from __future__ import annotations

import sys

import msgspec

from edgekeeper.kube.kinds import Key, Kind


class MalformedObjectError(Exception):
    """Bytes that are no object of Kubernetes: no JSON, no name, or no version."""


class Header(msgspec.Struct, frozen=True, gc=False):
    """Who an object is, and which version of it these bytes are."""

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
    """Read who an object is. Raise MalformedObjectError where it does not say."""
    return _header(_parsed(raw))


def compact(raw: bytes, kind: Kind) -> tuple[Header, bytes]:
    """The object as it is worth keeping: without managedFields, and with its type.

    Items of lists may lack their type, and metadata that comes alone says that it is metadata.
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
    """Whether `version` is certainly older than `other`. Where they are not comparable, that is not certain."""
    if not (_is_comparable(version) and _is_comparable(other)):
        return False
    return (len(version), version) < (len(other), other)


def _is_comparable(version: str) -> bool:
    return version.isascii() and version.isdigit() and version[0] != "0"


def _parsed(raw: bytes) -> _Object:
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedObjectError(f"the object cannot be read: {error}") from error


def _header(parsed: _Object) -> Header:
    metadata = parsed.metadata
    if not metadata.name or not metadata.resource_version:
        raise MalformedObjectError("the object has no name or no resourceVersion")
    # Namespaces are few, and each of their objects would bring a copy of the name.
    key = Key(sys.intern(metadata.namespace), metadata.name)
    return Header(key, metadata.uid, metadata.resource_version)


def _check_text(raw: bytes) -> None:
    """Strings that the parser skipped may hold anything; better found here than by whoever decodes them."""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedObjectError(f"the object cannot be read: {error}") from error


def _without_managed_fields(raw: bytes, managed: bytes) -> bytes:
    """Cut the member out where it is certain which bytes it is, which it nearly always is; else take members apart."""
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
    # What the encoder returns has room to spare, and would keep it as long as the object is kept.
    return bytes(memoryview(_encode(tree)))


def _typed(raw: bytes, kind: Kind) -> bytes:
    start = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}",'.encode()
    # An object with a name has at least one member, so the comma is followed by something.
    return start + raw.lstrip()[1:]


def _typed_metadata(raw: bytes, kind: Kind) -> bytes:
    head = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}","metadata":'.encode()
    return head + bytes(_members(raw)["metadata"]) + b"}"
