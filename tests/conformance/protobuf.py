"""Protobuf for tests: bodies to send, and what comes back."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane.protobuf import decode_protobuf, encode_protobuf
from kubesim.plane.wire import fields
from tests.conformance.client import Answer, Client

PROTOBUF = "application/vnd.kubernetes.protobuf"


def meaning(value: Any) -> Any:
    """A value without what only JSON writes: null for what is unset, and lists without items."""
    if isinstance(value, dict):
        return {key: meaning(held) for key, held in value.items() if held is not None and held != []}
    return [meaning(item) for item in value] if isinstance(value, list) else value


def decoded(answer: Answer, status: int = 200) -> JsonObject:
    """The object in an answer, which must be protobuf."""
    assert (answer.status, answer.content_type) == (status, PROTOBUF), answer.raw[:2000]
    return decode_protobuf(answer.raw)


def decoded_event(frame: bytes) -> JsonObject:
    """An event of a watch, with its object decoded."""
    event = {number: value for number, _, value in fields(frame) if isinstance(value, bytes)}
    ((_, _, encoded),) = fields(event[2])
    assert isinstance(encoded, bytes)
    return {"type": event[1].decode(), "object": decode_protobuf(encoded)}


async def create(api: Client, path: str, body: JsonObject, accept: str = PROTOBUF, **query: Any) -> Answer:
    return await api.request(
        "POST", path, encode_protobuf(body), content_type=PROTOBUF, accept=accept, **query
    )
