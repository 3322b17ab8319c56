"""Every field of the spec reaches AWS: when it is set from the beginning, when it is changed and when it is unset.

What existing manifests rely on, field by field. What differs from the operator that they were written for is better on
purpose: tags are updated, and records follow every change of `dns` and go with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.errors import InvalidError
from kubesim.aws.acm.certificate import Certificate
from kubesim.aws.cloud import ACCOUNT
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.identity import Role
from kubesim.virtual import run_virtual
from tests.tenants.estate import DISTRIBUTION
from tests.tenants.scene import Scene, playing
from tests.tenants.system import tenant
from tests.tenants.truth import lies

SHOP, WWW = "shop.example.com", "www.example.com"
ONE, TWO = "one.shop.example.com", "two.shop.example.com"
"""What only a managed certificate covers."""
SECOND_DISTRIBUTION, ZONE, SECOND_ZONE = "E2SECONDSECOND", "Z1FIRST", "Z2SECOND"
FAST, SLOW = "cg_fast", "cg_slow"
ACLS = [
    f"arn:aws:wafv2:us-east-1:{ACCOUNT}:global/webacl/{name}/a1b2c3d4-5678-90ab-cdef-111122223333"
    for name in ("shop", "shield")
]
OWN = [f"arn:aws:acm:us-east-1:{ACCOUNT}:certificate/{name}" for name in ("first", "second")]
ROLES = [f"arn:aws:iam::{ACCOUNT}:role/{name}" for name in ("first", "second")]
DNS: JsonObject = {"provider": "route53", "hostedZoneId": ZONE}
MANAGED: JsonObject = {"validationTokenHost": "self-hosted", "primaryDomainName": ONE}
CERTIFIED: JsonObject = {"domains": [{"domain": ONE}, {"domain": TWO}], "managedCertificateRequest": MANAGED}

REFUSED: Final = "refused"
"""The API server does not take it, and nothing changes."""


@dataclass(frozen=True)
class Field:
    """A field, three things that are done with it, and what can be seen in AWS after each of them."""

    path: str
    seen: Callable[[Scene], object]
    first: tuple[object, object]
    """The value with which the object is created, and what is seen then."""
    second: tuple[object, object]
    """The value to which it is changed, and what is seen then."""
    unset: object
    """What is seen once it is not set any more."""
    at: str = ""
    """What is unset, where the field cannot be without its parent."""
    around: Mapping[str, Any] = field(default_factory=dict)
    """The rest of the spec."""

    @property
    def place(self) -> str:
        """What is written: a list as a whole."""
        return self.path.partition("[]")[0]


# What can be seen


def custom(name: str) -> Callable[[Scene], object]:
    return lambda scene: scene.aws().customizations.get(name)


def tags(scene: Scene) -> object:
    return {key: value for key, value in scene.aws().tags.items() if not key.startswith(TAG_PREFIX)}


def parameters(scene: Scene) -> object:
    return dict(scene.aws().parameters)


def records(scene: Scene) -> object:
    """Where records stand, and for how long they may be remembered."""
    zones = scene.cloud.route53.zones
    return {
        (zone, record.name.rstrip(".")): record.ttl
        for zone in (ZONE, SECOND_ZONE)
        for record in zones[zone].records.values()
        if record.type == "CNAME"
    }


def group(scene: Scene) -> object:
    """The tenant's connection group, and the one to which its name leads."""
    endpoints = {f"{one.endpoint}.": one.id for one in scene.cloud.cloudfront.groups.values()}
    return scene.aws().group, endpoints[scene.cloud.route53.zones[ZONE].target(f"{SHOP}.") or ""]


def roles(scene: Scene) -> object:
    """The roles with which the records were written that are there."""
    return {one.get("role", "") for one in scene.status()["inventory"]}, records(scene)


def certificate(scene: Scene) -> Certificate:
    """The one that serves."""
    arn = scene.aws().certificate
    assert arn is not None
    return scene.cloud.account().certificates().shelf[arn]


def managed(name: str) -> Callable[[Scene], object]:
    def seen(scene: Scene) -> object:
        assert scene.aws().certificate == scene.aws().managed_certificate
        return getattr(certificate(scene), name)

    return seen


def request(scene: Scene) -> object:
    """Who proves the domains; whether they are served; and what the object says of it."""
    is_served = scene.cloud.cloudfront.active_domains(scene.aws()) == {ONE, TWO}
    return certificate(scene).validation_host, is_served, scene.fact("CertificateReady").reason


def _acl(action: str, arn: str = "") -> JsonObject:
    return {"Action": action, **({"Arn": arn} if arn else {})}


def _geo(kind: str, *locations: str) -> JsonObject:
    return {"RestrictionType": kind, "Locations": list(locations)}


