"""Which changes of a definition break instances, and how that is told."""

from __future__ import annotations

import pytest
import yaml

from edgekeeper.controllers.composition.compatibility import Report, compare_definitions, compare_schemas
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.core.json import JsonObject
from tests.unit.controllers.composition.cases import definition, graph_of


def _compare(old: JsonObject, new: JsonObject) -> Report:
    return compare_definitions(
        graph_of(definition(spec=old)).definition, graph_of(definition(spec=new)).definition
    )


@pytest.mark.parametrize(
    ("old", "new", "kind", "description"),
    [
        ("a: string", "", "PROPERTY_REMOVED", "Property a was removed"),
        ("a: string", "a: integer", "TYPE_CHANGED", "Type changed from string to integer"),
        ("a: string", "a: string | required=true", "REQUIRED_ADDED", "Field a is newly required"),
        ("", "a: string | required=true", "PROPERTY_ADDED", "Required property a was added"),
        ('a: string | enum="x,y"', 'a: string | enum="x"', "ENUM_RESTRICTED", 'Enum value "y" was removed'),
        ("a: string", 'a: string | pattern="^x"', "PATTERN_ADDED", "Validation pattern ^x was added"),
        ('a: string | pattern="^x"', 'a: string | pattern="^y"', "PATTERN_CHANGED",
         "Validation pattern changed from ^x to ^y"),
        ("a: string | required=true default=x", "a: string | required=true", "REQUIRED_DEFAULT_REMOVED",
         "Default value removed from required field a"),
        ("a: integer", "a: integer | minimum=1", "MINIMUM_ADDED", "Minimum constraint 1 was added"),
        ("a: integer | minimum=1", "a: integer | minimum=2", "MINIMUM_INCREASED", "Minimum was increased from 1 to 2"),
        ("a: integer", "a: integer | maximum=1", "MAXIMUM_ADDED", "Maximum constraint 1 was added"),
        ("a: integer | maximum=2", "a: integer | maximum=1", "MAXIMUM_DECREASED", "Maximum was decreased from 2 to 1"),
        ("a: string", "a: string | minLength=1", "MIN_LENGTH_ADDED", "MinLength constraint 1 was added"),
        ("a: string | maxLength=5", "a: string | maxLength=4", "MAX_LENGTH_DECREASED",
         "MaxLength was decreased from 5 to 4"),
        ("a: '[]string'", "a: '[]string | minItems=1'", "MIN_ITEMS_ADDED", "MinItems constraint 1 was added"),
        ("a: '[]string | maxItems=2'", "a: '[]string | maxItems=1'", "MAX_ITEMS_DECREASED",
         "MaxItems was decreased from 2 to 1"),
        ("a: '[]string'", "a: '[]integer'", "TYPE_CHANGED", "Type changed from string to integer"),
        ("a: 'map[string]string'", "a: 'map[string]integer'", "TYPE_CHANGED", "Type changed from string to integer"),
        ("a: {b: {c: string}}", "a: {b: {}}", "PROPERTY_REMOVED", "Property c was removed"),
    ],
)  # fmt: skip
def test_change_that_breaks_is_reported(old: str, new: str, kind: str, description: str) -> None:
    (change,) = _compare(_fields(old), _fields(new)).breaking
    assert (change.type, change.description) == (kind, description)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("", "a: string", "PROPERTY_ADDED"),
        ("", "a: string | required=true default=x", "PROPERTY_ADDED"),
        ("a: string | required=true", "a: string", "REQUIRED_REMOVED"),
        ('a: string | enum="x"', 'a: string | enum="x,y"', "ENUM_EXPANDED"),
        ('a: string | pattern="^x"', "a: string", "PATTERN_REMOVED"),
        ("a: integer | minimum=1", "a: integer", "MINIMUM_REMOVED"),
        ("a: integer | minimum=2", "a: integer | minimum=1", "MINIMUM_DECREASED"),
        ("a: integer | maximum=1", "a: integer | maximum=2", "MAXIMUM_INCREASED"),
        ("a: string | default=x", "a: string | default=y", "DEFAULT_CHANGED"),
        ("a: string", 'a: string | description="what"', "DESCRIPTION_CHANGED"),
    ],
)
def test_change_that_does_not_break_is_reported_as_such(old: str, new: str, kind: str) -> None:
    report = _compare(_fields(old), _fields(new))
    assert report.breaking == ()
    assert kind in {change.type for change in report.changes}
    assert str(report) == "no breaking changes"


def test_maps_and_lists_that_lose_or_gain_the_schema_of_what_they_hold() -> None:
    described = {"type": "object", "additionalProperties": {"type": "string"}}
    bare = {"type": "object"}
    (lost,) = compare_schemas(described, bare)
    assert (lost.path, lost.type, lost.breaking) == (".additionalProperties", "PROPERTY_REMOVED", True)
    (gained,) = compare_schemas(bare, described)
    assert (gained.type, gained.breaking) == ("PROPERTY_ADDED", False)


def test_definition_without_a_schema_is_not_compared() -> None:
    bare = graph_of(definition()).definition
    del bare["spec"]["versions"][0]["schema"]
    with pytest.raises(RejectedError, match="old version v1alpha1 has no schema"):
        compare_definitions(bare, graph_of(definition()).definition)


def test_nothing_changes_between_equal_definitions() -> None:
    spec = {"a": 'string | enum="x" required=true', "b": {"c": "[]integer | minItems=1"}}
    assert _compare(spec, spec).changes == ()


def test_summary_describes_three_changes() -> None:
    fields = dict.fromkeys("abcde", "string")
    assert str(_compare(fields, {})) == (
        "Property a was removed; Property b was removed; Property c was removed; and 2 more changes"
    )


def test_other_version_or_lost_status_breaks() -> None:
    old = graph_of(definition()).definition
    other = graph_of(definition(apiVersion="v1")).definition
    assert [change.type for change in compare_definitions(old, other).breaking] == ["TYPE_CHANGED"]
    bare = graph_of(definition()).definition
    bare["spec"]["versions"][0].pop("subresources")
    bare["spec"]["versions"][0]["served"] = False
    paths = [change.path for change in compare_definitions(old, bare).breaking]
    assert paths == ["version.served", "version.subresources.status"]


def test_columns_do_not_break() -> None:
    column = {"name": "A", "type": "string", "jsonPath": ".spec.a"}
    changed = graph_of(definition(additionalPrinterColumns=[column])).definition
    report = compare_definitions(graph_of(definition()).definition, changed)
    assert [change.type for change in report.changes] == ["ADDITIONAL_PRINTER_COLUMNS_CHANGED"]
    assert not report.breaking


def test_definition_with_several_versions_is_not_ours_to_compare() -> None:
    several = graph_of(definition()).definition
    several["spec"]["versions"] *= 2
    with pytest.raises(RejectedError, match="expected exactly one version in each CRD, got 2 old and 1 new"):
        compare_definitions(several, graph_of(definition()).definition)


def _fields(text: str) -> JsonObject:
    fields: JsonObject = yaml.safe_load(text) or {}
    return fields
