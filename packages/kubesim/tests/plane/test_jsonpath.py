"""JSONPath, as far as printer columns use it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.jsonpath import JsonPathError, compile_path

TREE: dict[str, Any] = {
    "metadata": {"name": "w", "labels": {"app": "web", "app.kubernetes.io/name": "shop"}},
    "spec": {
        "replicas": 3,
        "paused": False,
        "nothing": None,
        "x-ray": "yes",
        "hosts": ["a", "b", "c"],
        "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}],
    },
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "count": 1},
            {"type": "Synced", "status": "False", "nested": {"deep": "x"}},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".metadata.name", ["w"]),
        ("{.metadata.name}", ["w"]),
        ("$.metadata.name", ["w"]),
        (" .metadata.name ", ["w"]),
        (".spec.replicas", [3]),
        (".spec.paused", [False]),
        (".spec.nothing", []),
        (".spec.x-ray", ["yes"]),
        (".spec.missing.deeper", []),
        (".spec.replicas.deeper", []),
        (".spec.hosts[0]", ["a"]),
        (".spec.hosts[-1]", ["c"]),
        (".spec.hosts[3]", []),
        (".spec.hosts[-4]", []),
        (".spec.hosts[*]", ["a", "b", "c"]),
        (".spec.hosts", [["a", "b", "c"]]),
        (".spec.replicas[0]", []),
        (".spec.replicas[*]", []),
        (".spec.ports[*].port", [80, 443]),
        (".spec.ports[*].*", ["http", 80, "https", 443]),
        (".metadata.labels.*", ["web", "shop"]),
        (".metadata.labels['app']", ["web"]),
        (".metadata.labels.app\\.kubernetes\\.io/name", ["shop"]),
        (".metadata.labels['app\\.kubernetes\\.io/name']", ["shop"]),
        (".spec['hosts'][0]", ["a"]),
        ("['metadata.name']", ["w"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        ('.status.conditions[?(@.type == "Ready")].status', ["True"]),
        ('.status.conditions[?(@.type!="Ready")].type', ["Synced"]),
        ('.status.conditions[?(@.type=="Missing")].status', []),
        (".status.conditions[?(@.count==1)].type", ["Ready"]),
        ('.status.conditions[?(@.nested.deep=="x")].type', ["Synced"]),
        ('.metadata[?(@.type=="Ready")]', []),
        ("", [TREE]),
    ],
)
def test_path_finds_its_values(path: str, found: list[Any]) -> None:
    assert compile_path(path)(TREE) == found


def test_filter_compares_booleans_as_such() -> None:
    find = compile_path(".items[?(@.on==true)].name")
    assert find({"items": [{"on": True, "name": "a"}, {"on": False, "name": "b"}]}) == ["a"]


@pytest.mark.parametrize("path", [".a[", ".a[x]", ".a]", "a.b", ".a..b", ".a[?(@.b)", ".a['b'", ".a b", "."])
def test_path_that_makes_no_sense_is_refused(path: str) -> None:
    with pytest.raises(JsonPathError, match="unrecognized part"):
        compile_path(path)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    ),
    max_leaves=10,
)


@given(TREES, st.sampled_from([".a", ".a.b", ".a[0]", ".*", "[*]", '[?(@.a=="x")].b', ".a[-1].b"]))
def test_compiled_path_never_fails_whatever_it_meets(tree: Any, path: str) -> None:
    assert isinstance(compile_path(path)(tree), list)
