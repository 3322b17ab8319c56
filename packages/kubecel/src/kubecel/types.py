"""The types of the expression language, as the checker reasons about them and as `type(x)` shows them.

A `Type` is a kind, a name and parameters: `list(string)` is kind `LIST`, name `list`, parameter `STRING`. The name is
the one an expression sees at run time (`string(type(now))` is `google.protobuf.Timestamp`); `str()` of a type is the one
that messages use (`timestamp`). Two types are equal if they are exactly the same, parameters included; at run time only
names count, because lists and maps forget what they hold.

Objects with known fields are `ObjectType`s. Their fields may be looked up lazily, since schemas may be recursive, and
they are known by their name alone: whoever builds them gives different names to different types.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Kind(Enum):
    """What sort of type it is, to tell simple from composed ones without looking at names."""

    DYN = "dyn"
    NULL = "null"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    LIST = "list"
    MAP = "map"
    OPTIONAL = "optional"
    TYPE = "type"
    OBJECT = "object"
    OPAQUE = "opaque"
    PARAM = "param"
    ERROR = "error"

    # Members compare by identity; the hash that `Enum` computes from the name only costs time.
    __hash__ = object.__hash__


_NOT_PLAIN = frozenset({Kind.PARAM, Kind.OBJECT, Kind.ERROR})

_SHOWN_AS = {
    "null_type": "null",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
    "error": "!error!",
}


class Type:
    """One type; immutable, and therefore shared freely."""

    __slots__ = ("_hash", "generic", "kind", "name", "nullable", "params", "plain")

    def __init__(
        self, kind: Kind, name: str, params: tuple[Type, ...] = (), *, nullable: bool = False
    ) -> None:
        self.kind: Final = kind
        self.name: Final = name
        self.params: Final = params
        self.nullable: Final = nullable
        """A primitive that may also be null: what protobuf calls a wrapper."""
        self.generic: Final[bool] = kind is Kind.PARAM or any(param.generic for param in params)
        """Whether a type parameter occurs in it, so that most substitutions can be skipped."""
        self.plain: Final[bool] = not params and kind not in _NOT_PLAIN
        """Whether it says everything about itself, whatever the expression: neither composed, nor a parameter or object."""
        self._hash: Final = hash((name, params, nullable))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type):
            return NotImplemented
        return (
            self.kind is other.kind
            and self.name == other.name
            and self.params == other.params
            and self.nullable == other.nullable
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        shown = _SHOWN_AS.get(self.name, self.name)
        if self.params:
            return f"{shown}({', '.join(map(str, self.params))})"
        return f"wrapper({shown})" if self.nullable else shown

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


class ObjectType(Type):
    """An object whose fields have types of their own."""

    __slots__ = ("fields", "keys", "open")

    def __init__(
        self,
        name: str,
        fields: Mapping[str, Type],
        *,
        is_open: bool = False,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(Kind.OBJECT, name)
        self.fields: Final = fields
        self.open: Final = is_open
        """Whether it may have fields beside the declared ones; they are `dyn`."""
        self.keys: Final[Mapping[str, str]] = keys or {}
        """The key in the value, for fields that expressions know by another name (`a__dash__b` is `a-b`)."""

    def field(self, name: str) -> Type | None:
        """The type of a field, or None if there is no such field."""
        found = self.fields.get(name)
        return DYN if found is None and self.open else found


DYN: Final = Type(Kind.DYN, "dyn")
NULL: Final = Type(Kind.NULL, "null_type")
BOOL: Final = Type(Kind.BOOL, "bool")
INT: Final = Type(Kind.INT, "int")
UINT: Final = Type(Kind.UINT, "uint")
DOUBLE: Final = Type(Kind.DOUBLE, "double")
STRING: Final = Type(Kind.STRING, "string")
BYTES: Final = Type(Kind.BYTES, "bytes")
TIMESTAMP: Final = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
DURATION: Final = Type(Kind.DURATION, "google.protobuf.Duration")
TYPE: Final = Type(Kind.TYPE, "type")
ERROR: Final = Type(Kind.ERROR, "error")


def list_of(element: Type) -> Type:
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type(Kind.OPTIONAL, "optional_type", (value,))


def type_of(described: Type) -> Type:
    """The type of a type: what the identifier `int` has."""
    return Type(Kind.TYPE, "type", (described,))


def nullable_of(primitive: Type) -> Type:
    """The same primitive, or null."""
    return Type(primitive.kind, primitive.name, primitive.params, nullable=True)


def param(name: str) -> Type:
    """A type parameter of a function's signature, such as the `A` of `list(A)`."""
    return Type(Kind.PARAM, name)


def opaque(name: str, *params: Type) -> Type:
    """A type whose values only functions can look into, such as `kubernetes.Quantity`."""
    return Type(Kind.OPAQUE, name, params)
