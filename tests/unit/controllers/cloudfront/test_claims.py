"""What DistributionTenants claim: the name of a tenant, and its domains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.entries import place_of
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.controllers.cloudfront.claims import CERTIFICATE, TENANT_NAME, TenantClaims
from edgekeeper.controllers.cloudfront.guards import EVERYTHING, Guards
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import Store
from edgekeeper.lifecycle.claims import HOSTNAME, Claims, Contest, KindObject, Rival
from edgekeeper.lifecycle.naming import NameTemplate
from edgekeeper.lifecycle.objects import ObjectIndex

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


@dataclass
class _Register:
    """The claims of some tenants."""

    claims: Claims
    tenants: TenantClaims

    @property
    def objects(self) -> ObjectIndex:
        return self.claims.objects


def _claims(*objects: JsonObject, template: str = "{name}", guards: Guards = EVERYTHING) -> _Register:
    store = Store(KIND)
    claims = Claims()
    tenants = TenantClaims(claims, KIND, NameTemplate(template, "blue"), guards)
    claims.objects.follow(KIND, [store])
    for obj in objects:
        store.put(_key(obj), msgspec.json.encode(obj))
    store.mark_synced()
    return _Register(claims, tenants)


def _key(obj: JsonObject) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])


def _subject(obj: JsonObject) -> KindObject:
    return KindObject(KIND, _key(obj), obj)


def _contests(register: _Register, obj: JsonObject) -> list[Contest]:
    return register.claims.contests(_subject(obj))


def _elders(register: _Register, obj: JsonObject) -> list[tuple[str, str, Key]]:
    """What an object has to leave to an older one, as long as no tenant proves otherwise."""
    oldest = [(*contest.claim, contest.claimants[0].key) for contest in _contests(register, obj)]
    return [claim for claim in oldest if claim[2] != _key(obj)]


ELDER = _object(Key("a", "shop"), "shop.io")
SHOP = Key("a", "shop")


@pytest.mark.parametrize(
    ("younger", "elders"),
    [
        pytest.param(_object(Key("a", "other"), "other.io", since=LATE), [], id="nothing in common"),
        pytest.param(
            _object(Key("a", "other"), "SHOP.io.", since=LATE), [(HOSTNAME, "shop.io", SHOP)], id="domain"
        ),
        pytest.param(
            _object(Key("b", "shop"), "other.io", since=LATE), [(TENANT_NAME, "shop", SHOP)], id="tenant name"
        ),
        pytest.param(
            _object(Key("b", "shop"), "shop.io", since=LATE),
            [(TENANT_NAME, "shop", SHOP), (HOSTNAME, "shop.io", SHOP)],
            id="both",
        ),
    ],
)
def test_older_object_comes_first(younger: JsonObject, elders: list[tuple[str, str, Key]]) -> None:
    claims = _claims(ELDER, younger)
    assert _elders(claims, younger) == elders
    assert _elders(claims, ELDER) == []


def test_names_follow_the_template() -> None:
    claims = _claims(template="{cluster}-{namespace}-{name}")
    assert claims.tenants.tenant_name(ELDER) == "blue-a-shop"
    assert not _contests(claims, _object(Key("b", "shop"), "x.io"))


def test_objects_are_found_by_what_concerns_them() -> None:
    claims = _claims(_object(Key("a", "shop"), "Shop.io", certificateArn="arn:1"))
    assert claims.objects.holders(HOSTNAME, "shop.io") == [(KIND, Key("a", "shop"))]
    assert claims.objects.holders(CERTIFICATE, "arn:1") == [(KIND, Key("a", "shop"))]
    assert claims.tenants.with_tenant_name("shop") == [Key("a", "shop")]


def test_odd_objects_claim_nothing_and_disturb_nobody() -> None:
    odd = _object(Key("a", "odd"), 7, None)
    odd["spec"]["domains"].append("text")
    assert _contests(_claims(odd, ELDER), odd) == []


def test_object_whose_hostnames_are_refused_claims_nothing() -> None:
    """Nobody keeps the owner of a name waiting by asking for it first."""
    policy = Guards(hostnames={"a": ("a.io",), "b": ("b.io",)})
    squatter = _object(Key("b", "shop"), "shop.b.io", "shop.a.io")
    owner = _object(Key("a", "shop"), "shop.a.io", since=LATE)
    neighbour = _object(Key("a", "other"), "SHOP.a.io", since="2026-01-01T00:00:02Z")
    claims = _claims(squatter, owner, neighbour, guards=policy)
    assert _elders(claims, owner) == []
    assert _elders(claims, neighbour) == [(HOSTNAME, "shop.a.io", SHOP)]
    first_come = _elders(_claims(squatter, owner), owner)
    assert first_come == [(TENANT_NAME, "shop", Key("b", "shop")), (HOSTNAME, "shop.a.io", Key("b", "shop"))]


ENTRY = InventoryRecord("Z1", "x.io", "CNAME", "d1.cloudfront.net", 300)
HOLDER, OWN = Key("a", "holder"), Key("b", "own")


def _recording(key: Key, *domains: str) -> JsonObject:
    """An object with a record of x.io in its inventory."""
    obj = _object(key, *domains)
    obj["status"] = {"inventory": [{"zone": "/hostedzone/Z1", "name": "x.io", "type": "CNAME"}]}
    return obj


def test_record_in_two_inventories_belongs_to_the_object_that_asks_for_the_domain() -> None:
    holder, own = _recording(HOLDER, "x.io"), _recording(OWN, "y.io")
    records = _claims(holder, own).claims.records
    recorder = records.recorder(_subject(own), place_of(ENTRY), ENTRY.state)
    assert recorder is not None
    assert recorder.key == HOLDER
    assert records.recorder(_subject(holder), place_of(ENTRY), ENTRY.state) is None


def test_places_in_the_inventories_of_others_are_known() -> None:
    own = _object(OWN, "x.io")
    claims = _claims(_recording(HOLDER, "x.io"), own)
    places = [("Z1", "x.io", "CNAME"), ("Z1", "x.io", "A"), ("Z2", "x.io", "CNAME")]
    assert claims.claims.records.recorded(_subject(own), places) == {("Z1", "x.io", "CNAME"): "a/holder"}


def test_claimants_are_those_who_are_older() -> None:
    own = _object(Key("b", "own"), "y.io", since=LATE)
    younger = _object(Key("c", "younger"), "z.io", since="2026-01-01T00:00:02Z")
    claims = _claims(ELDER, own, younger)
    assert claims.tenants.older_claimants(_subject(own), ["shop.io", "z.io", "y.io"]) == (
        Rival(HOSTNAME, "shop.io", "a/shop"),
    )


ROLE = Role("arn:aws:iam::111122223333:role/dns")


@pytest.mark.parametrize(
    ("role", "where"),
    [
        (Role(), {"spec": {"dns": {"hostedZoneId": "Z1"}}}),
        (ROLE, {"spec": {"dns": {"hostedZoneId": "/hostedzone/Z1", "assumeRoleArn": ROLE.arn}}}),
        (ROLE, {"status": {"inventory": [{"zone": "Z1", "role": ROLE.arn}]}}),
        (ROLE, {"status": {"dnsChanges": [{"zone": "Z1", "role": ROLE.arn, "id": "C1"}]}}),
    ],
)
def test_zone_is_in_use_while_a_spec_an_inventory_or_a_change_names_it(role: Role, where: JsonObject) -> None:
    obj = {**_object(OWN, "x.io"), **where}
    records = _claims(obj).claims.records
    assert records.uses_zone("Z1", role)
    assert not records.uses_zone("Z2", role)
    assert not records.uses_zone("Z1", ROLE if role == Role() else Role())
