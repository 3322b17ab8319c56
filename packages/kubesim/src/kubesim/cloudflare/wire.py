"""Requests and answers of the simulated API: the envelope, its pages and its refusals.

Every answer of Cloudflare has one shape. `result` is null where `errors` say why; creates answer 200, not 201.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject

JSON = "application/json"
_DNS_VALIDATION = frozenset({*range(9000, 9100), 9207, 9208, 9300, 9301})


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrives."""

    method: str
    path: str
    """Below the base and as it was sent, such as `/zones/<id>/dns_records`."""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Header names are lower case."""
    body: bytes = b""
    peer: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Response:
    """One answer as it leaves."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """Header names are lower case."""


@dataclass(frozen=True, slots=True)
class Result:
    """What an operation came to, before it is wrapped."""

    result: Any
    info: JsonObject | None = None
    messages: tuple[tuple[int, str], ...] = ()


class Refusal(Exception):  # noqa: N818 - the provider's answer, not a failure of the simulator
    """The API says no, with a code and a sentence."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(f"{status} {code} {message}")
        self.status = status
        self.code = code
        self.message = message
        self.headers: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Paging:
    """How a collection is cut into pages."""

    default: int
    most: int
    least: int = 1
    tells_pages: bool = True
    """Tunnels leave `total_pages` out."""


def accepted(outcome: Result) -> Response:
    envelope: JsonObject = {
        "result": outcome.result,
        "success": True,
        "errors": [],
        "messages": [{"code": code, "message": text} for code, text in outcome.messages],
    }
    if outcome.info is not None:
        envelope["result_info"] = outcome.info
    return Response(200, msgspec.json.encode(envelope), {"content-type": JSON})


def refused(refusal: Refusal, *, chained: bool = False) -> Response:
    """A refusal in its envelope; `chained` wraps validation errors of DNS as the API did until late in 2024."""
    error: JsonObject = {"code": refusal.code, "message": refusal.message}
    if chained and refusal.code in _DNS_VALIDATION:
        error = {"code": 1004, "message": "DNS Validation Error", "error_chain": [error]}
    envelope = {"result": None, "success": False, "errors": [error], "messages": []}
    headers = {"content-type": JSON, **refusal.headers}
    return Response(refusal.status, msgspec.json.encode(envelope), headers)


def paged(items: Sequence[Any], query: Mapping[str, str], paging: Paging) -> Result:
    """The page of `items` that the query asks for, and where it stands among the others."""
    page = whole_number(query, "page", 1, 1, 2**31)
    size = whole_number(query, "per_page", paging.default, paging.least, paging.most)
    shown = list(items[(page - 1) * size : page * size])
    info = {"page": page, "per_page": size, "count": len(shown), "total_count": len(items)}
    if paging.tells_pages:
        info["total_pages"] = -(-len(items) // size)
    return Result(shown, info)


def whole_number(query: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    value = int(text) if text.isdecimal() else -1
    if not least <= value <= most:
        raise Refusal(400, 1100, f"Invalid query parameter: {name} must be between {least} and {most}")
    return value
