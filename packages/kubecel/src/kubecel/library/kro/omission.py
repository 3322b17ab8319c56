"""`omit()`: the value of a field that shall not be there.

It stands for nothing else, so it cannot be compared. Whoever builds objects from results looks for `OMIT` and leaves the
field, or the element of a list, away. Whether an expression may use it is for its caller to say.
"""

from __future__ import annotations

from typing import ClassVar, Final

from kubecel import types
from kubecel.errors import invalid_argument
from kubecel.functions import Library
from kubecel.library.declaring import function, on_call
from kubecel.types import DYN, Type


class Omission:
    """The class of the only such value."""

    __slots__ = ()
    cel_type: ClassVar[Type] = types.opaque("kro.omit")

    def __eq__(self, other: object) -> bool:
        raise invalid_argument("omit() is a field-removal sentinel and cannot be compared")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return "omit()"


OMIT: Final = Omission()


def _omit() -> Omission:
    return OMIT


OMISSION: Final = Library("kro.omit", (function("omit", on_call("omit_void", (), DYN, _omit)),))
