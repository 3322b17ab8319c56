"""How AWS's answers are parsed: by botocore, without trusting what arrived.

- A success without a body where there must be one, with a page of HTML in it, with a document of something else, or with
  JSON that does not decode is broken. botocore would read it as an empty result, such as an empty listing.
- Whatever the parser of botocore raises means a broken answer, and the message contains no more than its first words.
  botocore's own would contain the whole document.
- Moments are nearly all written in ISO 8601, which Python reads two orders of magnitude faster than botocore, which
  understands any date that people write. A listing of ten thousand tenants has twenty thousand of them, every few
  minutes. Other forms are left to botocore.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiobotocore.parsers import AioResponseParserFactory
from botocore.model import OperationModel, StructureShape
from botocore.utils import parse_timestamp

from edgekeeper.cloud.aws.answers import BrokenAnswerError

if TYPE_CHECKING:
    from botocore.model import Shape

_FIRST_ELEMENT: Final = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_REFUSED_ROOTS: Final = frozenset({b"html", b"error", b"errorresponse"})
_LONGEST_REASON: Final = 200
_XML_PROTOCOLS: Final = frozenset({"ec2", "query", "rest-xml"})
_ENTITY: Final = b"<!ENTITY"
"""Starts the declaration of an entity: a document of a few bytes may expand to many, or name a file."""


def parse_guarded(session: Any) -> None:
    """Let the clients that a botocore session makes from now on parse answers as this module says."""
    factory = _Parsers()
    factory.set_parser_defaults(timestamp_parser=read_moment)
    session.register_component("response_parser_factory", factory)


class _Parsers(AioResponseParserFactory):
    """Makes botocore's parsers, whose failures mean a broken answer."""

    def create_parser(self, protocol_name: str) -> Any:
        parser: Any = super().create_parser(protocol_name)
        parse = parser.parse

        async def guarded(response: dict[str, Any], shape: Shape | None) -> Any:
            if protocol_name in _XML_PROTOCOLS and _ENTITY in response["body"]:
                raise BrokenAnswerError("the answer declares entities, which AWS never does")
            try:
                return await parse(response, shape)
            except Exception as error:  # noqa: BLE001 - botocore checks little: anything may be raised
                reason = str(error)[:_LONGEST_REASON].partition("\n")[0]
                # Not as its cause: botocore's message would put the whole document into logs.
                raise BrokenAnswerError(f"the answer cannot be parsed: {reason}") from None

        parser.parse = guarded
        return parser


def read_moment(value: Any) -> datetime:
    """The moment that a service means, with its time zone where it names one. Raise ValueError where it is none."""
    if isinstance(value, str) and "T" in value:
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass  # such as an HTTP date: "Thu, 01 Jan 2026 00:00:00 GMT"
    return parse_timestamp(value)


def refuse_broken(operation_model: OperationModel, response_dict: dict[str, Any], **_: Any) -> None:
    """Refuse a success that botocore would read as an empty answer. Called before any answer is parsed."""
    status = response_dict["status_code"]
    output = operation_model.output_shape
    if status >= 300 or status == 204 or output is None or not _has_body(output):
        return
    body: bytes = response_dict["body"].lstrip()
    name = operation_model.name
    if not body:
        raise BrokenAnswerError(f"{name} was answered with nothing")
    if operation_model.service_model.protocol in _XML_PROTOCOLS:
        if not _is_result(operation_model, output, body):
            raise BrokenAnswerError(f"{name} was answered with something else than its result")
    elif not _is_object(body):
        raise BrokenAnswerError(f"{name} was answered with something else than an object")


def _has_body(output: StructureShape) -> bool:
    return any("location" not in member.serialization for member in output.members.values())


def _is_object(body: bytes) -> bool:
    """Whether a body is a JSON object. Decodes all of it, in less time than botocore needs to decode it again."""
    try:
        return isinstance(msgspec.json.decode(body), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _is_result(operation_model: OperationModel, output: StructureShape, body: bytes) -> bool:
    """Whether an XML document can be the result of an operation: by the name of its root, else by a known element."""
    root = _FIRST_ELEMENT.search(body)
    if root is None or root[1].lower() in _REFUSED_ROOTS:
        return False
    name = root[1].decode()
    if name in _roots(operation_model, output):
        return True
    return any(f"<{element}".encode() in body for element in _elements(output))


def _roots(operation_model: OperationModel, output: StructureShape) -> set[str]:
    """Names that the root may have. The API references name the output shape, or that of its payload."""
    names = {output.name, f"{operation_model.name}Response", f"{operation_model.name}Result"}
    payload = output.serialization.get("payload")
    if payload is not None:
        member = output.members[payload]
        names |= {payload, member.name, member.serialization.get("name", payload)}
    return names


def _elements(output: StructureShape) -> Iterator[str]:
    """Names of the elements that a result consists of."""
    payload = output.serialization.get("payload")
    content = output if payload is None else output.members[payload]
    for name, member in getattr(content, "members", {}).items():
        yield member.serialization.get("name", name)
