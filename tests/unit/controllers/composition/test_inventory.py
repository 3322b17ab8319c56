"""The inventory of an instance, its labels, and which children go next."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.instance_plan import Address
from edgekeeper.controllers.composition.instance_removal import next_removal
from edgekeeper.controllers.composition.inventory import (
    GROUP_KINDS,
    HASH,
    NAMESPACES,
    DamagedInventoryError,
    GroupKind,
    Inventory,
    apply_set_id,
    confirmed_inventory,
    read_inventory,
)
from edgekeeper.controllers.composition.selectors import Interest, matches
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import CONFIG_MAP, Key, Kind

KIND = Kind("kro.run", "v1alpha1", "App", "apps")
ID = apply_set_id(KIND, Key("default", "demo"))
FULL = Inventory(
    frozenset({GroupKind("Deployment", "apps"), GroupKind("Service", "")}), frozenset({"b", "a"})
)


def parent(inventory: Inventory = FULL) -> JsonObject:
    return {"metadata": {"labels": {labels.APPLY_SET_ID: ID}, "annotations": inventory.annotations(ID)}}


def test_id_is_that_of_the_specification() -> None:
    """base64url(sha256("demo.default.App.kro.run")), without padding, as KEP-3659 says."""
    assert ID == "applyset-hd-M_kWMqYNTDk7OHaz5VVnkpS4oxIqslNIBbfpiaB8-v1"


def test_inventory_is_read_as_it_was_written() -> None:
    notes = parent()["metadata"]["annotations"]
    assert (notes[GROUP_KINDS], notes[NAMESPACES]) == ("Deployment.apps,Service", "a,b")
    assert read_inventory(parent()) == confirmed_inventory(parent(), ID) == FULL
    assert confirmed_inventory(parent(Inventory()), ID) == Inventory()


def test_inventory_without_a_hash_is_that_of_an_earlier_version() -> None:
    old = parent()
    del old["metadata"]["annotations"][HASH]
    assert confirmed_inventory(old, ID) == FULL


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (GROUP_KINDS, "Deployment.apps"),
        (NAMESPACES, "a"),
        (NAMESPACES, "A"),
        (GROUP_KINDS, "a b"),
        (GROUP_KINDS, "X.Y"),
    ],
)
def test_inventory_that_others_changed_is_damaged(name: str, value: str) -> None:
    changed = parent()
    changed["metadata"]["annotations"][name] = value
    with pytest.raises(DamagedInventoryError, match="invalid"):
        confirmed_inventory(changed, ID)


def test_long_values_of_labels_are_shortened_and_stay_apart() -> None:
    one, two = labels.label_value("x" * 100), labels.label_value("x" * 99)
    assert len(one) <= 63
    assert one != two
    assert labels.label_value("short") == "short"


def child(order: str | None, *, going: bool = False, orphan: bool = False) -> JsonObject:
    notes = {} if order is None else {labels.APPLY_ORDER: order}
    if orphan:
        notes[labels.DELETION_POLICY] = labels.ORPHAN
    metadata: JsonObject = {"annotations": notes}
    return {"metadata": {**metadata, "deletionTimestamp": "now"} if going else metadata}


def at(name: str) -> Address:
    return Address(CONFIG_MAP, Key("default", name))


def test_highest_wave_goes_first_and_alone() -> None:
    children = {
        at("a"): child("2"),
        at("b"): child("3"),
        at("c"): child("3", going=True),
        at("d"): child(None),
    }
    removal = next_removal(children)
    assert (list(removal.delete), list(removal.awaited)) == ([at("b")], [at("c")])
    removal = next_removal({at("c"): child("3", going=True), at("a"): child("2")})
    assert (list(removal.delete), list(removal.awaited)) == ([], [at("c")])


@pytest.mark.parametrize("order", [None, "", "x", "-1", "٣"])
def test_child_without_a_valid_order_goes_last(order: str | None) -> None:
    removal = next_removal({at("a"): child(order), at("b"): child("1")})
    assert list(removal.delete) == [at("b")]
    assert list(next_removal({at("a"): child(order)}).delete) == [at("a")]


def test_child_that_stays_is_released_in_its_wave() -> None:
    removal = next_removal({at("a"): child("2", orphan=True), at("b"): child("1")})
    assert (list(removal.release), list(removal.delete)) == ([at("a")], [])


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "In", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Like"}]}, False),
        ({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
    ],
)
def test_selectors_fit_as_those_of_the_server(selector: JsonObject, fits: bool) -> None:
    assert matches(selector, {"a": "1"}) is fits


def test_interest_concerns_what_it_names_or_selects_and_what_it_did() -> None:
    named = Interest(CONFIG_MAP, "default", "x")
    assert named.concerns(Key("default", "x"), [])
    assert not named.concerns(Key("other", "x"), [])
    selecting = Interest.in_matching(CONFIG_MAP, "", {"matchLabels": {"a": "1"}})
    assert selecting.concerns(Key("any", "y"), [{}, {"a": "1"}])
    assert not selecting.concerns(Key("any", "y"), [{"a": "2"}])
