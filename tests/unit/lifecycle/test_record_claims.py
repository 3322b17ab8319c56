"""In whose inventory a record is, over all kinds, and which zones are in use."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.cloud.aws.roles import OWN, Role
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.store import NotSyncedError
from edgekeeper.lifecycle.claims import KindObject
from edgekeeper.lifecycle.record_claims import State, inventory_places
from tests.unit.lifecycle.kinds import FIRST, ROUTE, SECOND, SHOP, Register, build, register_of

PLACE = ("Z1", "x.io", "CNAME")
ROLE = Role("arn:aws:iam::111122223333:role/dns")


def _entry(state: str = "Written", zone: str = "Z1", **fields: Any) -> dict[str, Any]:
    return {"zone": zone, "name": "x.io", "type": "CNAME", "state": state, **fields}


def _holder(*hostnames: str, kind: Kind = SHOP, since: str = FIRST, **entry: Any) -> KindObject:
    return build(kind, "holder", *hostnames, since=since, inventory=[_entry(**entry)])


def _own(*hostnames: str, since: str = FIRST, **entry: Any) -> KindObject:
    return build(SHOP, "own", *hostnames, since=since, namespace="b", inventory=[_entry(**entry)])


@pytest.mark.parametrize("kind", [SHOP, ROUTE])
@pytest.mark.parametrize(
    ("other", "own", "state", "is_others"),
    [
        pytest.param(
            {"hostnames": ["x.io"], "since": SECOND}, _own("y.io"), "Written", True, id="it asks alone"
        ),
        pytest.param(
            {"hostnames": ["x.io"]},
            _own("x.io", since=SECOND),
            "Written",
            True,
            id="both ask, and it is older",
        ),
        pytest.param(
            {"hostnames": ["x.io"], "since": SECOND},
            _own("x.io"),
            "Written",
            False,
            id="both ask, and it is younger",
        ),
        pytest.param(
            {"hostnames": ["y.io"]}, _own("x.io", since=SECOND), "Written", False, id="it does not ask"
        ),
        pytest.param(
            {"hostnames": ["x.io"], "state": "Planned"},
            _own("y.io"),
            "Written",
            False,
            id="it has not written it",
        ),
        pytest.param(
            {"hostnames": ["y.io"], "since": SECOND},
            _own("x.io", state="Planned"),
            "Planned",
            True,
            id="we have not written it",
        ),
        pytest.param(
            {"hostnames": ["x.io"], "zone": "Z2"}, _own("y.io"), "Written", False, id="another zone"
        ),
    ],
)
def test_record_in_two_inventories_belongs_to_one_object(
    kind: Kind, other: dict[str, Any], own: KindObject, state: State, is_others: bool
) -> None:
    hostnames = other["hostnames"]
    fields = {name: value for name, value in other.items() if name != "hostnames"}
    holder = _holder(*hostnames, kind=kind, **fields)
    recorder = register_of(holder, own).claims.records.recorder(own, PLACE, state)
    assert (recorder is not None) is is_others
    assert recorder is None or recorder.is_same(holder)


def test_record_that_no_other_inventory_has_belongs_to_nobody_else() -> None:
    own, other = _own("y.io"), build(SHOP, "holder", "x.io")
    assert register_of(own, other).claims.records.recorder(own, PLACE, "Written") is None


@pytest.mark.parametrize(("kind", "name"), [(SHOP, "a/holder"), (ROUTE, "httproute a/holder")])
def test_places_in_the_inventories_of_others_are_known(kind: Kind, name: str) -> None:
    own = build(SHOP, "own", "x.io", namespace="b")
    register = register_of(_holder("x.io", kind=kind), own)
    places = [PLACE, ("Z1", "x.io", "A"), ("Z2", "x.io", "CNAME")]
    assert register.claims.records.recorded(own, places) == {PLACE: name}


def test_nothing_is_said_of_records_while_inventories_are_unknown() -> None:
    own = _own("x.io")
    register = Register()
    register.put(own)
    register.sync([SHOP])
    with pytest.raises(NotSyncedError):
        register.claims.records.recorder(own, PLACE, "Written")
    with pytest.raises(NotSyncedError):
        register.claims.records.recorded(own, [PLACE])


@pytest.mark.parametrize(
    ("states", "state"),
    [(["Planned"], "Planned"), (["Planned", "Written"], "Written"), (["Written", "Planned"], "Written")],
)
def test_place_with_two_entries_counts_as_written_if_either_was(states: list[str], state: str) -> None:
    obj = build(SHOP, "x", inventory=[_entry(each) for each in states])
    assert inventory_places(obj.tree) == {PLACE: state}


def test_odd_inventories_are_expected() -> None:
    for odd in (None, 7, "text", [None, 7, "text"], {"zone": "Z1"}):
        obj = build(SHOP, "odd", inventory=odd, dnsChanges=odd)
        register = register_of(obj)
        assert inventory_places(obj.tree) == {}
        assert not register.claims.records.uses_zone("Z1", OWN)


# Zones


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"inventory": [_entry()]}, id="a record"),
        pytest.param(
            {"inventory": [_entry(zone="/hostedzone/Z1")]}, id="a record, with the prefix of the API"
        ),
        pytest.param({"dnsChanges": [{"zone": "Z1", "id": "C1"}]}, id="a change that is followed"),
        pytest.param({"dnsChanges": [{"zone": "Z1", "until": SECOND}]}, id="a change whose answer was lost"),
    ],
)
@pytest.mark.parametrize("kind", [SHOP, ROUTE])
def test_zone_is_in_use_while_a_status_names_it(kind: Kind, status: dict[str, Any]) -> None:
    register = register_of(build(kind, "x", **status))
    records = register.claims.records
    assert records.uses_zone("Z1", OWN)
    assert not records.uses_zone("Z2", OWN)
    assert not records.uses_zone("Z1", ROLE)
    register.stores[kind].remove(build(kind, "x").key)
    assert not records.uses_zone("Z1", OWN)


def test_zone_is_in_use_with_the_role_of_the_change_that_is_followed() -> None:
    change = {"zone": "Z1", "id": "C1", "role": ROLE.arn}
    records = register_of(build(SHOP, "x", dnsChanges=[change])).claims.records
    assert records.uses_zone("Z1", ROLE)
    assert not records.uses_zone("Z1", OWN)


@pytest.mark.parametrize("synced", [SHOP, ROUTE])
def test_zone_is_in_use_while_objects_of_a_kind_are_unknown(synced: Kind) -> None:
    register = Register()
    register.sync([synced])
    assert register.claims.records.uses_zone("Z1", OWN)
    register.sync()
    assert not register.claims.records.uses_zone("Z1", OWN)
