"""The registry: which resources there are, and in which order versions and groups are preferred."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.schema import compile_schema
from kubesim.plane.registry import Registry, version_rank
from kubesim.plane.resource import GroupResource, Resource

WIDGET = Resource(
    group="example.com",
    version="v1",
    kind="Widget",
    plural="widgets",
    singular="widget",
    namespaced=True,
    schema=compile_schema({"type": "object"}),
    custom=True,
)
SORTED = (
    "foo10", "foo1", "v11alpha2", "v10beta3", "v3beta1", "v12alpha1", "v11beta2", "v2", "v1", "v10"
)  # fmt: skip
KUBERNETES_ORDER = [
    "v10",
    "v2",
    "v1",
    "v11beta2",
    "v10beta3",
    "v3beta1",
    "v12alpha1",
    "v11alpha2",
    "foo1",
    "foo10",
]

VERSIONS = st.one_of(
    st.builds(
        lambda major, stage, minor: f"v{major}{stage}{minor if stage else ''}",
        st.integers(1, 30),
        st.sampled_from(["", "alpha", "beta"]),
        st.integers(1, 30),
    ),
    st.from_regex(r"[a-u][a-z0-9]{0,4}", fullmatch=True),
)


def test_versions_sort_as_in_the_documentation_of_kubernetes() -> None:
    assert sorted(SORTED, key=version_rank, reverse=True) == KUBERNETES_ORDER


@given(VERSIONS, VERSIONS)
def test_version_order_is_total(one: str, other: str) -> None:
    assert (version_rank(one) == version_rank(other)) == (one == other)
    assert (version_rank(one) < version_rank(other)) != (version_rank(one) >= version_rank(other))


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 30))
def test_stable_versions_beat_beta_and_beta_beats_alpha(stable: int, beta: int, alpha: int) -> None:
    ladder = ["anything", f"v{alpha}alpha{beta}", f"v{beta}beta{alpha}", f"v{stable}", f"v{stable + 1}"]
    assert all(version_rank(lower) < version_rank(higher) for lower, higher in pairwise(ladder))


def registry(*resources: Resource) -> Registry:
    started = Registry({})
    started.add(resources)
    return started


def test_resource_is_found_by_group_version_and_plural() -> None:
    filled = registry(WIDGET, replace(WIDGET, version="v2"))
    assert filled.find("example.com", "v2", "widgets") == replace(WIDGET, version="v2")
    assert filled.find("example.com", "v3", "widgets") is None
    assert filled.find("", "v1", "widgets") is None


def test_kind_is_found_as_owner_references_name_it() -> None:
    filled = registry(WIDGET, replace(WIDGET, group="", plural="gadgets", kind="Gadget"))
    assert filled.find_kind("example.com/v1", "Widget") is WIDGET
    assert filled.find_kind("v1", "Gadget") is not None
    assert filled.find_kind("v1", "Widget") is None


def test_any_version_is_the_best_one() -> None:
    versions = [replace(WIDGET, version=version) for version in ("v1", "v2beta1", "v1alpha1")]
    best = registry(*versions).any_version(GroupResource("example.com", "widgets"))
    assert best is not None
    assert best.version == "v1"
    assert registry().any_version(GroupResource("example.com", "widgets")) is None


def test_removal_takes_every_version_out_of_service() -> None:
    filled = registry(WIDGET, replace(WIDGET, version="v2"), replace(WIDGET, plural="gadgets"))
    filled.remove(GroupResource("example.com", "widgets"))
    assert [one.plural for one in filled.all()] == ["gadgets"]


def test_changes_count_additions_and_removals() -> None:
    filled = registry(WIDGET)
    before = filled.changes
    filled.remove(WIDGET.group_resource)
    filled.add([WIDGET])
    assert filled.changes == before + 2


def test_groups_come_in_the_order_of_discovery() -> None:
    groups = ["zoo.example.com", "apps", "", "example.com", "batch", "rbac.authorization.k8s.io"]
    filled = registry(*(replace(WIDGET, group=group) for group in groups))
    assert list(filled.groups()) == [
        "",
        "apps",
        "batch",
        "rbac.authorization.k8s.io",
        "example.com",
        "zoo.example.com",
    ]


def test_preferred_version_of_a_group_comes_first() -> None:
    filled = registry(*(replace(WIDGET, version=version) for version in ("v1beta1", "v1", "v2alpha1")))
    assert filled.groups() == {"example.com": ["v1", "v1beta1", "v2alpha1"]}


@pytest.mark.parametrize("change", ["replaced", "removed and added"])
def test_field_types_follow_the_schema_in_service(change: str) -> None:
    filled = registry(WIDGET)
    before = filled.field_types(WIDGET)
    assert filled.field_types(WIDGET) is before
    if change == "removed and added":
        filled.remove(WIDGET.group_resource)
    filled.add([WIDGET])
    assert filled.field_types(WIDGET) is not before