FIELDS = [
    Field(
        "distributionId",
        lambda scene: scene.aws().distribution,
        (DISTRIBUTION, DISTRIBUTION),
        (SECOND_DISTRIBUTION, SECOND_DISTRIBUTION),
        REFUSED,
    ),
    Field(
        "domains[].domain",
        lambda scene: (set(scene.aws().domains), records(scene)),
        ([{"domain": SHOP}], ({SHOP}, {(ZONE, SHOP): 300})),
        ([{"domain": WWW}], ({WWW}, {(ZONE, WWW): 300})),
        REFUSED,
        around={"dns": DNS},
    ),
    Field(
        "domains[].domain",
        lambda scene: set(scene.cloud.cloudfront.active_domains(scene.aws())),
        ([{"domain": ONE}], {ONE}),
        ([{"domain": TWO}, {"domain": ONE}], {ONE, TWO}),
        REFUSED,
        around={"managedCertificateRequest": MANAGED},
    ),
    Field("enabled", lambda scene: scene.aws().enabled, (False, False), (True, True), True),
    Field(
        "connectionGroupId",
        group,
        (FAST, (FAST, FAST)),
        (SLOW, (SLOW, SLOW)),
        (SLOW, SLOW),  # left to CloudFront, which keeps it
        around={"dns": DNS},
    ),
    Field(
        "parameters[].name",
        parameters,
        ([{"name": "tier", "value": "gold"}], {"tier": "gold"}),
        ([{"name": "colour", "value": "gold"}], {"colour": "gold"}),
        {},
    ),
    Field(
        "parameters[].value",
        parameters,
        ([{"name": "tier", "value": "gold"}], {"tier": "gold"}),
        ([{"name": "tier", "value": "tin"}], {"tier": "tin"}),
        {},
    ),
    Field(
        "customizations.webAcl.action",
        custom("WebAcl"),
        ("override", _acl("override", ACLS[0])),
        ("disable", _acl("disable", ACLS[0])),
        None,
        at="customizations.webAcl",
        around={"customizations": {"webAcl": {"action": "override", "arn": ACLS[0]}}},
    ),
    Field(
        "customizations.webAcl.arn",
        custom("WebAcl"),
        (ACLS[0], _acl("override", ACLS[0])),
        (ACLS[1], _acl("override", ACLS[1])),
        REFUSED,
        around={"customizations": {"webAcl": {"action": "override", "arn": ACLS[0]}}},
    ),
    Field(
        "customizations.certificate.arn",
        lambda scene: scene.aws().certificate,
        (OWN[0], OWN[0]),
        (OWN[1], OWN[1]),
        None,
        at="customizations.certificate",
    ),
    Field(
        "customizations.geoRestrictions.restrictionType",
        custom("GeoRestrictions"),
        ("whitelist", _geo("whitelist", "DE")),
        ("blacklist", _geo("blacklist", "DE")),
        None,
        at="customizations.geoRestrictions",
        around={"customizations": {"geoRestrictions": {"locations": ["DE"]}}},
    ),
    Field(
        "customizations.geoRestrictions.locations",
        custom("GeoRestrictions"),
        (["DE"], _geo("whitelist", "DE")),
        (["FR", "AT"], _geo("whitelist", "AT", "FR")),
        None,
        at="customizations",
        around={"customizations": {"geoRestrictions": {"restrictionType": "whitelist"}}},
    ),
    Field(
        "managedCertificateRequest.validationTokenHost",
        request,
        ("cloudfront", ("cloudfront", True, "Validated")),
        ("self-hosted", ("self-hosted", True, "Validated")),
        ("self-hosted", True, "NotConfigured"),  # the certificate stays in use
        at="managedCertificateRequest",
        around={**CERTIFIED, "dns": DNS},
    ),
    Field(
        "managedCertificateRequest.primaryDomainName",
        managed("names"),
        (ONE, (ONE, TWO)),
        (TWO, (TWO, ONE)),
        REFUSED,
        around=CERTIFIED,
    ),
    Field(
        "managedCertificateRequest.certificateTransparencyLoggingPreference",
        managed("transparency"),
        ("disabled", "DISABLED"),
        ("enabled", "ENABLED"),
        "ENABLED",
        around=CERTIFIED,
    ),
    Field(
        "tags[].key",
        tags,
        ([{"key": "team"}], {"team": ""}),
        ([{"key": "cost"}], {"team": "", "cost": ""}),
        {"team": "", "cost": ""},  # tags stay: they may be somebody else's by now
    ),
    Field(
        "tags[].value",
        tags,
        ([{"key": "team", "value": "red"}], {"team": "red"}),
        ([{"key": "team", "value": "blue"}], {"team": "blue"}),
        {"team": "blue"},
    ),
    Field(
        "dns.provider",
        records,
        ("route53", {(ZONE, SHOP): 300}),
        ("bind", REFUSED),
        {},
        at="dns",
        around={"dns": DNS},
    ),
    Field(
        "dns.hostedZoneId",
        records,
        (ZONE, {(ZONE, SHOP): 300}),
        (SECOND_ZONE, {(SECOND_ZONE, SHOP): 300}),
        REFUSED,
        around={"dns": DNS},
    ),
    Field(
        "dns.ttl",
        records,
        (60, {(ZONE, SHOP): 60}),
        (600, {(ZONE, SHOP): 600}),
        {(ZONE, SHOP): 300},
        around={"dns": DNS},
    ),
    Field(
        "dns.assumeRoleArn",
        roles,
        (ROLES[0], ({ROLES[0]}, {(ZONE, SHOP): 300})),
        (ROLES[1], ({ROLES[1]}, {(ZONE, SHOP): 300})),
        ({""}, {(ZONE, SHOP): 300}),
        around={"dns": DNS},
    ),
]


