"""`quantity(…)`, its arithmetic and comparisons."""

from __future__ import annotations

from typing import Final

from kubecel.errors import invalid_argument
from kubecel.functions import Library
from kubecel.library import costs, estimates
from kubecel.library.declaring import function, on_call, on_target
from kubecel.library.kubernetes.quantity import Quantity, from_integer, is_quantity, parse_quantity
from kubecel.types import BOOL, DOUBLE, INT, STRING

_QUANTITY: Final = Quantity.cel_type
_ONE: Final = (_QUANTITY,)
_TWO: Final = (_QUANTITY, _QUANTITY)
_WITH_INT: Final = (_QUANTITY, INT)


def as_integer(quantity: Quantity) -> int:
    integer = quantity.as_integer()
    if integer is None:
        raise invalid_argument("cannot convert value to integer")
    return integer


def _plus_int(quantity: Quantity, number: int) -> Quantity:
    return quantity.plus(from_integer(number))


def _minus_int(quantity: Quantity, number: int) -> Quantity:
    return quantity.minus(from_integer(number))


QUANTITIES: Final = Library(
    "kubernetes.quantity",
    (
        function(
            "quantity",
            on_call("string_to_quantity", (STRING,), _QUANTITY, parse_quantity, costs.walk, estimates.walk),
        ),
        function(
            "isQuantity",
            on_call("is_quantity_string", (STRING,), BOOL, is_quantity, costs.walk, estimates.walk),
        ),
        function("sign", on_call("quantity_sign", _ONE, INT, lambda quantity: quantity.sign)),
        function(
            "isGreaterThan",
            on_target("quantity_is_greater_than", _TWO, BOOL, lambda left, right: left > right),
        ),
        function(
            "isLessThan", on_target("quantity_is_less_than", _TWO, BOOL, lambda left, right: left < right)
        ),
        function("compareTo", on_target("quantity_compare_to", _TWO, INT, Quantity.compare)),
        function("asApproximateFloat", on_target("quantity_get_float", _ONE, DOUBLE, Quantity.as_float)),
        function("asInteger", on_target("quantity_get_int", _ONE, INT, as_integer)),
        function(
            "isInteger",
            on_target("quantity_is_integer", _ONE, BOOL, lambda quantity: quantity.as_integer() is not None),
        ),
        function(
            "add",
            on_target("quantity_add", _TWO, _QUANTITY, Quantity.plus),
            on_target("quantity_add_int", _WITH_INT, _QUANTITY, _plus_int),
        ),
        function(
            "sub",
            on_target("quantity_sub", _TWO, _QUANTITY, Quantity.minus),
            on_target("quantity_sub_int", _WITH_INT, _QUANTITY, _minus_int),
        ),
    ),
)
