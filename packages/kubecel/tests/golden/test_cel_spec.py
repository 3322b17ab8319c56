"""The conformance cases of the CEL specification, as far as they do without protobuf messages."""

from __future__ import annotations

import math
from typing import Any

from kubecel import environments
from kubecel.environment import Environment
from kubecel.errors import CelError
from kubecel.types import DYN, Type
from kubecel.values import BoolKey, Uint, map_key
from tests.golden.reading import golden_rows

OUT_OF_SCOPE = frozenset({"math_ext"})
"""Extensions that no environment here has."""

REQUIRED = 1462

_MAPPED = "Kubernetes refuses IPv4 addresses that are written as IPv6"
_BEYOND = "cel-go finds nothing beyond the end of a string; to the specification that is an error"
_PRESENCE = "neither kro nor the API server asks cel-go to refuse a presence test on a value without fields"

KNOWN_MISSES = {
    "network_ext/ipv4/ipv4_equals_ipv6": _MAPPED,
    "network_ext/ipv4/ipv4_not_equals_ipv6": _MAPPED,
    "string_ext/value_errors/indexof_out_of_range": _BEYOND,
    "string_ext/value_errors/lastindexof_out_of_range": _BEYOND,
    "optionals/optionals/map_null_entry_no_such_key": _PRESENCE,
    "optionals/optionals/map_present_key_invalid_field": _PRESENCE,
}
"""By name, the cases that fail, and why."""


def test_specification_holds_but_for_the_listed_cases() -> None:
    rows = [row for row in golden_rows("cel_spec.jsonl") if row["file"] not in OUT_OF_SCOPE]
    base = environments.kro()
    misses = {name: report for row in rows if (report := _miss(base, row)) for name in [_name(row)]}
    unexpected = {name: report for name, report in misses.items() if name not in KNOWN_MISSES}
    assert not unexpected, "\n".join(f"{name}: {report}" for name, report in unexpected.items())
    assert set(KNOWN_MISSES) == set(misses), "a case that is listed as a miss passes"
    assert len(rows) - len(misses) >= REQUIRED


def _name(row: dict[str, Any]) -> str:
    return f"{row['file']}/{row['name']}"


def _miss(base: Environment, row: dict[str, Any]) -> str | None:
    """What is wrong with the outcome of a case, if anything is."""
    variables = dict.fromkeys(row["type_env"], DYN)
    bindings = {name: _value(tagged) for name, tagged in row["bindings"].items()}
    try:
        program = base.extend(variables=variables).compile(row["expr"], checked=not row["disable_check"])
        if row["check_only"]:
            return None
        found = _tagged(program.evaluate(bindings))
    except CelError as error:
        return None if "error" in row else f"{row['expr']} fails: {error}"
    if "error" in row:
        return f"{row['expr']} is {found}, not an error"
    return None if _same(found, row["value"]) else f"{row['expr']} is {found}, not {row['value']}"


def _value(tagged: dict[str, Any]) -> Any:
    """The value that tagged JSON stands for."""
    kind: str = tagged["t"]
    value: Any = tagged.get("v")
    match kind:
        case "list":
            return [_value(element) for element in value]
        case "map":
            return {map_key(_value(key)): _value(element) for key, element in value}
        case "bytes":
            return value.encode("latin-1")
        case "uint":
            return Uint(value)
        case "double":
            return float(value)
    return value


_TAGS = {bool: "bool", int: "int", Uint: "uint", float: "double", str: "string", bytes: "bytes"}


def _tagged(value: Any) -> dict[str, Any]:
    """A value as tagged JSON."""
    if value is None:
        return {"t": "null"}
    if isinstance(value, list | tuple):
        return {"t": "list", "v": [_tagged(element) for element in value]}
    if isinstance(value, dict):
        return {"t": "map", "v": [[_tagged(_key(key)), _tagged(element)] for key, element in value.items()]}
    if isinstance(value, Type):
        return {"t": "type", "v": value.name}
    if isinstance(value, bytes):
        return {"t": "bytes", "v": value.decode("latin-1")}
    return {"t": _TAGS.get(type(value), type(value).__name__), "v": value}


def _key(key: Any) -> Any:
    return key.value if isinstance(key, BoolKey) else key


def _same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    if found["t"] != expected["t"]:
        return False
    mine: Any = found.get("v")
    yours: Any = expected.get("v")
    match found["t"]:
        case "list":
            return len(mine) == len(yours) and all(map(_same, mine, yours))
        case "map":
            return len(mine) == len(yours) and all(
                any(all(map(_same, entry, other)) for other in yours) for entry in mine
            )
        case "double":
            return _same_double(mine, float(yours))
    return bool(mine == yours)


def _same_double(mine: float, yours: float) -> bool:
    return mine == yours or (math.isnan(mine) and math.isnan(yours))
