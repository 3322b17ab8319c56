"""Who has a name or a domain within the cluster: the oldest object, and all agree on which that is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

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


@pytest.mark.parametrize(
    ("younger", "rivals"),
    [
        pytest.param(_object(Key("a", "other"), "other.io", since=LATE), (), id="nothing in common"),
        pytest.param(
            _object(Key("a", "other"), "SHOP.io.", since=LATE),
            (Rival("domain", "shop.io", "a/shop"),),
            id="domain",
        ),
        pytest.param(
            _object(Key("b", "shop"), "other.io", since=LATE),
            (Rival("name", "shop", "a/shop"),),
            id="tenant name",
        ),
        pytest.param(
            _object(Key("b", "shop"), "shop.io", since=LATE),
            (Rival("name", "shop", "a/shop"), Rival("domain", "shop.io", "a/shop")),
            id="both",
        ),
    ],
)
def test_younger_object_gives_way(younger: JsonObject, rivals: tuple[Rival, ...]) -> None:
    claims = _claims(ELDER, younger)
    assert claims.rivals(_request(younger)) == rivals
    assert claims.rivals(_request(ELDER)) == ()


def test_of_two_of_the_same_second_exactly_one_gives_way() -> None:
    one, other = _object(Key("a", "one"), "shop.io"), _object(Key("a", "two"), "shop.io")
    claims = _claims(one, other)
    assert [bool(claims.rivals(_request(obj))) for obj in (one, other)] == [False, True]


def test_names_follow_the_template() -> None:
    claims = _claims(template="{cluster}-{namespace}-{name}")
    assert claims.tenant_name(ELDER) == "blue-a-shop"
    assert not claims.rivals(_request(_object(Key("b", "shop"), "x.io")))


def test_objects_are_found_by_what_concerns_them() -> None:
    claims = _claims(_object(Key("a", "shop"), "Shop.io", certificateArn="arn:1"))
    assert claims.holders(BY_DOMAIN, "shop.io") == [Key("a", "shop")]
    assert claims.holders(BY_CERTIFICATE, "arn:1") == [Key("a", "shop")]
    assert claims.all_keys() == [Key("a", "shop")]


def test_odd_objects_claim_nothing_and_disturb_nobody() -> None:
    odd = _object(Key("a", "odd"), 7, None)
    odd["spec"]["domains"].append("text")
    assert _claims(odd, ELDER).rivals(_request(odd)) == ()


def test_object_whose_hostnames_are_refused_claims_nothing() -> None:
    """Nobody keeps the owner of a name waiting by asking for it first."""
    policy = Guards(hostnames={"a": ("a.io",), "b": ("b.io",)})
    squatter = _object(Key("b", "shop"), "shop.b.io", "shop.a.io")
    owner = _object(Key("a", "shop"), "shop.a.io", since=LATE)
    neighbour = _object(Key("a", "other"), "SHOP.a.io", since="2026-01-01T00:00:02Z")
    claims = _claims(squatter, owner, neighbour, guards=policy)
    assert claims.rivals(_request(owner)) == ()
    assert claims.rivals(_request(neighbour)) == (Rival("domain", "shop.a.io", "a/shop"),)
    first_come = _claims(squatter, owner).rivals(_request(owner))
    assert first_come == (Rival("name", "shop", "b/shop"), Rival("domain", "shop.a.io", "b/shop"))


def _writing(key: Key, name: str, *domains: str, state: str = "Written", since: str = EARLY) -> JsonObject:
    obj = _object(key, *domains, since=since)
    obj["status"] = {"inventory": [{"name": name, "state": state}]}
    return obj


HOLDER = Key("a", "holder")


@pytest.mark.parametrize(
    ("other", "own", "has_it"),
    [
        pytest.param(
            _writing(HOLDER, "x.io", "x.io", since=LATE),
            _object(Key("b", "own"), "y.io"),
            True,
            id="it asks, and we do not",
        ),
        pytest.param(
            _writing(HOLDER, "x.io", "x.io"),
            _object(Key("b", "own"), "x.io", since=LATE),
            True,
            id="it asked first",
        ),
        pytest.param(
            _writing(HOLDER, "x.io", "x.io", since=LATE),
            _object(Key("b", "own"), "x.io"),
            False,
            id="we asked first",
        ),
        pytest.param(
            _writing(HOLDER, "x.io", "y.io"),
            _object(Key("b", "own"), "x.io", since=LATE),
            False,
            id="it remembers, and does not ask",
        ),
        pytest.param(
            _writing(HOLDER, "x.io", "x.io", state="Planned"),
            _object(Key("b", "own"), "y.io"),
            False,
            id="it has not written yet",
        ),
        pytest.param(_object(HOLDER, "x.io"), _object(Key("b", "own"), "y.io"), False, id="it only asks"),
    ],
)
def test_records_of_a_name_are_those_of_whoever_asked_first_and_wrote_them(
    other: JsonObject, own: JsonObject, has_it: bool
) -> None:
    assert _claims(other, own).better_claim(_request(own), "x.io") == (HOLDER if has_it else None)


def test_claimants_are_those_who_are_older() -> None:
    own = _object(Key("b", "own"), "y.io", since=LATE)
    younger = _object(Key("c", "younger"), "z.io", since="2026-01-01T00:00:02Z")
    claims = _claims(ELDER, own, younger)
    assert claims.claimants(_request(own), ["shop.io", "z.io", "y.io"]) == (
        Rival("domain", "shop.io", "a/shop"),
    )
