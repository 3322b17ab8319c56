"""Server-side apply: merging, removing, sharing and taking over fields."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.apply import (
    ApplyConflict,
    ApplyError,
    FieldTypes,
    Writer,
    apply_configuration,
    record_update,
)
from kubesim.plane.apply.lastapplied import ANNOTATION

STRING: JsonObject = {"type": "string"}
ITEM: JsonObject = {
    "type": "object",
    "properties": {
        "name": STRING,
        "v": STRING,
        "w": STRING,
        "sub": {"type": "object", "properties": {"x": STRING, "y": STRING}},
    },
}
SPEC: dict[str, JsonObject] = {
    "a": STRING,
    "b": STRING,
    "flag": {"type": "boolean"},
    "count": {"type": "integer"},
    "args": {"type": "array", "items": STRING},
    "tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    "map": {"type": "object", "additionalProperties": STRING},
    "whole": {"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
    "nest": {
        "type": "object",
        "properties": {"x": {"type": "object", "properties": {"y": STRING, "z": STRING}}},
    },
    "items": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": ITEM,
    },
    "any": {"x-kubernetes-preserve-unknown-fields": True},
}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": SPEC},
        "status": {"type": "object", "properties": {"phase": STRING}},
    },
}
TYPES = FieldTypes.of(SCHEMA)
T1, T2, T3 = (f"2026-01-01T00:00:0{second}Z" for second in (1, 2, 3))


def widget(spec: JsonObject, **metadata: Any) -> JsonObject:
    return {"apiVersion": "e.io/v1", "kind": "Widget", "metadata": {"name": "w", **metadata}, "spec": spec}


def apply(
    live: JsonObject | None,
    spec: JsonObject,
    manager: str = "alice",
    time: str = T1,
    *,
    force: bool = False,
    **metadata: Any,
) -> JsonObject:
    """Apply and store: what comes back has a uid."""
    writer = Writer(manager, "e.io/v1", time)
    stored = apply_configuration(TYPES, live, widget(spec, **metadata), writer, force=force)
    stored["metadata"]["uid"] = "u1"
    return stored


def update(live: JsonObject, spec: JsonObject, manager: str = "updater", time: str = T2) -> JsonObject:
    new = {**copy.deepcopy(live), "spec": spec}
    record_update(TYPES, live, new, Writer(manager, "e.io/v1", time))
    return new


def owned(stored: JsonObject, manager: str) -> Any:
    """What a manager owns of the spec."""
    for entry in stored["metadata"].get("managedFields", []):
        if entry["manager"] == manager:
            return entry["fieldsV1"].get("f:spec")
    return None


# --- merging ---------------------------------------------------------------------------------------------------


def test_apply_creates_an_object_and_owns_what_it_says() -> None:
    spec = {"a": "1", "items": [{"name": "i", "v": "1"}], "map": {"k": "1"}, "tags": ["t"], "args": []}
    stored = apply_configuration(TYPES, None, widget(spec), Writer("alice", "e.io/v1", T1), force=False)
    assert stored.pop("metadata") == {
        "name": "w",
        "managedFields": [
            {
                "manager": "alice",
                "operation": "Apply",
                "apiVersion": "e.io/v1",
                "time": T1,
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:spec": {
                        "f:a": {},
                        "f:args": {},
                        "f:items": {'k:{"name":"i"}': {".": {}, "f:name": {}, "f:v": {}}},
                        "f:map": {"f:k": {}},
                        "f:tags": {'v:"t"': {}},
                    }
                },
            }
        ],
    }
    assert stored == {"apiVersion": "e.io/v1", "kind": "Widget", "spec": spec}


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        pytest.param({"a": "1"}, {"b": "2"}, {"a": "1", "b": "2"}, id="fields of both are kept"),
        pytest.param({"map": {"k": "1"}}, {"map": {"l": "2"}}, {"map": {"k": "1", "l": "2"}}, id="map keys"),
        pytest.param({"tags": ["a", "b"]}, {"tags": ["c"]}, {"tags": ["a", "b", "c"]}, id="set values"),
        pytest.param(
            {"items": [{"name": "i", "v": "1"}]},
            {"items": [{"name": "i", "w": "2"}, {"name": "j"}]},
            {"items": [{"name": "i", "v": "1", "w": "2"}, {"name": "j"}]},
            id="items and fields of items",
        ),
        pytest.param(
            {"any": {"p": {"q": 1}}},
            {"any": {"p": {"r": 2}}},
            {"any": {"p": {"q": 1, "r": 2}}},
            id="unknown content",
        ),
    ],
)
def test_appliers_of_different_fields_share_an_object(
    first: JsonObject, second: JsonObject, result: JsonObject
) -> None:
    assert apply(apply(None, first), second, "bob", T2)["spec"] == result


@pytest.mark.parametrize(
    ("live", "applied", "result"),
    [
        ("abc", "abc", "abc"),
        ("abc", "d", "abcd"),
        ("abc", "db", "adbc"),
        ("abc", "cb", "acb"),
        ("abc", "cba", "cba"),
        ("abcd", "dXa", "bcdXa"),
        ("abc", "Xa", "Xabc"),
        ("", "ab", "ab"),
        ("abcdef", "fbx", "acdefbx"),
    ],
)
def test_merged_list_has_applied_order_and_keeps_others_near_their_neighbours(
    live: str, applied: str, result: str
) -> None:
    stored = apply(None, {"tags": list(live)}) if live else None
    assert "".join(apply(stored, {"tags": list(applied)}, "bob")["spec"]["tags"]) == result


def test_null_leaves_containers_alone_and_sets_scalars() -> None:
    live = apply(None, {"a": "1", "map": {"k": "1"}, "items": [{"name": "i"}]})
    stored = apply(live, {"a": None, "map": None, "items": None}, "bob", force=True)
    assert stored["spec"] == {"a": None, "map": {"k": "1"}, "items": [{"name": "i"}]}


def test_applied_items_replace_those_that_repeat_their_key() -> None:
    live = update(apply(None, {}), {"items": [{"name": "i", "v": "1"}, {"name": "i", "v": "2"}]})
    stored = apply(live, {"items": [{"name": "i", "w": "3"}]}, force=True)
    assert stored["spec"]["items"] == [{"name": "i", "w": "3"}]


# --- removing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        pytest.param({"a": "1", "b": "1"}, {"b": "1"}, {"b": "1"}, id="a field"),
        pytest.param(
            {"map": {"k": "1", "l": "1"}, "a": "1"}, {"map": {"l": "1"}, "a": "1"}, None, id="a map key"
        ),
        pytest.param({"tags": ["x", "y"]}, {"tags": ["y"]}, None, id="a set value"),
        pytest.param(
            {"items": [{"name": "i"}, {"name": "j"}]}, {"items": [{"name": "j"}]}, None, id="an item"
        ),
        pytest.param(
            {"items": [{"name": "i", "v": "1"}]}, {"items": [{"name": "i"}]}, None, id="a field of an item"
        ),
        pytest.param(
            {"a": "1", "nest": {"x": {"y": "1"}}}, {"a": "1"}, None, id="structs that held it go too"
        ),
        pytest.param({"a": "1", "items": [{"name": "i"}]}, {"a": "1"}, None, id="lists that held it go too"),
        pytest.param({"a": "1", "any": {"p": {"q": 1}}}, {"a": "1"}, None, id="unknown content"),
        pytest.param({"a": "1", "whole": {"k": "1"}}, {"a": "1"}, None, id="an atomic map"),
    ],
)
def test_what_is_no_longer_applied_is_removed(
    first: JsonObject, second: JsonObject, result: JsonObject | None
) -> None:
    assert apply(apply(None, first), second, time=T2)["spec"] == (result or second)


def test_what_another_applier_says_too_is_kept() -> None:
    both = apply(apply(None, {"a": "1", "b": "1"}), {"a": "1"}, "bob", T2)
    stored = apply(both, {"b": "1"}, time=T3)
    assert stored["spec"] == {"a": "1", "b": "1"}
    assert owned(stored, "alice") == {"f:b": {}}


def test_item_survives_its_applier_with_what_another_says_of_it() -> None:
    live = apply(None, {"items": [{"name": "i", "v": "1"}]})
    live = apply(live, {"items": [{"name": "i", "w": "2"}]}, "bob", T2)
    assert apply(live, {"a": "1"}, time=T3)["spec"] == {"a": "1", "items": [{"name": "i", "w": "2"}]}


def test_emptied_struct_becomes_null_as_on_the_real_server() -> None:
    assert apply(apply(None, {"a": "1"}), {}, time=T2)["spec"] is None


def test_what_nobody_owns_is_kept() -> None:
    live = apply(None, {"items": [{"name": "i"}], "a": "1"})
    live["spec"]["items"][0]["v"] = "defaulted"
    live["spec"]["nest"] = {"x": {"y": "defaulted"}}
    assert apply(live, {"items": [{"name": "i"}]}, time=T2)["spec"] == {
        "items": [{"name": "i", "v": "defaulted"}],
        "nest": {"x": {"y": "defaulted"}},
    }


def test_applier_that_says_nothing_more_loses_its_entry() -> None:
    nothing = {"apiVersion": "e.io/v1", "kind": "Widget", "metadata": {"name": "w"}}
    stored = apply_configuration(
        TYPES, apply(None, {"a": "1"}), nothing, Writer("alice", "e.io/v1", T2), force=False
    )
    assert stored == {**nothing, "metadata": {"name": "w", "uid": "u1"}}


# --- conflicts -------------------------------------------------------------------------------------------------


def conflict_of(live: JsonObject, spec: JsonObject, manager: str = "bob") -> ApplyConflict:
    with pytest.raises(ApplyConflict) as caught:
        apply(live, spec, manager, T3)
    return caught.value


def test_changing_a_field_of_an_updater_conflicts() -> None:
    live = widget({"a": "1"})
    record_update(TYPES, None, live, Writer("kubectl-edit", "e.io/v1", T1))
    conflict = conflict_of(live, {"a": "2"})
    assert (conflict.code, conflict.reason) == (409, "Conflict")
    assert conflict.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-edit" using e.io/v1: .spec.a'
    )
    assert conflict.causes == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl-edit" using e.io/v1',
            "field": ".spec.a",
        }
    ]
    assert conflict.status()["details"] == {"causes": conflict.causes}


def test_several_conflicts_are_listed_by_manager() -> None:
    live = apply(None, {"a": "1", "items": [{"name": "i", "v": "1"}]}, "zoe")
    live = update(live, {**live["spec"], "tags": ["t"], "count": 1}, "ann")
    conflict = conflict_of(live, {"a": "2", "items": [{"name": "i", "v": "2"}], "count": 2})
    assert conflict.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "ann" using e.io/v1:\n- .spec.count\n'
        'conflicts with "zoe":\n- .spec.a\n- .spec.items[name="i"].v'
    )


def test_conflict_names_the_subresource() -> None:
    live = apply(None, {"a": "1"})
    new = {**copy.deepcopy(live), "status": {"phase": "x"}}
    record_update(TYPES, live, new, Writer("ctl", "e.io/v1", T2, "status"))
    applied = {**widget({}), "status": {"phase": "y"}}
    with pytest.raises(ApplyConflict) as caught:
        apply_configuration(TYPES, new, applied, Writer("bob", "e.io/v1", T3), force=False)
    assert caught.value.causes[0]["message"] == (
        'conflict with "ctl" with subresource "status" using e.io/v1'
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"args": ["x"]}, {"args": ["x", "y"]}, id="an atomic list"),
        pytest.param({"whole": {"k": "1"}}, {"whole": {"k": "1", "l": "1"}}, id="an atomic map"),
        pytest.param({"any": {"p": [1]}}, {"any": {"p": [True]}}, id="a list in unknown content"),
        pytest.param({"any": {"p": 1}}, {"any": {"p": {"q": 1}}}, id="a value that changes its form"),
    ],
)
def test_wholes_conflict_when_any_part_differs(first: JsonObject, second: JsonObject) -> None:
    conflict_of(apply(None, first), second)


def test_same_value_is_shared_and_agreeing_sets_no_time() -> None:
    stored = apply(apply(None, {"a": "1"}), {"a": "1"}, "bob", T2)
    assert owned(stored, "alice") == owned(stored, "bob") == {"f:a": {}}
    entries = {entry["manager"]: entry.get("time") for entry in stored["metadata"]["managedFields"]}
    assert entries == {"alice": T1, "bob": None}


def test_force_takes_ownership() -> None:
    stored = apply(apply(None, {"a": "1", "b": "1"}), {"a": "2"}, "bob", T2, force=True)
    assert stored["spec"] == {"a": "2", "b": "1"}
    assert owned(stored, "alice") == {"f:b": {}}
    assert owned(stored, "bob") == {"f:a": {}}


def test_applier_and_updater_of_the_same_name_are_two_managers() -> None:
    live = update(apply(None, {"a": "1"}), {"a": "2"}, "alice")
    assert (
        conflict_of(live, {"a": "3"}, "alice").causes[0]["message"] == 'conflict with "alice" using e.io/v1'
    )


def test_ignored_fields_neither_conflict_nor_are_owned() -> None:
    live = apply(None, {"a": "1"})
    new = {**copy.deepcopy(live), "status": {"phase": "x"}}
    record_update(TYPES, live, new, Writer("ctl", "e.io/v1", T2, "status"))
    applied = {**widget({"a": "1"}), "status": {"phase": "y"}}
    writer = Writer("alice", "e.io/v1", T3)
    stored = apply_configuration(TYPES, new, applied, writer, force=False, ignored=[("status",)])
    fields = {entry["manager"]: entry["fieldsV1"] for entry in stored["metadata"]["managedFields"]}
    assert fields == {"alice": {"f:spec": {"f:a": {}}}, "ctl": {"f:status": {".": {}, "f:phase": {}}}}


def test_first_apply_to_an_untracked_object_names_what_was_there() -> None:
    live = widget({"a": "1", "b": "1"}, uid="u1")
    stored = apply(live, {"b": "1"}, time=T2)
    assert owned(stored, "before-first-apply") == {".": {}, "f:a": {}, "f:b": {}}
    assert (
        conflict_of(live, {"b": "2"}).causes[0]["message"]
        == 'conflict with "before-first-apply" using e.io/v1'
    )


# --- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"zzz": 1}, ".spec.zzz: field not declared in schema"),
        ({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]'),
        ({"items": [{"name": "i"}, {"name": "i"}]}, '.spec.items: duplicate entries for key [name="i"]'),
        (
            {"items": [{"v": "1"}]},
            (
                ".spec.items: element 0: associative list with keys has an element that omits all key fields "
                '["name"] (and doesn\'t have default values for any key fields)'
            ),
        ),
        ({"items": [None]}, ".spec.items: element 0: associative list with keys may not have a null element"),
        (
            {"items": ["x"]},
            ".spec.items: element 0: associative list with keys may not have non-map elements",
        ),
        (
            {"tags": [{}]},
            ".spec.tags: element 0: associative list without keys has an element that's a map type",
        ),
        ({"tags": [[]]}, ".spec.tags: element 0: not supported: associative list with lists as elements"),
        (
            {"tags": [None]},
            ".spec.tags: element 0: associative list without keys has an element that's an explicit null",
        ),
        ({"map": ["a", 1]}, ".spec.map: expected map, got &{[a 1]}"),
        ({"args": {"b": None, "a": 1.5}}, ".spec.args: expected list, got &{map[a:1.5 b:<nil>]}"),
        ({"a": 5}, ".spec.a: expected string, got &value.valueUnstructured{Value:5}"),
        (
            {"a": {"x": [True, "y", None]}},
            (
                '.spec.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"x":'
                '[]interface {}{true, "y", interface {}(nil)}}}'
            ),
        ),
        ({"count": "x"}, ".spec.count: expected numeric (int or float), got string"),
        ({"flag": "x"}, ".spec.flag: expected boolean, got &{x}"),
        ({"items": [{"name": "i", "q": 1}]}, '.spec.items[name="i"].q: field not declared in schema'),
        (
            {"args": [1, {}]},
            (
                "errors:\n  .spec.args[0]: expected string, got &value.valueUnstructured{Value:1}\n"
                "  .spec.args[1]: expected string, got &value.valueUnstructured{Value:map[string]interface {}{}}"
            ),
        ),
    ],
)
def test_unfit_configuration_is_refused_in_the_servers_words(spec: JsonObject, problem: str) -> None:
    with pytest.raises(ApplyError) as caught:
        apply(None, spec, namespace="default")
    prefix = "failed to create typed patch object (default/w; e.io/v1, Kind=Widget): "
    assert caught.value.message == prefix + problem
    assert caught.value.code == 500


@pytest.mark.parametrize("entries", [[], [{}]])
def test_configuration_may_not_state_managed_fields(entries: list[Any]) -> None:
    with pytest.raises(ApplyError, match=r"^metadata\.managedFields must be nil$") as caught:
        apply(None, {}, managedFields=entries)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"apiVersion": "e.io/v2"}, "e.io/v2, Kind=Widget"),
        ({"apiVersion": "v1"}, "/v1, Kind=Widget"),
        ({"kind": "Gadget"}, "e.io/v1, Kind=Gadget"),
    ],
)
def test_configuration_of_another_type_is_refused(change: JsonObject, shown: str) -> None:
    live = apply(None, {})
    with pytest.raises(ApplyError) as caught:
        apply_configuration(TYPES, live, {**widget({}), **change}, Writer("a", "e.io/v1", T1), force=False)
    assert caught.value.message == f"invalid object type: {shown}"


# --- kubectl ---------------------------------------------------------------------------------------------------


def client_applied(spec: JsonObject) -> JsonObject:
    """An object as `kubectl apply` without server-side apply leaves it."""
    manifest = widget(spec)
    live = widget(spec, annotations={ANNOTATION: json.dumps(manifest)}, uid="u1")
    record_update(TYPES, None, live, Writer("kubectl-client-side-apply", "e.io/v1", T1))
    return live


def test_kubectl_does_not_conflict_with_its_own_client_side_apply() -> None:
    stored = apply(client_applied({"a": "1"}), {"a": "<2>"}, "kubectl", T2)
    assert stored["spec"] == {"a": "<2>"}
    assert stored["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"e.io/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"a":"\\u003c2\\u003e"}}\n'
    )


def test_kubectl_conflicts_over_what_changed_since_its_client_side_apply() -> None:
    live = client_applied({"a": "1", "b": "1"})
    live = update(live, {"a": "1", "b": "9"})
    assert [cause["field"] for cause in conflict_of(live, {"a": "2", "b": "2"}, "kubectl").causes] == [
        ".spec.b"
    ]


@pytest.mark.parametrize(
    "manifest", ["", "{", '{"apiVersion":"e.io/v0"}', '{"apiVersion":"e.io/v1","zzz":1}']
)
def test_kubectl_conflicts_where_the_annotation_cannot_be_read(manifest: str) -> None:
    live = widget({"a": "1"}, annotations={ANNOTATION: manifest}, uid="u1")
    record_update(TYPES, None, live, Writer("kubectl-client-side-apply", "e.io/v1", T1))
    conflict_of(live, {"a": "2"}, "kubectl")


def test_other_managers_leave_the_annotation_alone() -> None:
    live = client_applied({"a": "1"})
    stored = apply(live, {"b": "1"}, "bob", T2)
    assert stored["metadata"]["annotations"] == live["metadata"]["annotations"]


def test_annotation_that_grew_too_large_is_dropped() -> None:
    stored = apply(client_applied({"a": "1"}), {"a": "x" * 270_000}, "kubectl", T2)
    assert ANNOTATION not in stored["metadata"]["annotations"]


# --- laws ------------------------------------------------------------------------------------------------------

texts = st.sampled_from(["1", "2", "3"])


def specs_of(*names: str) -> st.SearchStrategy[JsonObject]:
    fields: dict[str, st.SearchStrategy[Any]] = {
        "a": texts,
        "b": texts,
        "args": st.lists(texts, max_size=2),
        "tags": st.lists(texts, unique=True, max_size=3),
        "map": st.dictionaries(texts, texts, max_size=2),
        "whole": st.dictionaries(texts, texts, max_size=2),
        "nest": st.fixed_dictionaries(
            {}, optional={"x": st.fixed_dictionaries({}, optional={"y": texts, "z": texts})}
        ),
        "items": st.lists(
            st.fixed_dictionaries({"name": texts}, optional={"v": texts, "w": texts}),
            unique_by=lambda item: str(item["name"]),
            max_size=3,
        ),
        "any": st.recursive(texts, lambda inner: st.dictionaries(texts, inner, max_size=2), max_leaves=4),
    }
    return st.fixed_dictionaries({}, optional={name: fields[name] for name in names or fields})


@given(specs_of(), specs_of())
def test_applying_twice_is_a_no_op(first: JsonObject, second: JsonObject) -> None:
    live = update(apply(None, first), {**first, **second})
    once = apply(live, first, time=T2, force=True)
    assert apply(once, first, time=T3) == once


@given(specs_of("a", "tags", "items"), specs_of("b", "map", "any", "nest"))
def test_disjoint_appliers_commute(first: JsonObject, second: JsonObject) -> None:
    one = apply(apply(None, first, "alice"), second, "bob")
    other = apply(apply(None, second, "bob"), first, "alice")
    assert one["spec"] == other["spec"] == {**first, **second}
    assert owned(one, "alice") == owned(other, "alice")


@given(specs_of(), specs_of(), specs_of())
def test_what_is_applied_is_there(first: JsonObject, second: JsonObject, third: JsonObject) -> None:
    live = apply(update(apply(None, first), second), third, "bob", force=True)
    stored = apply(live, first, time=T3, force=True)
    assert merged_in(without_empty(first), stored.get("spec") or {})


@given(specs_of(), specs_of())
def test_sole_applier_decides_all(first: JsonObject, second: JsonObject) -> None:
    assert without_empty(apply(apply(None, first), second).get("spec")) == without_empty(second)


@given(specs_of(), specs_of())
def test_apply_never_changes_what_it_was_given(first: JsonObject, second: JsonObject) -> None:
    live = apply(None, first)
    before = copy.deepcopy((live, second))
    stored = apply(live, second, "bob", force=True)
    stored["spec"].clear()
    assert (live, second) == before


def merged_in(part: Any, whole: Any) -> bool:
    """Whether all of `part` is found in `whole`, items wherever they are."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and merged_in(part[key], whole[key]) for key in part
        )
    if isinstance(part, list):
        return all(any(merged_in(item, other) for other in whole) for item in part)
    return bool(part == whole)


def without_empty(value: Any) -> Any:
    """The value without empty containers: an emptied list or map may stay behind or not."""
    if not isinstance(value, dict):
        return {} if value is None else value
    inner = {key: without_empty(item) for key, item in value.items()}
    return {key: item for key, item in inner.items() if item not in ({}, [], None)}