# How they are played


def prepare(scene: Scene) -> None:
    """Everything that a spec of the table may name."""
    cloudfront, certificates = scene.cloud.cloudfront, scene.cloud.account().certificates()
    cloudfront.add_distribution(SECOND_DISTRIBUTION)
    optional = (ParameterDefinition("tier", False), ParameterDefinition("colour", False))
    cloudfront.change_distribution(DISTRIBUTION, parameters=optional)
    for id_ in (FAST, SLOW):
        cloudfront.keep_group(replace(cloudfront.new_group(id_.removeprefix("cg_")), id=id_))
    for zone in (ZONE, SECOND_ZONE):
        scene.cloud.route53.add_zone("example.com", id=zone)
    for arn in OWN:
        certificates.add_issued(SHOP, arn=arn)
    for role in ROLES:
        scene.cloud.world.identities.add_role(Role(role))
    for name in (ONE, TWO):
        scene.cloud.serve_token(name)


def at_path(path: str, value: object) -> JsonObject:
    """`{"a": {"b": value}}` of `a.b`."""
    head, _, rest = path.partition(".")
    return {head: at_path(rest, value) if rest else value}


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> JsonObject:
    both = {
        name: merged(one[name], other[name]) for name in one.keys() & other.keys() if _nests(one, other, name)
    }
    return {**one, **other, **both}


def _nests(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    return isinstance(one[name], Mapping) and isinstance(other[name], Mapping)


async def settled(scene: Scene) -> None:
    """Wait until the object says that all is done, and see that it is."""
    await scene.ready()
    await scene.elapse(minutes=10)
    told = {name: scene.fact(name)[:2] for name in ("Ready", "Synced", "DNSReady")}
    assert told["Ready"] == ("True", "Deployed"), scene.told()
    assert told["Synced"] == ("True", "InSync")
    assert told["DNSReady"][0] == scene.fact("CertificateReady").status == "True"
    assert scene.status()["observedGeneration"] == scene.object()["metadata"]["generation"]
    assert lies(scene.object(), scene.estate) == ""


async def change(scene: Scene, path: str, value: object, expected: object) -> bool:
    """Edit one field. Tell whether the API server has taken it, as it should."""
    try:
        await scene.edit(**at_path(path, value))
    except InvalidError:
        assert expected == REFUSED
        return False
    assert expected != REFUSED
    await settled(scene)
    return True


async def play(one: Field) -> None:
    async with playing() as scene:
        prepare(scene)
        value, expected = one.first
        spec = merged({"domains": [{"domain": SHOP}], **one.around}, at_path(one.place, value))
        await scene.create(merged(tenant(), {"spec": spec}))
        await settled(scene)
        assert one.seen(scene) == expected, "set from the beginning"
        if await change(scene, one.place, *one.second):
            expected = one.second[1]
        assert one.seen(scene) == expected, "changed"
        if await change(scene, one.at or one.place, None, one.unset):
            expected = one.unset
        assert one.seen(scene) == expected, "unset"
        await scene.delete()
        await scene.gone()
        assert (scene.names, records(scene)) == ([], {})


@pytest.mark.parametrize("one", [pytest.param(one, id=one.path) for one in FIELDS])
def test_field_is_carried_out_when_it_is_set_changed_and_unset(one: Field) -> None:
    run_virtual(lambda: play(one))


def test_every_field_of_the_spec_is_in_the_table() -> None:
    (version,) = DISTRIBUTION_TENANT.definition()["spec"]["versions"]
    schema = dig(version, "schema", "openAPIV3Schema", "properties", "spec")
    assert set(leaves(schema)) == {one.path for one in FIELDS}


def leaves(schema: JsonObject, path: str = "") -> Iterator[str]:
    """The paths of all fields that hold a value."""
    if schema["type"] == "object":
        for name, part in schema["properties"].items():
            yield from leaves(part, f"{path}.{name}" if path else name)
    elif schema["type"] == "array" and schema["items"]["type"] == "object":
        yield from leaves(schema["items"], f"{path}[]")
    else:
        yield path
