"""The libraries that come with the language: the standard one, and four extensions which every environment here has."""

from __future__ import annotations

from typing import Final

from edgekeeper.cel.functions import Library
from edgekeeper.cel.standard.arithmetic import ARITHMETIC
from edgekeeper.cel.standard.calendar import CALENDAR
from edgekeeper.cel.standard.comparison import COMPARISON
from edgekeeper.cel.standard.conversion import CONVERSIONS, TYPE_CONSTANTS
from edgekeeper.cel.standard.mapping import MAP_FUNCTIONS
from edgekeeper.cel.standard.optional import OPTIONAL_CONSTANTS, OPTIONAL_FUNCTIONS
from edgekeeper.cel.standard.text import TEXT
from edgekeeper.cel.standard_macros import (
    BINDING_MACROS,
    OPTIONAL_MACROS,
    STANDARD_MACROS,
    TWO_VARIABLE_MACROS,
)

__all__ = ["BINDINGS", "OPTIONALS", "STANDARD", "TWO_VARIABLE_COMPREHENSIONS"]

STANDARD: Final = Library(
    "standard",
    (*COMPARISON, *ARITHMETIC, *CONVERSIONS, *TEXT, *CALENDAR),
    STANDARD_MACROS,
    TYPE_CONSTANTS,
)
OPTIONALS: Final = Library("optional", OPTIONAL_FUNCTIONS, OPTIONAL_MACROS, OPTIONAL_CONSTANTS)
BINDINGS: Final = Library("bindings", macros=BINDING_MACROS)
TWO_VARIABLE_COMPREHENSIONS: Final = Library(
    "two-variable comprehensions", MAP_FUNCTIONS, TWO_VARIABLE_MACROS
)
