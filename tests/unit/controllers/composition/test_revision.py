"""Revisions: specs that say the same have one hash, and any difference another."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from edgekeeper.controllers.composition.graph import read_definition
from edgekeeper.controllers.composition.revision import canonical_text, revision_name, spec_hash
from edgekeeper.core.json import JsonObject
from tests.unit.controllers.composition.cases import config, definition

BODY = definition(
    config("b", readyWhen=["${b.data.key == 'x'}", "${true}"], includeWhen=["${true}", "${schema.spec.on}"]),
    config("a", forEach=[{"x": "${['1']}"}, {"y": "${['2']}"}]),
    spec={"z": "string", "on": "boolean", "m": {"b": "string", "a": "integer"}},
    shortNames=["q"],
)


def _hash(body: JsonObject) -> str:
    return spec_hash(read_definition(body))


def _changed(**change: Any) -> JsonObject:
    """The body with one resource changed."""
    body = copy.deepcopy(BODY)
    body["spec"]["resources"][0].update(change)
    return body


def test_text_has_the_fields_in_kros_order() -> None:
    body = definition(config("a", value="<&é>"), spec={"b": "string", "a": "integer"})
    assert canonical_text(read_definition(body)) == (
        '{"schema":{"kind":"App","apiVersion":"v1alpha1","group":"kro.run","spec":{"a":"integer","b":"string"},'
        '"types":null,"status":null,"scope":"Namespaced"},"resources":[{"id":"a","template":{"apiVersion":"v1",'
        '"data":{"key":"\\u003c\\u0026é\\u003e"},"kind":"ConfigMap","metadata":{"name":"a"}}}]}'
    )
    assert canonical_text(read_definition(definition())).endswith('"scope":"Namespaced"}}')


def test_order_of_resources_conditions_and_keys_does_not_count() -> None:
    again = copy.deepcopy(BODY)
    again["spec"]["resources"].reverse()
    again["spec"]["resources"][1]["readyWhen"].reverse()
    again["spec"]["resources"][1]["includeWhen"].reverse()
    again["spec"]["schema"]["spec"] = dict(reversed(again["spec"]["schema"]["spec"].items()))
    again["spec"]["schema"] |= {"group": "kro.run", "scope": "Namespaced", "categories": []}
    assert _hash(again) == _hash(BODY)


def test_order_of_dimensions_counts() -> None:
    again = copy.deepcopy(BODY)
    again["spec"]["resources"][1]["forEach"].reverse()
    assert _hash(again) != _hash(BODY)


@pytest.mark.parametrize(
    "change",
    [
        {"id": "c"},
        {"template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}},
        {"readyWhen": []},
        {"includeWhen": ["${false}"]},
        {"dependsOn": ["a"]},
        {"deletionPolicy": "Orphan"},
    ],
)
def test_every_difference_counts(change: JsonObject) -> None:
    assert _hash(_changed(**change)) != _hash(BODY)


def test_additions_do_not_count_where_they_are_not_used() -> None:
    assert _hash(_changed(dependsOn=[], deletionPolicy="Delete")) == _hash(BODY)


def test_hash_fits_into_a_label_and_names_are_numbered() -> None:
    assert len(_hash(BODY)) == 16
    assert revision_name("webapp", 7) == "webapp-r00007"
    assert revision_name("webapp", 123456) == "webapp-r123456"
