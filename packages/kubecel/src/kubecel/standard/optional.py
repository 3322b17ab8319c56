"""Optional values: making them, looking into them, and choosing between them.

`or` and `orValue` evaluate their argument only if it is needed, so the compiler does that itself.
"""

from __future__ import annotations

from typing import Any, Final

from kubecel import types
from kubecel.errors import invalid_argument
from kubecel.functions import Function, traversal_cost
from kubecel.standard.comparison import evaluated_by_compiler
from kubecel.standard.declaring import function, member, overload
from kubecel.standard.indexing import find_optional, index_value
from kubecel.syntax import Operator
from kubecel.types import BOOL, DYN, INT, STRING, Type, list_of, map_of, optional_of, param
from kubecel.values import NONE, Duration, Optional, Value, type_of_value

_K: Final = param("K")
_V: Final = param("V")
_OPTIONAL: Final = optional_of(_V)
_LIST: Final = list_of(_V)
_MAP: Final = map_of(_K, _V)
_LIST_OF_OPTIONALS: Final = list_of(_OPTIONAL)
_ZERO_CLASSES: Final = (bool, int, float, str, bytes, list, tuple, dict)


def is_zero(value: Value) -> bool:
    """Whether a value is empty, zero or null. The zero of timestamps is before all that can be written."""
    if value is None:
        return True
    if isinstance(value, Duration):
        return value.nanos == 0
    return isinstance(value, _ZERO_CLASSES) and not value


def _of_non_zero(value: Value) -> Optional:
    return NONE if is_zero(value) else Optional.of(value)


def _unwrap(optionals: list[Value]) -> list[Value]:
    for element in optionals:
        if not isinstance(element, Optional):
            raise invalid_argument(f"a value of type {type_of_value(element)} is not optional")
    return [element.value for element in optionals if element.present]


def _first(elements: list[Value]) -> Optional:
    return Optional.of(elements[0]) if elements else NONE


def _last(elements: list[Value]) -> Optional:
    return Optional.of(elements[-1]) if elements else NONE


def _walk_cost(elements: list[Value]) -> int:
    return 1 + traversal_cost(len(elements))


OPTIONAL_FUNCTIONS: Final[tuple[Function, ...]] = (
    function("optional.of", overload("optional_of", (_V,), _OPTIONAL, Optional.of)),
    function("optional.ofNonZeroValue", overload("optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero)),
    function("optional.none", overload("optional_none", (), _OPTIONAL, Optional.none)),
    function(
        "optional.unwrap", overload("optional_unwrap", (_LIST_OF_OPTIONALS,), _LIST, _unwrap, _walk_cost)
    ),
    function("unwrapOpt", member("optional_unwrapOpt", (_LIST_OF_OPTIONALS,), _LIST, _unwrap, _walk_cost)),
    function("value", member("optional_value", (_OPTIONAL,), _V, Optional.get)),
    function("hasValue", member("optional_hasValue", (_OPTIONAL,), BOOL, lambda optional: optional.present)),
    function("or", member("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, evaluated_by_compiler)),
    function("orValue", member("optional_orValue_value", (_OPTIONAL, _V), _V, evaluated_by_compiler)),
    function(
        Operator.OPTIONAL_SELECT, overload("select_optional_field", (DYN, STRING), _OPTIONAL, find_optional)
    ),
    function(
        Operator.OPTIONAL_INDEX,
        overload("list_optindex_optional_int", (_LIST, INT), _OPTIONAL, find_optional),
        overload("optional_list_optindex_optional_int", (optional_of(_LIST), INT), _OPTIONAL, find_optional),
        overload("map_optindex_optional_value", (_MAP, _K), _OPTIONAL, find_optional),
        overload("optional_map_optindex_optional_value", (optional_of(_MAP), _K), _OPTIONAL, find_optional),
    ),
    function(
        Operator.INDEX,
        overload("optional_list_index_int", (optional_of(_LIST), INT), _OPTIONAL, index_value),
        overload("optional_map_index_value", (optional_of(_MAP), _K), _OPTIONAL, index_value),
    ),
    function("first", member("list_first", (_LIST,), _OPTIONAL, _first)),
    function("last", member("list_last", (_LIST,), _OPTIONAL, _last)),
)

OPTIONAL_CONSTANTS: Final[dict[str, tuple[Type, Any]]] = {
    "optional_type": (types.type_of(optional_of(DYN)), optional_of(DYN))
}
