"""The values of expressions: plain Python where Python has the thing, so that JSON needs no conversion.

    null       None                     list        list or tuple
    bool       bool                     map         dict, keys as `map_key` makes them
    int        int (64 bits)            timestamp   Timestamp
    uint       Uint (64 bits)           duration    Duration
    double     float                    optional    Optional
    string     str                      type        kubecel.types.Type
    bytes      bytes                    opaque      any class with a class attribute `cel_type: Type`

Maps: 1, 1u and 1.0 are one key in CEL and in Python, but `true` is a key of its own in CEL, while Python takes True for
1. So boolean keys are stored as `BoolKey`; `map_key` and `key_value` translate. Keys of JSON objects are strings and need
nothing. What the engine is given it never changes, and what it returns may share structure with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import NoneType
from typing import Any, ClassVar, Final, TypeAlias

from kubecel import types
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.types import Type

Value: TypeAlias = Any
"""Any value of an expression."""

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1

NANOS: Final = 1_000_000_000
"""Nanoseconds per second."""
MIN_TIMESTAMP: Final = -62_135_596_800 * NANOS
"""0001-01-01T00:00:00Z."""
MAX_TIMESTAMP: Final = 253_402_300_799 * NANOS + 999_999_999
"""9999-12-31T23:59:59.999999999Z."""


class Uint(int):
    """An unsigned integer. Arithmetic on it yields plain numbers: operators of the language wrap their results."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"

    __str__ = int.__repr__


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970 (UTC), between the years 1 and 9999."""

    nanos: int
    cel_type: ClassVar[Type] = types.TIMESTAMP


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds, of 64 bits."""

    nanos: int
    cel_type: ClassVar[Type] = types.DURATION


class Optional:
    """A value that may be absent."""

    __slots__ = ("present", "value")
    cel_type: ClassVar[Type] = types.optional_of(types.DYN)

    def __init__(self, present: bool, value: Value) -> None:
        self.present = present
        self.value = value

    @staticmethod
    def of(value: Value) -> Optional:
        return Optional(True, value)

    @staticmethod
    def none() -> Optional:
        return NONE

    def get(self) -> Value:
        """The value; absence is an error."""
        if not self.present:
            raise EvaluationError(ErrorKind.OPTIONAL_NONE, "optional.none() dereference")
        return self.value

    def __repr__(self) -> str:
        return f"Optional.of({self.value!r})" if self.present else "Optional.none()"


NONE: Final = Optional(False, None)
"""The absent optional; there is only one."""


class UnorderedList(list[Any]):
    """A list whose order does not count, and which therefore has its own idea of equality and of sums."""

    __slots__ = ()

    def matching_parts(self, other: Sequence[Value]) -> Iterable[tuple[Value, Value]] | None:
        """What must be equal for this list to equal another, or None if they differ in any case."""
        raise NotImplementedError

    def plus(self, other: Iterable[Value]) -> UnorderedList:
        """Both lists in one, with nothing twice."""
        raise NotImplementedError


class BoolKey(Enum):
    """A boolean as the key of a map."""

    FALSE = False
    TRUE = True

    __hash__ = object.__hash__


def map_key(key: Value) -> Value:
    """The form in which a key is stored in a dict, and looked up."""
    if type(key) is bool:
        return BoolKey.TRUE if key else BoolKey.FALSE
    return key


def key_value(key: Value) -> Value:
    """The value which a stored key stands for."""
    return key.value if type(key) is BoolKey else key


_TYPES: Final[dict[type, Type]] = {
    NoneType: types.NULL,
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    list: types.list_of(types.DYN),
    tuple: types.list_of(types.DYN),
    dict: types.map_of(types.DYN, types.DYN),
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    Optional: types.optional_of(types.DYN),
}


def type_of_class(kind: type) -> Type:
    """The type of the values that a Python class holds; subclasses of the classes above count as these."""
    for ancestor in kind.__mro__:
        if ancestor in _TYPES:
            return _TYPES[ancestor]
        declared = ancestor.__dict__.get("cel_type")
        if isinstance(declared, Type):
            return declared
        if ancestor is Type:
            return types.TYPE
    raise TypeError(f"not a value of the expression language: {kind.__name__}")


def type_of_value(value: Value) -> Type:
    """The type of a value, as `type(value)` gives it: elements of lists and maps are `dyn`."""
    return type_of_class(type(value))
