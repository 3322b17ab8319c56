"""S-06: nobody reaches AWS as somebody else, or with what is somebody else's, by naming it in a spec.

What is malformed is refused in any case. What is well-formed and another's is refused by the guards where administrators
have set them; where not, it is left to AWS, as in the systems before, and nothing is changed by asking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.wiring import KIND, TenantOptions
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import Key
from kubesim.aws.identity import Role
from kubesim.aws.route53.state import Zone
from kubesim.virtual import virtual_time
from tests.security.identities import (
    ADMIN_DISTRIBUTION,
    ADMIN_ROLE,
    OWN_ROLE,
    Claim,
    foreign,
    malformed,
    mentioned,
)
from tests.tenants.estate import DISTRIBUTION, NEIGHBOUR
from tests.tenants.scene import Scene, playing, records_of
from tests.tenants.system import KEY, OPTIONS, system, tenant

SHOP = "shop.example.com"
LENT = "Z0LENT"
"""A zone of another account, with a role for it."""
LENT_DNS = {"provider": "route53", "hostedZoneId": LENT, "assumeRoleArn": OWN_ROLE}

REMEDIES = (
    "ids have capital letters",
    "ids begin with",
    "its form is arn:",
    "use an allowed value, or have an administrator add this one",
)


class Office:
    """What administrators keep for themselves, beside what the estate has for everybody."""

    def __init__(self, scene: Scene) -> None:
        cloudfront = scene.cloud.cloudfront
        self.zone: Zone = scene.cloud.route53.add_zone("admin.example.com")
        self.group = cloudfront.keep_group(cloudfront.new_group("admin")).id
        cloudfront.add_distribution(ADMIN_DISTRIBUTION)
        self.lent: Zone = scene.cloud.account(NEIGHBOUR).route53.add_zone("example.com", id=LENT)
        for arn in (OWN_ROLE, ADMIN_ROLE):
            scene.cloud.world.identities.add_role(Role(arn))

    def claims(self, *kinds: Callable[[str, str], Iterable[Claim]]) -> list[Claim]:
        return [claim for kind in kinds for claim in kind(self.zone.id, self.group)]


def guarded(*zones: str) -> TenantOptions:
    guards = Guards(
        role_arns=frozenset({OWN_ROLE}),
        hosted_zones=frozenset(zones),
        distributions=frozenset({DISTRIBUTION}),
        connection_groups=frozenset({"cg_for-all"}),
    )
    return replace(OPTIONS, guards=guards, cleanup_timeout=timedelta(minutes=20))


def asked(scene: Scene) -> list[tuple[str, object]]:
    """Every call but the listings that go on all the time."""
    sweeps = ("ListDistributionTenants", "ListConnectionGroups", "ListCertificates", "GetDistribution")
    return [(one.operation, one.params) for one in scene.cloud.journal.entries if one.operation not in sweeps]


async def claim_all(scene: Scene, claims: Iterable[Claim], zone: str) -> dict[Key, Claim]:
    """An object for each claim."""
    claimed: dict[Key, Claim] = {}
    for number, claim in enumerate(claims):
        key = Key("default", f"claim-{number:03}")
        await scene.create(tenant(key, f"{key.name}.example.com", **claim.spec(zone)))
        claimed[key] = claim
    await scene.elapse(minutes=6)
    return claimed


def test_there_are_variants_of_each() -> None:
    claims = [*foreign("Z0ADMIN", "cg_admin"), *malformed("Z0ADMIN", "cg_admin")]
    for path in {claim.path for claim in claims}:
        assert len({claim.value for claim in claims if claim.path == path}) >= 12, path


@virtual_time
async def test_guards_let_nothing_of_anothers_out() -> None:
    async with playing(guarded("Z0FORALL"), loose=True) as scene:
        claims = Office(scene).claims(foreign, malformed)
        before = scene.estate.state()
        for key, claim in (await claim_all(scene, claims, "Z0FORALL")).items():
            ready = scene.fact("Ready", key)
            assert ready[:2] == ("False", "ValidationFailed"), claim
            assert f"{claim.path} " in ready.message, claim
            assert any(remedy in ready.message for remedy in REMEDIES), claim
            assert len(scene.events("ValidationFailed", key)) == 1
        assert asked(scene) == []
        assert scene.calls("GetDistribution") == 0
        assert (scene.estate.state(), scene.estate.writes) == (before, 0)


@virtual_time
async def test_server_refuses_what_is_malformed_at_admission() -> None:
    async with playing() as scene:
        for claim in Office(scene).claims(malformed):
            with pytest.raises(InvalidError) as refused:
                await scene.create(tenant(**claim.spec(scene.zone.id)))
            assert f"{claim.path}: " in str(refused.value), claim
        assert list(scene.stage.objects()) == []


@virtual_time
async def test_without_guards_what_is_malformed_still_goes_nowhere() -> None:
    async with playing(loose=True) as scene:
        claims = Office(scene).claims(malformed)
        for key, claim in (await claim_all(scene, claims, scene.zone.id)).items():
            ready = scene.fact("Ready", key)
            assert ready[:2] == ("False", "ValidationFailed"), claim
            assert f"{claim.path} {claim.value!r}" in ready.message
        assert asked(scene) == []
        assert scene.calls("GetDistribution") == 0


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (Claim("spec.dns.assumeRoleArn", "arn:aws:iam::999988887777:role/dns"), "DNSError"),
        (Claim("spec.dns.assumeRoleArn", OWN_ROLE.replace("arn:aws:", "arn:aws-cn:")), "DNSError"),
        (Claim("spec.dns.hostedZoneId", "Z0OFANOTHERACCOUNT"), "DNSError"),
        (Claim("spec.distributionId", "E9OFANOTHERACC"), "ValidationFailed"),
        (Claim("spec.connectionGroupId", "cg_of-another-account"), "InvalidSpec"),
    ],
    ids=["role", "partition", "zone", "distribution", "connection group"],
)
@virtual_time
async def test_without_guards_what_is_another_accounts_is_refused_by_aws(claim: Claim, reason: str) -> None:
    async with playing() as scene:
        before = scene.estate.state()
        await scene.create(tenant(KEY, SHOP, **claim.spec(scene.zone.id)))
        await scene.says("Ready", reason)
        await scene.elapse(minutes=30)
        assert (scene.estate.state(), scene.estate.writes) == (before, 0)


async def lent(scene: Scene) -> None:
    """A tenant whose records are in a zone that is reached with a role, both as allowed."""
    await scene.create(tenant(KEY, SHOP, dns=LENT_DNS))
    await scene.ready()


@virtual_time
async def test_later_edit_gets_no_more_than_a_new_object() -> None:
    async with playing(guarded(LENT, "Z0FORALL")) as scene:
        office = Office(scene)
        await lent(scene)
        before, calls = scene.estate.state(), asked(scene)
        for claim in office.claims(foreign):
            await scene.edit(
                **{"connectionGroupId": None, "distributionId": DISTRIBUTION, **claim.spec(LENT)}
            )
            fact = await scene.says("Ready", "ValidationFailed")
            assert f"{claim.path} {claim.value!r}".replace("/hostedzone/", "") in fact.message
        assert (asked(scene), scene.estate.state()) == (calls, before)
        await scene.delete()
        await scene.gone()
        assert (scene.names, records_of(office.lent.records.values())) == ([], {})
        last = office.claims(foreign)[-1]
        assert not any(mentioned(last.value, params) for _, params in asked(scene))


FORGED = {
    "role": {"zone": LENT, "role": ADMIN_ROLE},
    "zone": {"zone": "Z0ADMIN", "role": ""},
    "no role at all": {"zone": LENT, "role": "arn:aws:iam::*:role/*"},
    "no zone at all": {"zone": "../Z0ADMIN", "role": OWN_ROLE},
}


@pytest.mark.parametrize("place", FORGED.values(), ids=FORGED)
@virtual_time
async def test_status_that_names_what_is_not_allowed_reaches_no_further(place: JsonObject) -> None:
    """Whoever may write a status could name a role there, and have the object deleted."""
    async with playing(guarded(LENT)) as scene:
        Office(scene)
        await lent(scene)
        calls = len(asked(scene))
        entry = {**place, "type": "CNAME", "name": SHOP, "target": scene.endpoint, "ttl": 300}
        await scene.stage.user.merge_patch(
            KIND, KEY, {"status": {"inventory": [entry]}}, subresource="status"
        )
        await scene.delete()
        fact = await scene.says("Ready", "DNSError")
        assert f"status.inventory[CNAME {SHOP}]" in fact.message
        await scene.gone()
        later = asked(scene)[calls:]
        forged = {place["zone"], place["role"]} - {LENT, OWN_ROLE, ""}
        assert not any(mentioned(value, params) for value in forged for _, params in later)
        assert "ChangeResourceRecordSets" not in {operation for operation, _ in later}
        assert not scene.estate.chronicle.wrongs


@virtual_time
async def test_guard_that_comes_later_holds_for_what_was_written_before() -> None:
    async with playing() as scene:
        office = Office(scene)
        await lent(scene)
        scene.stage.operator.die()
        scene.stage.system = replace(scene.stage.system, controllers=system(guarded("Z0FORALL")).controllers)
        calls = len(asked(scene))
        scene.stage.start_operator()
        fact = await scene.says("Ready", "ValidationFailed")
        assert "spec.dns.hostedZoneId" in fact.message
        await scene.edit(dns=None)
        fact = await scene.says("Ready", "DNSError")
        assert "--allowed-hosted-zones" in fact.message
        assert {operation for operation, _ in asked(scene)[calls:]} <= {"GetDistributionTenant"}
        assert records_of(office.lent.records.values()) == {f"CNAME {SHOP}": scene.endpoint}
