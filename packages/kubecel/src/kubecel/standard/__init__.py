"""The libraries that come with the language: the standard one, and four extensions which every environment here has."""

from __future__ import annotations

from typing import Final

from kubecel.functions import Library
from kubecel.standard.arithmetic import ARITHMETIC
from kubecel.standard.calendar import CALENDAR
from kubecel.standard.comparison import COMPARISON
from kubecel.standard.conversion import CONVERSIONS, TYPE_CONSTANTS
from kubecel.standard.mapping import MAP_FUNCTIONS
from kubecel.standard.optional import OPTIONAL_CONSTANTS, OPTIONAL_FUNCTIONS
from kubecel.standard.text import TEXT
from kubecel.standard_macros import (
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
