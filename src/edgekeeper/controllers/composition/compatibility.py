"""Would a changed definition break instances that exist?

    report = compare_definitions(served, generated)
    if report.breaking: …                       # refuse, unless the author has allowed it
    str(report)                                 # "Property port was removed; Type changed from string to integer"

A change breaks if an instance that was valid may not be valid any more, or may lose something: fields that are removed,
other types, new requirements, fewer values, tighter bounds. Everything else is applied without asking.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object

_MOST_DESCRIBED: Final = 3
"""Breaking changes that a summary describes."""

_BOUNDS: Final = {
    "minimum": ("MINIMUM", "Minimum", True),
    "maximum": ("MAXIMUM", "Maximum", False),
    "minLength": ("MIN_LENGTH", "MinLength", True),
    "maxLength": ("MAX_LENGTH", "MaxLength", False),
    "minItems": ("MIN_ITEMS", "MinItems", True),
    "maxItems": ("MAX_ITEMS", "MaxItems", False),
}
"""Bounds by keyword: what types of change and descriptions call them, and whether they are lower bounds."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two definitions."""

    path: str
    type: str
    description: str
    breaking: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """All differences between two definitions."""

    changes: tuple[Change, ...]

    @property
    def breaking(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.breaking)

    def __str__(self) -> str:
        breaking = self.breaking
        if not breaking:
            return "no breaking changes"
        shown = [change.description for change in breaking[:_MOST_DESCRIBED]]
        if rest := len(breaking) - len(shown):
            shown.append(f"and {rest} more changes")
        return "; ".join(shown)


def compare_definitions(old: JsonObject, new: JsonObject) -> Report:
    """What changes from one CustomResourceDefinition of one version to another; raises RejectedError."""
    before, after = dig_list(old, "spec", "versions"), dig_list(new, "spec", "versions")
    if len(before) != 1 or len(after) != 1:
        found = f"got {len(before)} old and {len(after)} new versions"
        raise RejectedError(f"expected exactly one version in each CRD, {found}")
    return Report(tuple(_compare_versions(before[0], after[0])))


def _compare_versions(old: JsonObject, new: JsonObject) -> Iterator[Change]:
    if old.get("name") != new.get("name"):
        yield _type_changed("version", old.get("name"), new.get("name"))
        return
    yield from compare_schemas(_schema_of(old, "old"), _schema_of(new, "new"))
    if old.get("served") and not new.get("served"):
        yield _type_changed("version.served", "true", "false")
    if dig(old, "subresources", "status") is not None and dig(new, "subresources", "status") is None:
        yield _removed("version.subresources.status")
    if dig_list(old, "additionalPrinterColumns") != dig_list(new, "additionalPrinterColumns"):
        path, text = "version.additionalPrinterColumns", "Additional printer columns were changed"
        yield Change(path, "ADDITIONAL_PRINTER_COLUMNS_CHANGED", text)


def _schema_of(version: JsonObject, which: str) -> JsonObject:
    schema = dig(version, "schema", "openAPIV3Schema")
    if not isinstance(schema, dict):
        raise RejectedError(f"{which} version {version.get('name')} has no schema")
    return schema


def compare_schemas(old: JsonObject, new: JsonObject, path: str = "") -> Iterator[Change]:
    """What changes from one schema to another."""
    yield from _compare_notes(old, new, path)
    if old.get("type", "") != new.get("type", ""):
        yield _type_changed(f"{path}.type", old.get("type", ""), new.get("type", ""))
        return
    yield from _compare_pattern(old, new, f"{path}.pattern")
    for keyword in _BOUNDS:
        yield from _compare_bound(keyword, old.get(keyword), new.get(keyword), f"{path}.{keyword}")
    yield from _compare_properties(old, new, path)
    yield from _compare_required(old, new, f"{path}.required")
    yield from _compare_enum(dig_list(old, "enum"), dig_list(new, "enum"), f"{path}.enum")
    for keyword in ("items", "additionalProperties"):
        yield from _compare_within(old.get(keyword), new.get(keyword), f"{path}.{keyword}")


