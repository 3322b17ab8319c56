"""Who owns what after a create, replace or patch."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.apply import FieldTypes, Writer, keep_times_if_unchanged, record_update
from kubesim.plane.apply.fieldset import members

STRING: JsonObject = {"type": "string"}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "a": STRING,
                "b": STRING,
                "args": {"type": "array", "items": STRING},
                "tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
                "items": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": STRING, "v": STRING}},
                },
                "free": {"x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "properties": {"phase": STRING}},
    },
}
TYPES = FieldTypes.of(SCHEMA)
T1, T2, T3 = (f"2026-01-01T00:00:0{second}Z" for second in (1, 2, 3))


def widget(spec: JsonObject, **metadata: Any) -> JsonObject:
    return {"apiVersion": "e.io/v1", "kind": "Widget", "metadata": {"name": "w", **metadata}, "spec": spec}


def by(manager: str, time: str = T1, subresource: str = "") -> Writer:
    return Writer(manager, "e.io/v1", time, subresource)


def created(spec: JsonObject, manager: str = "alice", **metadata: Any) -> JsonObject:
    """A stored object: created by somebody, with a uid as the server gives it."""
    new = widget(spec, **metadata)
    record_update(TYPES, None, new, by(manager))
    new["metadata"]["uid"] = "u1"
    return new


def updated(live: JsonObject, writer: Writer, **changes: Any) -> JsonObject:
    """The live object with parts replaced by somebody who sends no managedFields."""
    new = {**copy.deepcopy(live), **changes}
    new["metadata"].pop("managedFields", None)
    record_update(TYPES, live, new, writer)
    return new


def owners(stored: JsonObject) -> dict[str, str]:
    """What each manager owns, as compact text."""
    entries = stored["metadata"].get("managedFields", [])
    return {entry["manager"]: json.dumps(entry["fieldsV1"], separators=(",", ":")) for entry in entries}


def times(stored: JsonObject) -> dict[str, str]:
    return {entry["manager"]: entry["time"] for entry in stored["metadata"]["managedFields"]}


def test_creator_owns_everything_but_what_identifies_the_object() -> None:
    new = widget(
        {"a": "1", "args": ["x"], "tags": ["t"], "items": [{"name": "i", "v": "1"}], "free": {"p": [{}]}},
        labels={"l": "1"},
        generateName="w-",
        namespace="default",
        finalizers=["f/g"],
    )
    record_update(TYPES, None, new, by("alice"))
    assert new["metadata"]["managedFields"] == [
        {
            "manager": "alice",
            "operation": "Update",
            "apiVersion": "e.io/v1",
            "time": T1,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {
                    "f:finalizers": {".": {}, 'v:"f/g"': {}},
                    "f:generateName": {},
                    "f:labels": {".": {}, "f:l": {}},
                },
                "f:spec": {
                    ".": {},
                    "f:a": {},
                    "f:args": {},
                    "f:free": {".": {}, "f:p": {}},
                    "f:items": {".": {}, 'k:{"name":"i"}': {".": {}, "f:name": {}, "f:v": {}}},
                    "f:tags": {".": {}, 'v:"t"': {}},
                },
            },
        }
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"a": "1", "b": "2"}, {"alice": '{".":{},"f:a":{},"f:b":{}}'}, id="no change, no new owner"
        ),
        pytest.param(
            {"a": "9", "b": "2"},
            {"alice": '{".":{},"f:b":{}}', "bob": '{"f:a":{}}'},
            id="a changed field goes to who changed it",
        ),
        pytest.param({"a": "1"}, {"alice": '{".":{},"f:a":{}}'}, id="a removed field belongs to nobody"),
        pytest.param(
            {"a": "1", "b": "2", "tags": ["x"]},
            {"alice": '{".":{},"f:a":{},"f:b":{}}', "bob": '{"f:tags":{".":{},"v:\\"x\\"":{}}}'},
            id="an added list belongs to who added it",
        ),
        pytest.param(
            {"a": "1", "b": "2", "free": True},
            {"alice": '{".":{},"f:a":{},"f:b":{}}', "bob": '{"f:free":{}}'},
            id="a field without a schema is a leaf while it is a scalar",
        ),
    ],
)
def test_update_moves_ownership_with_the_change(spec: JsonObject, expected: dict[str, str]) -> None:
    after = updated(created({"a": "1", "b": "2"}), by("bob", T2), spec=spec)
    assert owners(after) == {manager: f'{{"f:spec":{fields}}}' for manager, fields in expected.items()}


@pytest.mark.parametrize(
    ("before", "after", "alice", "bob"),
    [
        pytest.param(
            {"p": {"q": "1"}},
            {"p": "x"},
            "{}",
            '{"f:p":{}}',
            id="a map that became a scalar loses its content",
        ),
        pytest.param(
            {"p": "x"},
            {"p": {"q": "1"}},
            "{}",
            '{"f:p":{".":{},"f:q":{}}}',
            id="a scalar that became a map",
        ),
        pytest.param({"p": {}}, {"p": []}, "{}", '{"f:p":{}}', id="an empty map that became a list"),
        pytest.param(
            {"p": {}},
            {"p": {"q": "1"}},
            '{".":{},"f:p":{}}',
            '{"f:p":{"f:q":{}}}',
            id="an empty map that was filled",
        ),
        pytest.param({"p": 1}, {"p": True}, "{}", '{"f:p":{}}', id="one is not true"),
        pytest.param({"p": [1]}, {"p": [True]}, "{}", '{"f:p":{}}', id="not inside a list either"),
        pytest.param(
            {"p": None}, {"p": {"q": 1}}, '{".":{},"f:p":{}}', '{"f:p":{"f:q":{}}}', id="null is no map"
        ),
    ],
)
def test_update_of_untyped_content(before: Any, after: Any, alice: str, bob: str) -> None:
    stored = updated(created({"free": before}), by("bob", T2), spec={"free": after})
    assert owners(stored) == {
        "alice": f'{{"f:spec":{{".":{{}},"f:free":{alice}}}}}',
        "bob": f'{{"f:spec":{{"f:free":{bob}}}}}',
    }


def test_update_of_equal_numbers_is_no_change() -> None:
    live = created({"free": {"p": 1}})
    assert updated(live, by("bob", T2), spec={"free": {"p": 1.0}})["metadata"] == live["metadata"]


def test_list_map_items_are_owned_one_by_one() -> None:
    live = created({"items": [{"name": "i", "v": "1"}, {"name": "j"}]})
    items = [{"name": "k"}, {"name": "i", "v": "2"}]
    after = updated(live, by("bob", T2), spec={"items": items})
    assert owners(after) == {
        "alice": '{"f:spec":{".":{},"f:items":{".":{},"k:{\\"name\\":\\"i\\"}":{".":{},"f:name":{}}}}}',
        "bob": '{"f:spec":{"f:items":{"k:{\\"name\\":\\"i\\"}":{"f:v":{}},'
        '"k:{\\"name\\":\\"k\\"}":{".":{},"f:name":{}}}}}',
    }


@pytest.mark.parametrize(
    ("before", "after", "alice", "bob"),
    [
        pytest.param(["x", "x"], ["x", "x"], {'v:"x"'}, set(), id="kept"),
        pytest.param(["x"], ["x", "x"], set(), {'v:"x"'}, id="new"),
        pytest.param(["x", "x"], ["x"], set(), {'v:"x"'}, id="resolved"),
        pytest.param(["x", "x"], [], set(), set(), id="gone"),
        pytest.param(["x", "x"], ["x", "x", "x"], set(), {'v:"x"'}, id="more"),
    ],
)
def test_repeated_items_are_one_indivisible_group(
    before: list[str], after: list[str], alice: set[str], bob: set[str]
) -> None:
    stored = updated(created({"tags": before}), by("bob", T2), spec={"tags": after})
    owned = {
        entry["manager"]: set(entry["fieldsV1"]["f:spec"]["f:tags"]) - {"."}
        for entry in stored["metadata"]["managedFields"]
        if "f:tags" in entry["fieldsV1"]["f:spec"]
    }
    assert owned.get("alice", set()) == alice
    assert owned.get("bob", set()) == bob


def test_writer_keeps_one_entry_and_its_time_follows_its_changes() -> None:
    live = created({"a": "1", "b": "1"})
    after = updated(live, by("alice", T2), spec={"a": "2", "b": "1"})
    assert owners(after) == owners(live)
    assert times(after) == {"alice": T2}


def test_removal_alone_leaves_times_alone() -> None:
    after = updated(created({"a": "1", "b": "1"}), by("alice", T2), spec={"a": "1"})
    assert times(after) == {"alice": T1}


def test_managers_left_with_nothing_disappear() -> None:
    live = created({"a": "1"})
    after = updated(updated(live, by("bob", T2), spec={"a": "2"}), by("carol", T3), spec={"a": "3"})
    assert "bob" not in owners(after)


def test_entries_differ_by_subresource_and_version() -> None:
    live = created({"a": "1"})
    after = updated(live, by("alice", T2, "status"), status={"phase": "Ready"})
    after = updated(after, Writer("alice", "e.io/v2", T3), spec={"a": "2"})
    entries = [(e["apiVersion"], e.get("subresource")) for e in after["metadata"]["managedFields"]]
    assert entries == [("e.io/v1", None), ("e.io/v1", "status"), ("e.io/v2", None)]


def test_ignored_fields_are_not_owned() -> None:
    new = {**widget({"a": "1"}), "status": {"phase": "x"}}
    record_update(TYPES, None, new, by("alice"), ignored=[("status",)])
    assert owners(new) == {"alice": '{"f:spec":{".":{},"f:a":{}}}'}


def test_status_write_owns_status_only() -> None:
    live = created({"a": "1"})
    new = {**copy.deepcopy(live), "spec": {"a": "2"}, "status": {"phase": "x"}}
    record_update(TYPES, live, new, by("ctl", T2, "status"), ignored=[("spec",), ("metadata",)])
    assert owners(new)["ctl"] == '{"f:status":{".":{},"f:phase":{}}}'
    assert owners(new)["alice"] == owners(live)["alice"]


@pytest.mark.parametrize(
    ("entries", "builtin", "is_cleared"),
    [
        pytest.param([{}], False, True, id="one empty entry clears"),
        pytest.param([{}], True, True, id="one empty entry clears a built-in"),
        pytest.param([], True, True, id="an empty list clears a built-in"),
        pytest.param([], False, False, id="an empty list means none for a custom resource"),
        pytest.param(None, False, False, id="null means none"),
        pytest.param([{"operation": "Sing"}], False, False, id="malformed entries are ignored"),
        pytest.param(
            [{"operation": "Apply", "apiVersion": "v1", "fieldsType": "X"}],
            False,
            False,
            id="unknown field format",
        ),
        pytest.param([{"operation": "Apply", "fieldsType": "FieldsV1"}], False, False, id="no version"),
    ],
)
def test_sent_managed_fields_can_clear_ownership_but_not_corrupt_it(
    entries: Any, builtin: bool, is_cleared: bool
) -> None:
    types = FieldTypes.of(SCHEMA, {"Unused": {}}) if builtin else TYPES
    live = created({"a": "1"})
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"] = entries
    record_update(types, live, new, by("bob", T2))
    assert ("managedFields" not in new["metadata"]) == is_cleared
    assert is_cleared or new == live


def test_sent_managed_fields_are_taken_in_canonical_form() -> None:
    live = created({"a": "1"})
    new = copy.deepcopy(live)
    entry = {"manager": "z", "operation": "Apply", "apiVersion": "e.io/v1", "fieldsType": "FieldsV1"}
    tree: JsonObject = {"f:spec": {"f:items": {'k:{ "name": "i" }': {}}, "f:a": {}}}
    new["metadata"]["managedFields"] = [{**entry, "time": T1, "fieldsV1": tree}]
    record_update(TYPES, live, new, by("bob", T2))
    assert owners(new) == {"z": '{"f:spec":{"f:a":{},"f:items":{"k:{\\"name\\":\\"i\\"}":{}}}}'}


def test_sent_managed_fields_are_ignored_through_a_subresource() -> None:
    live = created({"a": "1"})
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"] = [{}]
    record_update(TYPES, live, new, by("bob", T2, "status"))
    assert new == live


def test_untracked_object_stays_untracked() -> None:
    live = widget({"a": "1"}, uid="u1")
    new = widget({"a": "2"}, uid="u1")
    record_update(TYPES, live, new, by("bob"))
    assert "managedFields" not in new["metadata"]


def test_items_that_cannot_be_told_apart_end_the_tracking() -> None:
    after = updated(created({"a": "1"}), by("bob", T2), spec={"items": [{"v": "no name"}]})
    assert "managedFields" not in after["metadata"]


def test_fields_below_a_node_that_became_atomic_are_owned_as_a_whole() -> None:
    live = created({"items": [{"name": "i"}], "free": {"p": "1"}})
    schema = copy.deepcopy(SCHEMA)
    spec = schema["properties"]["spec"]["properties"]
    spec["items"]["x-kubernetes-list-type"] = "atomic"
    spec["free"] = {"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"}
    new = copy.deepcopy(live)
    record_update(FieldTypes.of(schema), live, new, by("bob", T2))
    assert owners(new) == {"alice": '{"f:spec":{".":{},"f:free":{},"f:items":{}}}'}


def test_oldest_updaters_are_merged_beyond_ten() -> None:
    live = created({"free": {"k00": 1}}, manager="u00")
    for number in range(1, 13):
        free = {**live["spec"]["free"], f"k{number:02}": 1}
        writer = by(f"u{number:02}", f"2026-01-01T00:01:{number:02}Z")
        live = updated(live, writer, spec={"free": free})
    entries = live["metadata"]["managedFields"]
    assert [entry["manager"] for entry in entries] == [
        "ancient-changes",
        *(f"u{number:02}" for number in range(4, 13)),
    ]
    assert set(entries[0]["fieldsV1"]["f:spec"]["f:free"]) == {".", "f:k00", "f:k01", "f:k02", "f:k03"}
    assert entries[0]["time"] == "2026-01-01T00:01:03Z"


def test_times_are_kept_where_only_they_differ() -> None:
    live = created({"a": "1"})
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"][0]["time"] = T3
    keep_times_if_unchanged(live, new)
    assert new == live


def test_times_advance_where_anything_else_differs() -> None:
    live = created({"a": "1"})
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"][0]["time"] = T3
    new["spec"]["b"] = "late default"
    keep_times_if_unchanged(live, new)
    assert times(new) == {"alice": T3}


texts = st.sampled_from(["1", "2", "3"])
items: st.SearchStrategy[list[JsonObject]] = st.lists(
    st.fixed_dictionaries({"name": texts}, optional={"v": texts}), unique_by=lambda item: str(item["name"])
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "a": texts,
        "b": texts,
        "args": st.lists(texts, max_size=2),
        "tags": st.lists(texts, unique=True, max_size=3),
        "items": items,
        "free": st.recursive(
            texts | st.booleans() | st.integers(0, 1),
            lambda inner: st.dictionaries(texts, inner, max_size=2) | st.lists(inner, max_size=2),
            max_leaves=4,
        ),
    },
)


@given(specs, specs)
def test_unchanged_object_keeps_its_managed_fields(first: JsonObject, second: JsonObject) -> None:
    live = updated(created(first), by("bob", T2), spec=second)
    assert updated(live, by("carol", T3)) == live


@given(specs, specs)
def test_update_never_changes_the_live_object(first: JsonObject, second: JsonObject) -> None:
    live = created(first)
    before = copy.deepcopy(live)
    updated(live, by("bob", T2), spec=second)
    assert live == before


@given(specs, specs)
def test_every_field_has_exactly_one_updater(first: JsonObject, second: JsonObject) -> None:
    after = updated(created(first), by("bob", T2), spec=second)
    owned = [path for fields in owners(after).values() for path in members(json.loads(fields))]
    assert sorted(owned) == sorted(members(json.loads(owners(created(second))["alice"])))
