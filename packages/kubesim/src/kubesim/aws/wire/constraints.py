"""What the service model itself demands of parameters: required members, enumerations, lengths, ranges, patterns.

Clients check some of that before they send anything, and none checks all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from kubesim.aws.errors import AwsError
from kubesim.aws.wire.models import OperationShape

CODES = {
    "cloudfront": "InvalidArgument",
    "route53": "InvalidInput",
    "acm": "ValidationException",
    "apigateway": "BadRequestException",
    "lambda": "ValidationException",
    "sts": "ValidationError",
}


def check(operation: OperationShape, params: Mapping[str, Any]) -> None:
    """Raise what the service answers to parameters that its model does not allow."""
    if operation.input is None:
        return
    found = list(_problems(operation.input, params, ""))
    if found:
        count = f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected"
        raise AwsError(CODES[operation.service], f"{count}: {'; '.join(found)}", 400)


def _problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if isinstance(shape, StructureShape):
        yield from _structure_problems(shape, value, path)
    elif isinstance(shape, ListShape):
        yield from _length_problems(shape, value, path)
        for index, item in enumerate(value, 1):
            yield from _problems(shape.member, item, f"{path}.{index}.member")
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield from _problems(shape.value, item, f"{path}.{key}")
    else:
        yield from _scalar_problems(shape, value, path)


def _structure_problems(shape: StructureShape, value: Mapping[str, Any], path: str) -> Iterator[str]:
    for name in shape.required_members:
        if value.get(name) is None:
            yield _problem(None, _below(path, name), "Member must not be null")
    members = shape.members
    for name, item in value.items():
        yield from _problems(members[name], item, _below(path, name))


def _scalar_problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    allowed = shape.metadata.get("enum")
    if allowed and value not in allowed:
        yield _problem(value, path, f"Member must satisfy enum value set: [{', '.join(allowed)}]")
    yield from _length_problems(shape, value, path)
    pattern = _pattern(shape.metadata.get("pattern"))
    if pattern and not pattern.fullmatch(value):
        wanted = shape.metadata["pattern"]
        yield _problem(value, path, f"Member must satisfy regular expression pattern: {wanted}")


def _length_problems(shape: Shape, value: Any, path: str) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is None and most is None:
        return
    number = isinstance(value, int | float)
    size = value if number else len(value)
    noun = "value" if number else "length"
    if least is not None and size < least:
        yield _problem(value, path, f"Member must have {noun} greater than or equal to {least}")
    if most is not None and size > most:
        yield _problem(value, path, f"Member must have {noun} less than or equal to {most}")


def _problem(value: Any, path: str, demand: str) -> str:
    shown = "null" if value is None else f"'{value}'"
    return f"Value {shown} at '{path}' failed to satisfy constraint: {demand}"


def _below(path: str, name: str) -> str:
    own = name[:1].lower() + name[1:]
    return f"{path}.{own}" if path else own


@cache
def _pattern(text: str | None) -> re.Pattern[str] | None:
    """Patterns are written for Java; what Python cannot read is not checked."""
    if text is None:
        return None
    try:
        return re.compile(text)
    except re.error:
        return None
