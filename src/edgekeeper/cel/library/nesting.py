"""How deep and how large values are.

A value may hold the same part many times (a list twice in a list that is twice in a list …), and so be much larger than
the memory it takes. What would come out is therefore computed part by part, each of them once, before anything is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from edgekeeper.cel.errors import ErrorKind, EvaluationError
from edgekeeper.cel.library.notation import utf8
from edgekeeper.cel.sizes import TRAVERSAL_FACTOR

DEEPEST: Final = 200
"""How far lists and maps may be nested in a value that is walked over."""


def check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise EvaluationError(ErrorKind.TOO_DEEP, f"value is nested more than {DEEPEST} levels deep")


def walk_weight(value: Any) -> int:
    """What a walk over a value costs: strings and byte sequences by their bytes, every other scalar one."""
    return _weight(value, 0, {})


def _weight(value: Any, depth: int, known: dict[int, int]) -> int:
    if isinstance(value, str | bytes):
        return int(byte_length(value) * TRAVERSAL_FACTOR)
    if not isinstance(value, list | tuple | dict):
        return 1
    found = known.get(id(value))
    if found is None:
        check_depth(depth)
        parts = (*value, *value.values()) if isinstance(value, dict) else value
        found = known[id(value)] = sum([_weight(part, depth + 1, known) for part in parts])
    return found


def byte_length(text: str | bytes) -> int:
    """Length in UTF-8."""
    return len(text) if isinstance(text, bytes) or text.isascii() else len(utf8(text))


def flattened_size(elements: Sequence[Any], levels: int) -> int:
    """How many elements are left when lists in a list have been replaced by their elements so many times."""
    return _flattened_size(elements, levels, 0, {})


def _flattened_size(elements: Sequence[Any], levels: int, depth: int, known: dict[Any, int]) -> int:
    inner = [element for element in elements if isinstance(element, list | tuple)] if levels > 0 else []
    if not inner:
        return len(elements)
    found = known.get((id(elements), levels))
    if found is None:
        check_depth(depth)
        sizes = [_flattened_size(element, levels - 1, depth + 1, known) for element in inner]
        found = known[id(elements), levels] = len(elements) - len(inner) + sum(sizes)
    return found
