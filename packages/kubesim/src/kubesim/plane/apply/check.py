"""Does an applied configuration fit its types? The wording of the answers is the API server's.

Schema validation of the merged object comes later and says more. This check only keeps out what cannot be merged:
undeclared fields, values of another form, and items that repeat a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane.apply.element import go_quoted, shown_element
from kubesim.plane.apply.types import ListType, MapType, Node, UnkeyedItemError


def misfits(node: Node, value: JsonObject) -> str:
    """What is wrong with the configuration, in one text; empty if nothing is."""
    problems = list(_check(node, value, ""))
    if len(problems) <= 1:
        return "".join(problems)
    return "\n".join(("errors:", *(f"  {problem}" for problem in problems)))


def _check(node: Node, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if isinstance(value, dict) and node.map is not None:
        yield from _check_map(node.map, value, path)
    elif isinstance(value, list) and node.list is not None:
        yield from _check_list(node.list, value, path)
    elif problem := _misfit(node, value):
        yield _located(path, problem)


def _check_map(map_type: MapType, value: JsonObject, path: str) -> Iterator[str]:
    for name, inner in value.items():
        if name not in map_type.declared and not map_type.open:
            yield _located(f"{path}.{name}", "field not declared in schema")
            return
        yield from _check(map_type.fields[name][1], inner, f"{path}.{name}")


def _check_list(list_type: ListType, items: list[Any], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for position, item in enumerate(items):
        try:
            element = f"i:{position}" if list_type.atomic else list_type.element_of(item)
        except UnkeyedItemError as error:
            yield _located(path, f"element {position}: {error}")
            return
        if element in seen:
            yield _located(path, f"duplicate entries for key {shown_element(element)}")
        seen.add(element)
        yield from _check(list_type.element, item, f"{path}{shown_element(element)}")


def _located(path: str, problem: str) -> str:
    return f"{path}: {problem}" if path else problem


def _misfit(node: Node, value: Any) -> str:
    """Why a value that is no map or list of the right type cannot stand here."""
    if node.map is not None and (not node.scalar or isinstance(value, dict | list)):
        return f"expected map, got &{{{_go_value(value)}}}"
    if not node.scalar:
        return f"expected list, got &{{{_go_value(value)}}}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if node.scalar == "numeric" and not is_number:
        return f"expected numeric (int or float), got {_go_type(value)}"
    if node.scalar == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    if node.scalar == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{_go_value(value)}}}"
    if node.scalar == "untyped" and isinstance(value, dict | list):
        return f"expected any scalar, got &{{{_go_value(value)}}}"
    return ""


def _go_value(value: Any) -> str:
    """Render as Go's `%v`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_go_value(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go_value, value))}]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else _go_syntax(value)


def _go_syntax(value: Any) -> str:
    """Render as Go's `%#v`."""
    if isinstance(value, dict):
        pairs = (f"{go_quoted(key)}:{_go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return go_quoted(value)
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def _go_type(value: Any) -> str:
    names = {bool: "bool", str: "string", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(value.__class__, "interface {}")
