"""Strategic merge patch. Outcomes and messages were compared with kube-apiserver 1.36 for the same patches."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.patch import strategic_merge_patch

NAMED_LIST = {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"}
DEFINITIONS: dict[str, JsonObject] = {
    "test.v1.Workload": {
        "properties": {
            "metadata": {"allOf": [{"$ref": "#/definitions/test.v1.Meta"}], "default": {}},
            "spec": {"$ref": "#/definitions/test.v1.Spec"},
        }
    },
    "test.v1.Meta": {
        "properties": {
            "labels": {"additionalProperties": {"type": "string"}},
            "finalizers": {"items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
        }
    },
    "test.v1.Spec": {
        "properties": {
            "containers": {"items": {"$ref": "#/definitions/test.v1.Container"}, **NAMED_LIST},
            "volumes": {
                "items": {
                    "properties": {
                        "name": {},
                        "emptyDir": {"properties": {}},
                        "configMap": {"properties": {}},
                    }
                },
                "x-kubernetes-patch-strategy": "merge,retainKeys",
                "x-kubernetes-patch-merge-key": "name",
            },
            "strategy": {
                "properties": {"type": {}, "limits": {}},
                "x-kubernetes-patch-strategy": "retainKeys",
            },
            "atomic": {"properties": {"a": {}, "b": {}}, "x-kubernetes-patch-strategy": "replace"},
            "tolerations": {"items": {"properties": {"key": {}}}},
            "keyless": {"items": {"properties": {}}, "x-kubernetes-patch-strategy": "merge"},
        }
    },
    "test.v1.Container": {
        "properties": {
            "name": {},
            "image": {},
            "env": {"items": {"properties": {"name": {}, "value": {}}}, **NAMED_LIST},
            "ports": {
                "items": {"properties": {"containerPort": {}}},
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "containerPort",
            },
        }
    },
}
SCHEMA: JsonObject = {"$ref": "#/definitions/test.v1.Workload"}
DOCUMENT: JsonObject = {
    "metadata": {"labels": {"a": "b"}, "finalizers": ["x/a", "x/b", "x/c"]},
    "spec": {
        "containers": [
            {
                "name": "one",
                "image": "i1",
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "ports": [{"containerPort": 80}, {"containerPort": 81}],
            },
            {"name": "two", "image": "i2"},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}],
        "strategy": {"type": "RollingUpdate", "limits": {"surge": 1}},
        "atomic": {"a": 1, "b": 2},
        "tolerations": [{"key": "k"}],
        "keyless": [{"x": 1}],
    },
}


def patched(patch: Any) -> JsonObject:
    return strategic_merge_patch(DOCUMENT, patch, SCHEMA, DEFINITIONS)


def spec_after(patch: JsonObject) -> JsonObject:
    spec: JsonObject = patched({"spec": patch})["spec"]
    return spec


def containers_after(patch: JsonObject) -> list[tuple[str, str]]:
    return [(item["name"], item["image"]) for item in spec_after(patch)["containers"]]


def finalizers_after(patch: JsonObject) -> Any:
    return patched({"metadata": patch})["metadata"].get("finalizers")


def refusal_of(patch: Any) -> StatusError:
    with pytest.raises(StatusError) as refusal:
        patched(patch)
    return refusal.value


ONE, TWO = ("one", "i1"), ("two", "i2")


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param(
            {"containers": [{"name": "two", "image": "z"}, {"name": "three", "image": "q"}]},
            [ONE, ("two", "z"), ("three", "q")],
            id="merge-and-append",
        ),
        pytest.param(
            {"containers": [{"name": "three", "image": "q"}, {"name": "one", "image": "p"}]},
            [("three", "q"), ("one", "p"), TWO],
            id="patch-order-wins",
        ),
        pytest.param({"containers": [{"$patch": "delete", "name": "one"}]}, [TWO], id="delete"),
        pytest.param(
            {"containers": [{"$patch": "delete", "name": "none"}]}, [ONE, TWO], id="delete-of-nothing"
        ),
        pytest.param(
            {"containers": [{"$patch": "replace"}, {"name": "n", "image": "q"}]}, [("n", "q")], id="replace"
        ),
        pytest.param(
            {"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}]}, [TWO, ONE], id="reorder"
        ),
        pytest.param(
            {
                "$setElementOrder/containers": [{"name": "two"}, {"name": "new"}],
                "containers": [{"name": "new", "image": "n"}],
            },
            [ONE, TWO, ("new", "n")],
            id="order-leaves-live-items-in-front",
        ),
        pytest.param(
            {
                "$setElementOrder/containers": [{"name": "new"}, {"name": "one"}, {"name": "two"}],
                "containers": [{"name": "new", "image": "n"}, {"name": "two", "$patch": "delete"}],
            },
            [("new", "n"), ONE],
            id="order-with-deletion",
        ),
        pytest.param(
            {"$setElementOrder/containers": [], "containers": [{"name": "new", "image": "n"}]},
            [ONE, TWO, ("new", "n")],
            id="empty-order",
        ),
        pytest.param({"containers": []}, [ONE, TWO], id="nothing-to-merge"),
    ],
)
def test_strategic_patch_merges_lists_by_key(patch: JsonObject, expected: list[tuple[str, str]]) -> None:
    assert containers_after(patch) == expected


def test_strategic_patch_merges_nested_lists_by_their_own_keys() -> None:
    patch = {
        "containers": [
            {
                "name": "one",
                "env": [{"name": "C", "value": "3"}, {"name": "A", "$patch": "delete"}],
                "ports": [{"containerPort": 82}, {"containerPort": 80, "$patch": "delete"}],
            }
        ]
    }
    first = spec_after(patch)["containers"][0]
    assert first["env"] == [{"name": "C", "value": "3"}, {"name": "B", "value": "2"}]
    assert first["ports"] == [{"containerPort": 82}, {"containerPort": 81}]
    assert first["image"] == "i1"


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"finalizers": ["x/d", "x/a"]}, ["x/d", "x/a", "x/b", "x/c"]),
        ({"finalizers": ["x/a", "x/a", "x/z", "x/z"]}, ["x/a", "x/z", "x/b", "x/c"]),
        ({"$deleteFromPrimitiveList/finalizers": ["x/b", "x/none"]}, ["x/a", "x/c"]),
        ({"$deleteFromPrimitiveList/finalizers": None}, None),
        ({"$deleteFromPrimitiveList/unknown": ["x"]}, ["x/a", "x/b", "x/c"]),
        ({"$setElementOrder/finalizers": ["x/c", "x/b"]}, ["x/a", "x/c", "x/b"]),
        (
            {
                "$deleteFromPrimitiveList/finalizers": ["x/b"],
                "$setElementOrder/finalizers": ["x/c", "x/d", "x/a"],
                "finalizers": ["x/d"],
            },
            ["x/c", "x/d", "x/a"],
        ),
        ({"finalizers": None}, None),
    ],
    ids=str,
)
def test_strategic_patch_merges_plain_lists_as_sets(patch: JsonObject, expected: Any) -> None:
    assert finalizers_after(patch) == expected


@pytest.mark.parametrize(
    ("patch", "field", "expected"),
    [
        ({"tolerations": [{"key": "z"}]}, "tolerations", [{"key": "z"}]),
        ({"strategy": {"type": "Recreate"}}, "strategy", {"type": "Recreate", "limits": {"surge": 1}}),
        ({"strategy": {"type": "Recreate", "$retainKeys": ["type"]}}, "strategy", {"type": "Recreate"}),
        ({"strategy": {"$patch": "replace", "type": "Recreate"}}, "strategy", {"type": "Recreate"}),
        ({"strategy": {"$patch": "delete"}}, "strategy", {}),
        ({"strategy": "text"}, "strategy", "text"),
        ({"strategy": None}, "strategy", None),
        ({"atomic": {"c": 3}}, "atomic", {"c": 3}),
        (
            {"new": {"a": None, "b": {"$patch": "delete"}, "c": [{"$patch": "delete"}, {"d": None}]}},
            "new",
            {"c": [{}]},
        ),
        ({"new": {"$patch": "replace", "a": 1}}, "new", None),
        (
            {"volumes": [{"name": "v", "configMap": {"name": "c"}, "$retainKeys": ["name", "configMap"]}]},
            "volumes",
            [{"name": "v", "configMap": {"name": "c"}}, {"name": "w", "emptyDir": {}}],
        ),
        (
            {"volumes": [{"name": "v", "emptyDir": None, "configMap": {"name": "c"}}]},
            "volumes",
            [{"name": "v", "configMap": {"name": "c"}}, {"name": "w", "emptyDir": {}}],
        ),
    ],
    ids=str,
)
def test_strategic_patch_obeys_strategies_and_directives(
    patch: JsonObject, field: str, expected: Any
) -> None:
    assert spec_after(patch).get(field) == expected


def test_strategic_patch_of_the_whole_document_can_replace_it() -> None:
    assert patched({"$patch": "replace", "metadata": {}}) == {"metadata": {}}
    assert patched({"$patch": "delete"}) == {}


def test_strategic_patch_of_null_changes_nothing() -> None:
    assert patched(None) == DOCUMENT


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"$patch": "bogus"}, "unknown patch type: bogus in map: map[$patch:bogus]"),
        (
            {"spec": {"containers": [{"$patch": "merge"}]}},
            "merging lists cannot yet be specified in the patch",
        ),
        (
            {"spec": {"containers": [{"$patch": "bogus", "name": "x"}]}},
            "unknown patch type: bogus in map: map[$patch:bogus name:x]",
        ),
        (
            {"spec": {"containers": [{"$patch": "delete"}]}},
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            {"spec": {"containers": [{"image": "x"}]}},
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            {"spec": {"$setElementOrder/containers": [{"x": "two"}], "containers": [{"name": "n"}]}},
            "map: map[x:two] does not contain declared merge key: name",
        ),
        (
            {"spec": {"$setElementOrder/containers": ["two"], "containers": [{"name": "n"}]}},
            "expected a map[string]interface {}, but received a string",
        ),
        (
            {"spec": {"$setElementOrder/containers": None}},
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
        (
            {"spec": {"$setElementOrder/containers": [], "containers": None}},
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
        (
            {"metadata": {"$setElementOrder/finalizers": "a"}},
            "expected a []interface {}, but received a string",
        ),
        (
            {"metadata": {"$setElementOrder/finalizers": ["a"], "finalizers": ["b/c"]}},
            "The order in patch list:\n[b/c]\n doesn't match $setElementOrder list:\n[a]\n",
        ),
        ({"metadata": {"finalizers": [3]}}, "list element types are not identical: [[x/a x/b x/c] [3]]"),
        (
            {"metadata": {"$setElementOrder/bogus": ["a"], "bogus": ["a"]}},
            'unable to find api field in struct Meta for the json field "bogus"',
        ),
        ({"spec": {"keyless": [{"x": 2}]}}, "cannot merge lists without merge key for struct"),
    ],
    ids=str,
)
def test_strategic_patch_that_cannot_be_merged_is_the_servers_error(patch: JsonObject, message: str) -> None:
    refusal = refusal_of(patch)
    assert (refusal.code, refusal.reason, refusal.message) == (500, "", message)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([], "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (3, "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ({"spec": {"strategy": {"$retainKeys": ["a"], "b": 1}}}, "invalid patch format of retainKeys"),
        ({"spec": {"strategy": {"$retainKeys": "a"}}}, "invalid patch format of retainKeys"),
        ({"metadata": {"$deleteFromPrimitiveList": ["a"]}}, "invalid patch format of primitive list"),
        ({"metadata": {"$setElementOrder": ["a"]}}, "invalid patch format of setElementOrder list"),
    ],
    ids=str,
)
def test_strategic_patch_with_malformed_directives_is_a_bad_request(patch: Any, message: str) -> None:
    refusal = refusal_of(patch)
    assert (refusal.code, refusal.reason, refusal.message) == (400, "BadRequest", message)


def test_strategic_patch_refuses_lists_of_lists() -> None:
    document: JsonObject = {"metadata": {"finalizers": [["a"]]}}
    with pytest.raises(StatusError) as refusal:
        strategic_merge_patch(document, {"metadata": {"finalizers": [["b"]]}}, SCHEMA, DEFINITIONS)
    assert (refusal.value.code, refusal.value.reason) == (422, "Invalid")


def test_strategic_patch_shares_nothing_with_its_inputs() -> None:
    document = deepcopy(DOCUMENT)
    patch: JsonObject = {
        "spec": {"containers": [{"name": "new", "env": [{"name": "X"}]}], "atomic": {"z": [1]}}
    }
    before = deepcopy(patch)
    result = strategic_merge_patch(document, patch, SCHEMA, DEFINITIONS)
    result["spec"]["containers"][0]["env"][0]["name"] = "changed"
    result["spec"]["containers"][1]["image"] = "changed"
    result["spec"]["atomic"]["z"].append(2)
    result["metadata"]["labels"]["a"] = "changed"
    assert (document, patch) == (DOCUMENT, before)


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(NAMES, NAMES)
def test_strategic_patch_keeps_the_relative_order_of_both_lists(live: list[str], patch: list[str]) -> None:
    merged = strategic_merge_patch(
        {"spec": {"containers": [{"name": name} for name in live]}},
        {"spec": {"containers": [{"name": name} for name in patch]}},
        SCHEMA,
        DEFINITIONS,
    )
    names = [item["name"] for item in merged["spec"]["containers"]]
    assert sorted(names) == sorted({*live, *patch})
    assert [name for name in names if name in patch] == patch
    assert [name for name in names if name not in patch] == [name for name in live if name not in patch]


@given(NAMES, NAMES)
def test_strategic_patch_applied_twice_changes_nothing_more(live: list[str], patch: list[str]) -> None:
    change = {"spec": {"containers": [{"name": name, "image": "new"} for name in patch]}}
    document: JsonObject = {"spec": {"containers": [{"name": name} for name in live]}}
    once = strategic_merge_patch(document, change, SCHEMA, DEFINITIONS)
    assert strategic_merge_patch(once, change, SCHEMA, DEFINITIONS) == once
