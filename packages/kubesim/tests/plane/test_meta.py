"""Metadata: what a client may write there, and what only the server may."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.meta import (
    carry_over,
    generate_name,
    name_problems_of_most_kinds,
    validate_metadata,
    validate_metadata_update,
)

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}


def problems(metadata: JsonObject, **options: bool) -> list[str]:
    return [str(error) for error in validate_metadata(metadata, None, **options)]


@pytest.mark.parametrize(
    ("metadata", "where"),
    [
        pytest.param({}, "metadata.name: Required value", id="nameless"),
        pytest.param({"name": "Upper"}, "metadata.name: Invalid value", id="upper-case"),
        pytest.param({"name": "a" * 254}, "no more than 253", id="long-name"),
        pytest.param({"name": "a", "generateName": "B-"}, "metadata.generateName: Invalid value", id="odd-prefix"),
        pytest.param({"name": "a", "labels": {"-": "x"}}, "metadata.labels: Invalid value", id="label-key"),
        pytest.param({"name": "a", "labels": {"k": "x y"}}, "metadata.labels: Invalid value", id="label-value"),
        pytest.param({"name": "a", "annotations": {"a/b/c": ""}}, "metadata.annotations: Invalid value", id="annotation-key"),
        pytest.param({"name": "a", "annotations": {"k": "x" * 300_000}}, "metadata.annotations: Too long", id="long-annotation"),
        pytest.param({"name": "a", "ownerReferences": [{**OWNER, "uid": ""}]}, "ownerReferences.uid: Invalid value", id="owner-without-uid"),
        pytest.param({"name": "a", "ownerReferences": [{**OWNER, "apiVersion": ""}]}, "version must not be empty", id="owner-without-version"),
        pytest.param({"name": "a", "ownerReferences": [{**OWNER, "controller": True}] * 2}, "Only one reference can have Controller set to true", id="two-controllers"),
        pytest.param({"name": "a", "finalizers": ["plain"]}, "neither a standard finalizer name nor is it fully qualified", id="plain-finalizer"),
        pytest.param({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}, "cannot be both set", id="two-policies"),
    ],
)  # fmt: skip
def test_metadata_that_cannot_be_is_refused(metadata: JsonObject, where: str) -> None:
    assert any(where in problem for problem in problems(metadata)), problems(metadata)


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "a"},
        {"name": "a.b-c.9"},
        {"name": "a", "generateName": "a-"},
        {"name": "a", "labels": {"example.com/k": "v", "k": ""}},
        {"name": "a", "annotations": {"Example.COM/Key": "anything at all\n"}},
        {"name": "a", "ownerReferences": [OWNER, {**OWNER, "controller": True}]},
        {"name": "a", "finalizers": ["example.com/x", "orphan"]},
    ],
)
def test_metadata_that_can_be_is_accepted(metadata: JsonObject) -> None:
    assert problems(metadata) == []


def test_custom_kinds_may_have_plain_finalizers() -> None:
    assert problems({"name": "a", "finalizers": ["plain"]}, lenient_finalizers=True) == []


def test_cluster_scoped_objects_have_no_namespace() -> None:
    (problem,) = problems({"name": "a", "namespace": "b"}, cluster_scoped=True)
    assert problem == "metadata.namespace: Forbidden: not allowed on this type"


@given(st.text(alphabet="abc-.", max_size=80), st.integers())
def test_generated_name_keeps_its_prefix_and_fits(prefix: str, state: int) -> None:
    name = generate_name(prefix, Random(state))
    assert name.startswith(prefix[:58])
    assert len(name) == min(len(prefix), 58) + 5
    assert name == generate_name(prefix, Random(state))


@given(st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?-?", fullmatch=True), st.integers())
def test_generated_name_of_a_good_prefix_is_good(prefix: str, state: int) -> None:
    assert not name_problems_of_most_kinds(generate_name(prefix, Random(state)))


@pytest.mark.parametrize("field", ["name", "namespace", "uid"])
def test_identity_cannot_be_changed(field: str) -> None:
    old = {"name": "a", "namespace": "b", "uid": "c"}
    (error,) = validate_metadata_update({**old, field: "x"}, old)
    assert str(error) == f'metadata.{field}: Invalid value: "x": field is immutable'


def test_object_on_its_way_out_gets_no_new_finalizers() -> None:
    old = {"name": "a", "deletionTimestamp": "now", "finalizers": ["b/x", "b/y"]}
    assert validate_metadata_update({**old, "finalizers": ["b/y"]}, old) == []
    (error,) = validate_metadata_update({**old, "finalizers": ["b/x", "b/z"]}, old)
    assert '[]string{"b/z"}' in str(error)


SERVERS_OWN = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)
FIELDS = st.dictionaries(st.sampled_from([*SERVERS_OWN, "labels", "annotations"]), st.integers(), max_size=8)


@given(FIELDS, FIELDS)
def test_servers_own_fields_are_carried_over_and_others_left(
    new: dict[str, Any], old: dict[str, Any]
) -> None:
    sent = dict(new)
    carry_over(new, old)
    for field in SERVERS_OWN:
        assert new.get(field) == old.get(field)
    for field in ("labels", "annotations"):
        assert new.get(field) == sent.get(field)
