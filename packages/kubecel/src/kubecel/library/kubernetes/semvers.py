"""`semver(…)` and comparisons of versions. Normalising (`semver("v1.2", true)`) came with the first version of it."""

from __future__ import annotations

from typing import Final

from kubecel.functions import Function, Library, Overload, traversal_cost
from kubecel.library import costs, estimates
from kubecel.library.declaring import function, on_call, on_target
from kubecel.library.kubernetes.semver import Semver, is_semver, parse_normalized, parse_semver
from kubecel.types import BOOL, INT, STRING
from kubecel.values import INT_MAX, UINT_MAX

_SEMVER: Final = Semver.cel_type
_ONE: Final = (_SEMVER,)
_TWO: Final = (_SEMVER, _SEMVER)


def _compare(left: Semver, right: Semver) -> int:
    return (left > right) - (left < right)


def _compare_cost(left: Semver, right: Semver) -> int:
    """One, as kube-apiserver charges, unless the versions are absurdly long."""
    return 1 + traversal_cost(min(len(left.prerelease), len(right.prerelease))) // 10


def _signed(number: int) -> int:
    """Parts of versions are unsigned, integers are not: the largest of them become negative."""
    return number - UINT_MAX - 1 if number > INT_MAX else number


def _parse(text: str, normalize: bool) -> Semver:
    return parse_normalized(text) if normalize else parse_semver(text)


def _is_semver(text: str, normalize: bool) -> bool:
    return is_semver(text, normalize=normalize)


_MAKE: Final = on_call("string_to_semver", (STRING,), _SEMVER, parse_semver, costs.walk, estimates.walk)
_TEST: Final = on_call("is_semver_string", (STRING,), BOOL, is_semver, costs.walk, estimates.walk)
_MAKE_NORMALIZED: Final = on_call(
    "string_bool_to_semver", (STRING, BOOL), _SEMVER, _parse, costs.walk, estimates.walk
)
_TEST_NORMALIZED: Final = on_call(
    "is_semver_string_bool", (STRING, BOOL), BOOL, _is_semver, costs.walk, estimates.walk
)

_FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "isGreaterThan",
        on_target("semver_is_greater_than", _TWO, BOOL, lambda left, right: left > right, _compare_cost),
    ),
    function(
        "isLessThan",
        on_target("semver_is_less_than", _TWO, BOOL, lambda left, right: left < right, _compare_cost),
    ),
    function("compareTo", on_target("semver_compare_to", _TWO, INT, _compare, _compare_cost)),
    function("major", on_target("semver_major", _ONE, INT, lambda version: _signed(version.major))),
    function("minor", on_target("semver_minor", _ONE, INT, lambda version: _signed(version.minor))),
    function("patch", on_target("semver_patch", _ONE, INT, lambda version: _signed(version.patch))),
)


def _library(make: tuple[Overload, ...], test: tuple[Overload, ...]) -> Library:
    return Library("kubernetes.Semver", (function("semver", *make), function("isSemver", *test), *_FUNCTIONS))


SEMVERS_V0: Final = _library((_MAKE,), (_TEST,))
SEMVERS: Final = _library((_MAKE, _MAKE_NORMALIZED), (_TEST, _TEST_NORMALIZED))
