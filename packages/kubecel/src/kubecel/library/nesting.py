"""How deep and how large values are.

A value may hold the same part many times (a list twice in a list that is twice in a list …), and so be much larger than
the memory it takes. What would come out is therefore computed part by part, each of them once, before anything is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from kubecel.errors import ErrorKind, EvaluationError
from kubecel.library.notation import utf8
from kubecel.limits import check_size
from kubecel.sizes import TRAVERSAL_FACTOR
from kubecel.values import Optional

List: TypeAlias = Sequence[Any]

DEEPEST: Final = 200
"""How far lists and maps may be nested in a value that is walked over."""


def check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise EvaluationError(ErrorKind.TOO_DEEP, f"value is nested more than {DEEPEST} levels deep")


def walk_weight(value: Any) -> int:
    """What kube-apiserver charges for a walk over a value: bytes of strings, one for every other scalar."""
    return _weight(value, 0, 0, {})


def write_weight(value: Any) -> int:
    """What it costs us to write a value out: the same, and one more for every string, list and map."""
    return _weight(value, 1, 0, {})


def _weight(value: Any, each: int, depth: int, known: dict[int, int]) -> int:
    if isinstance(value, str | bytes):
        return each + int(byte_length(value) * TRAVERSAL_FACTOR)
    if isinstance(value, Optional):
        return each + _weight(value.value, each, depth + 1, known)
    if not isinstance(value, list | tuple | dict):
        return 1
    found = known.get(id(value))
    if found is None:
        check_depth(depth)
        parts = (*value, *value.values()) if isinstance(value, dict) else value
        found = known[id(value)] = each + sum([_weight(part, each, depth + 1, known) for part in parts])
    return found


def byte_length(text: str | bytes) -> int:
    """Length in UTF-8."""
    return len(text) if isinstance(text, bytes) or text.isascii() else len(utf8(text))


def flattened_size(elements: List, levels: int) -> int:
    """How many elements are left when lists in a list have been replaced by their elements so many times."""
    return _Flattening().size(elements, levels, 0)


def flattened(elements: List, levels: int) -> list[Any]:
    """Lists in a list replaced by their elements, and again, so many times."""
    flattening = _Flattening()
    check_size(flattening.size(elements, levels, 0))
    flat: list[Any] = []
    flattening.collect(elements, levels, flat)
    return flat


class _Flattening:
    """Remembers sizes, so that parts which come to nothing are not walked over however often they occur."""

    __slots__ = ("_sizes",)

    def __init__(self) -> None:
        self._sizes: dict[tuple[int, int], int] = {}

    def size(self, elements: List, levels: int, depth: int) -> int:
        inner = [element for element in elements if isinstance(element, list | tuple)] if levels > 0 else []
        if not inner:
            return len(elements)
        found = self._sizes.get((id(elements), levels))
        if found is None:
            check_depth(depth)
            total = sum([self.size(element, levels - 1, depth + 1) for element in inner])
            found = self._sizes[id(elements), levels] = len(elements) - len(inner) + total
        return found

    def collect(self, elements: List, levels: int, flat: list[Any]) -> None:
        if levels <= 0 or not any(isinstance(element, list | tuple) for element in elements):
            flat.extend(elements)
            return
        for element in elements:
            if not isinstance(element, list | tuple):
                flat.append(element)
            elif self.size(element, levels - 1, 0):
                self.collect(element, levels - 1, flat)
