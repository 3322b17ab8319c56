"""An environment for the checker's tests: the language itself with its extensions, and variables of all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubecel.checker import CheckedAst, CheckOptions, Declarations, FunctionTable, check
from kubecel.functions import Library, Overload
from kubecel.parser import parse
from kubecel.standard import BINDINGS, OPTIONALS, STANDARD, TWO_VARIABLE_COMPREHENSIONS
from kubecel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    ObjectType,
    Type,
    list_of,
    map_of,
    nullable_of,
    optional_of,
)

LIBRARIES: Final = (STANDARD, OPTIONALS, BINDINGS, TWO_VARIABLE_COMPREHENSIONS)

PORT: Final = ObjectType("port", {"name": STRING, "number": INT})
SPEC: Final = ObjectType(
    "spec",
    {"image": STRING, "ports": list_of(PORT), "labels": map_of(STRING, STRING), "a__dash__b": INT},
    keys={"a__dash__b": "a-b"},
)
OPEN: Final = ObjectType("open", {"known": INT}, is_open=True)

VARIABLES: Final[Mapping[str, Type]] = {
    "any": DYN,
    "flag": BOOL,
    "number": INT,
    "unsigned": UINT,
    "real": DOUBLE,
    "text": STRING,
    "raw": BYTES,
    "now": TIMESTAMP,
    "span": DURATION,
    "words": list_of(STRING),
    "counts": map_of(STRING, INT),
    "things": list_of(DYN),
    "maybe": optional_of(INT),
    "wrapped": nullable_of(INT),
    "spec": SPEC,
    "open": OPEN,
    "pkg.version": STRING,
}


def functions_of(libraries: tuple[Library, ...]) -> FunctionTable:
    overloads: dict[str, list[Overload]] = {}
    for library in libraries:
        for function in library.functions:
            overloads.setdefault(function.name, []).extend(function.overloads)
    return FunctionTable(overloads)


FUNCTIONS: Final = functions_of(LIBRARIES)
CONSTANTS: Final[Mapping[str, tuple[Type, Any]]] = {
    name: constant for library in LIBRARIES for name, constant in library.constants.items()
}
MACROS: Final = {
    (macro.name, macro.arity, macro.member): macro for library in LIBRARIES for macro in library.macros
}


def declarations(
    variables: Mapping[str, Type] = VARIABLES, options: CheckOptions | None = None
) -> Declarations:
    return Declarations(FUNCTIONS, variables, CONSTANTS, options)


def checked(text: str, known: Declarations | None = None, *, expected: Type | None = None) -> CheckedAst:
    return check(parse(text, MACROS), known or declarations(), expected=expected)
