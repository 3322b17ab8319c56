"""Who has a name or a domain within the cluster: the oldest object, and all agree on which that is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from edgekeeper.api.cloudfront import InventoryRecord
from edgekeeper.controllers.cloudfront.claims import BY_CERTIFICATE, BY_DOMAIN, Claims
from edgekeeper.controllers.cloudfront.guards import EVERYTHING, Guards
from edgekeeper.controllers.cloudfront.snapshot import Rival
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import Store
from edgekeeper.runtime.contract import Request

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"


def _object(key: Key, *domains: Any, since: str = EARLY, **status: str) -> JsonObject:
    named = [{"domain": domain} for domain in domains]
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "uid": f"uid-{key.namespace}-{key.name}",
        "creationTimestamp": since,
        "resourceVersion": "1",
    }
    return {"metadata": metadata, "spec": {"domains": named}, "status": status}


def _claims(*objects: JsonObject, template: str = "{name}", guards: Guards = EVERYTHING) -> Claims:
    store = Store(KIND)
    claims = Claims([store], template, "blue", guards)
    for obj in objects:
        store.put(_key(obj), msgspec.json.encode(obj))
    store.mark_synced()
    return claims


def _key(obj: JsonObject) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])


def _request(obj: JsonObject) -> Request:
    return Request(_key(obj), msgspec.json.encode(obj), obj, "")


ELDER = _object(Key("a", "shop"), "shop.io")


def _elders(claims: Claims, obj: JsonObject) -> list[tuple[str, str, Key]]:
    """What an object has to leave to an older one, as long as no tenant proves otherwise."""
    found = [(one.claim, one.value, one.claimants[0][0]) for one in claims.contests(_request(obj))]
    return [one for one in found if one[2] != _key(obj)]


SHOP = Key("a", "shop")


@pytest.mark.parametrize(
    ("younger", "elders"),
    [
        pytest.param(_object(Key("a", "other"), "other.io", since=LATE), [], id="nothing in common"),
        pytest.param(
            _object(Key("a", "other"), "SHOP.io.", since=LATE), [("domain", "shop.io", SHOP)], id="domain"
        ),
        pytest.param(
            _object(Key("b", "shop"), "other.io", since=LATE), [("name", "shop", SHOP)], id="tenant name"
        ),
        pytest.param(
            _object(Key("b", "shop"), "shop.io", since=LATE),
            [("name", "shop", SHOP), ("domain", "shop.io", SHOP)],
            id="both",
        ),
    ],
)
def test_older_object_comes_first(younger: JsonObject, elders: list[tuple[str, str, Key]]) -> None:
    claims = _claims(ELDER, younger)
    assert _elders(claims, younger) == elders
    assert _elders(claims, ELDER) == []


def test_of_two_of_the_same_second_exactly_one_comes_first() -> None:
    one, other = _object(Key("a", "one"), "shop.io"), _object(Key("a", "two"), "shop.io")
    claims = _claims(one, other)
    assert [bool(_elders(claims, obj)) for obj in (one, other)] == [False, True]


def test_names_follow_the_template() -> None:
    claims = _claims(template="{cluster}-{namespace}-{name}")
    assert claims.tenant_name(ELDER) == "blue-a-shop"
    assert not list(claims.contests(_request(_object(Key("b", "shop"), "x.io"))))


def test_objects_are_found_by_what_concerns_them() -> None:
    claims = _claims(_object(Key("a", "shop"), "Shop.io", certificateArn="arn:1"))
    assert claims.holders(BY_DOMAIN, "shop.io") == [Key("a", "shop")]
    assert claims.holders(BY_CERTIFICATE, "arn:1") == [Key("a", "shop")]
    assert claims.all_keys() == [Key("a", "shop")]


def test_odd_objects_claim_nothing_and_disturb_nobody() -> None:
    odd = _object(Key("a", "odd"), 7, None)
    odd["spec"]["domains"].append("text")
    assert list(_claims(odd, ELDER).contests(_request(odd))) == []


def test_object_whose_hostnames_are_refused_claims_nothing() -> None:
    """Nobody keeps the owner of a name waiting by asking for it first."""
    policy = Guards(hostnames={"a": ("a.io",), "b": ("b.io",)})
    squatter = _object(Key("b", "shop"), "shop.b.io", "shop.a.io")
    owner = _object(Key("a", "shop"), "shop.a.io", since=LATE)
    neighbour = _object(Key("a", "other"), "SHOP.a.io", since="2026-01-01T00:00:02Z")
    claims = _claims(squatter, owner, neighbour, guards=policy)
    assert _elders(claims, owner) == []
    assert _elders(claims, neighbour) == [("domain", "shop.a.io", SHOP)]
    first_come = _elders(_claims(squatter, owner), owner)
    assert first_come == [("name", "shop", Key("b", "shop")), ("domain", "shop.a.io", Key("b", "shop"))]


ENTRY = InventoryRecord("Z1", "x.io", "CNAME", "d1.cloudfront.net", 300)


def _recording(
    key: Key, *domains: str, state: str = "Written", since: str = EARLY, zone: str = "Z1"
) -> JsonObject:
    """An object with a record of x.io in its inventory."""
    obj = _object(key, *domains, since=since)
    obj["status"] = {"inventory": [{"zone": zone, "name": "x.io", "type": "CNAME", "state": state}]}
    return obj


HOLDER, OWN = Key("a", "holder"), Key("b", "own")


@pytest.mark.parametrize(
    ("other", "own", "state", "is_others"),
    [
        pytest.param(
            _recording(HOLDER, "x.io", since=LATE),
            _recording(OWN, "y.io"),
            "Written",
            True,
            id="it asks alone",
        ),
        pytest.param(
            _recording(HOLDER, "x.io"),
            _recording(OWN, "x.io", since=LATE),
            "Written",
            True,
            id="both ask, and it is older",
        ),
        pytest.param(
            _recording(HOLDER, "x.io", since=LATE),
            _recording(OWN, "x.io"),
            "Written",
            False,
            id="both ask, and it is younger",
        ),
        pytest.param(
            _recording(HOLDER, "y.io"),
            _recording(OWN, "x.io", since=LATE),
            "Written",
            False,
            id="it does not ask",
        ),
        pytest.param(
            _recording(HOLDER, "x.io", state="Planned"),
            _recording(OWN, "y.io"),
            "Written",
            False,
            id="it has not written it",
        ),
        pytest.param(
            _recording(HOLDER, "y.io", since=LATE),
            _recording(OWN, "x.io", state="Planned"),
            "Planned",
            True,
            id="we have not written it",
        ),
        pytest.param(
            _recording(HOLDER, "x.io", zone="Z2"),
            _recording(OWN, "y.io"),
            "Written",
            False,
            id="another zone",
        ),
        pytest.param(
            _object(HOLDER, "x.io"), _recording(OWN, "y.io"), "Written", False, id="not in its inventory"
        ),
    ],
)
def test_record_in_two_inventories_belongs_to_one_object(
    other: JsonObject, own: JsonObject, state: str, is_others: bool
) -> None:
    claims = _claims(other, own)
    entry = msgspec.structs.replace(ENTRY, state=state)
    assert claims.recorder(_request(own), entry) == (HOLDER if is_others else None)


def test_places_in_the_inventories_of_others_are_known() -> None:
    own = _object(OWN, "x.io")
    claims = _claims(_recording(HOLDER, "x.io"), own)
    places = [("Z1", "x.io", "CNAME"), ("Z1", "x.io", "A"), ("Z2", "x.io", "CNAME")]
    assert claims.recorded(_request(own), places) == {("Z1", "x.io", "CNAME"): "a/holder"}


def test_claimants_are_those_who_are_older() -> None:
    own = _object(Key("b", "own"), "y.io", since=LATE)
    younger = _object(Key("c", "younger"), "z.io", since="2026-01-01T00:00:02Z")
    claims = _claims(ELDER, own, younger)
    assert claims.claimants(_request(own), ["shop.io", "z.io", "y.io"]) == (
        Rival("domain", "shop.io", "a/shop"),
    )