def _compare_notes(old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    if old.get("description") != new.get("description"):
        text = (
            f"Description field was changed from {old.get('description', '')} to {new.get('description', '')}"
        )
        yield Change(f"{path}.description", "DESCRIPTION_CHANGED", text)
    if _default(old) != _default(new):
        text = f"Default value was changed from {_default(old)} to {_default(new)}"
        yield Change(f"{path}.default", "DEFAULT_CHANGED", text)


def _compare_pattern(old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    before, after = old.get("pattern", ""), new.get("pattern", "")
    if before == after:
        return
    if not after:
        yield Change(path, "PATTERN_REMOVED", f"Validation pattern {before} was removed")
    elif not before:
        yield Change(path, "PATTERN_ADDED", f"Validation pattern {after} was added", breaking=True)
    else:
        text = f"Validation pattern changed from {before} to {after}"
        yield Change(path, "PATTERN_CHANGED", text, breaking=True)


def _compare_bound(keyword: str, before: Any, after: Any, path: str) -> Iterator[Change]:
    name, title, is_lower = _BOUNDS[keyword]
    if before == after:
        return
    if before is None:
        yield Change(path, f"{name}_ADDED", f"{title} constraint {after} was added", breaking=True)
    elif after is None:
        yield Change(path, f"{name}_REMOVED", f"{title} constraint {before} was removed")
    else:
        rises = after > before
        change, word = ("INCREASED", "increased") if rises else ("DECREASED", "decreased")
        text = f"{title} was {word} from {before} to {after}"
        yield Change(path, f"{name}_{change}", text, breaking=rises == is_lower)


def _compare_properties(old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    before, after = dig_object(old, "properties"), dig_object(new, "properties")
    for name, schema in before.items():
        place = f"{path}.properties.{name}"
        if name not in after:
            yield _removed(place)
        else:
            yield from compare_schemas(schema, after[name], place)
    required = dig_list(new, "required")
    for name in after.keys() - before.keys():
        is_required = name in required and "default" not in after[name]
        word = "Required" if is_required else "Optional"
        place = f"{path}.properties.{name}"
        yield Change(place, "PROPERTY_ADDED", f"{word} property {name} was added", breaking=is_required)


def _compare_required(old: JsonObject, new: JsonObject, path: str) -> Iterator[Change]:
    properties = dig_object(old, "properties")
    before, after = set(dig_list(old, "required")), set(dig_list(new, "required"))
    for name in sorted((after - before) & properties.keys()):
        yield Change(path, "REQUIRED_ADDED", f"Field {name} is newly required", breaking=True)
    for name in sorted(before - after):
        yield Change(path, "REQUIRED_REMOVED", f"Field {name} is no longer required")
    for name in sorted(before & after & properties.keys()):
        if "default" in properties[name] and "default" not in dig_object(new, "properties", name):
            text = f"Default value removed from required field {name}"
            yield Change(path, "REQUIRED_DEFAULT_REMOVED", text, breaking=True)


def _compare_enum(before: list[Any], after: list[Any], path: str) -> Iterator[Change]:
    """A list of values that appears or goes is no change of this kind, as in kro."""
    if not before or not after:
        return
    old, new = [json.dumps(value) for value in before], [json.dumps(value) for value in after]
    for value in old:
        if value not in new:
            yield Change(path, "ENUM_RESTRICTED", f"Enum value {value} was removed", breaking=True)
    for value in new:
        if value not in old:
            yield Change(path, "ENUM_EXPANDED", f"Enum value {value} was added")


def _compare_within(before: Any, after: Any, path: str) -> Iterator[Change]:
    """The schemas of what a list or a map holds."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from compare_schemas(dict(before), dict(after), path)
    elif isinstance(before, Mapping):
        yield _removed(path)
    elif isinstance(after, Mapping):
        yield Change(path, "PROPERTY_ADDED", f"Optional property {_last(path)} was added")


def _default(schema: JsonObject) -> str:
    return json.dumps(schema["default"]) if "default" in schema else ""


def _type_changed(path: str, old: Any, new: Any) -> Change:
    return Change(path, "TYPE_CHANGED", f"Type changed from {old} to {new}", breaking=True)


def _removed(path: str) -> Change:
    return Change(path, "PROPERTY_REMOVED", f"Property {_last(path)} was removed", breaking=True)


def _last(path: str) -> str:
    return path.rpartition(".")[2]
