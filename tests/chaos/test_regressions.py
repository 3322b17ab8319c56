"""Sequences that once broke a law, as short as they could be made.

`make chaos` prints such a case for everything that it finds. Put it here with the change that makes it pass, under a name
that says what went wrong.
"""

from __future__ import annotations

import pytest

from tests.chaos.operation import Operation, op
from tests.chaos.runner import play
from tests.chaos.tenants import TENANTS

DNS = {"provider": "route53", "hostedZoneId": "$zone:main"}


def spec(*domains: str, **more: object) -> dict[str, object]:
    return {"distributionId": "$distribution:main", "domains": [{"domain": one} for one in domains], **more}


SHOP, API = "shop.example.com", "api.example.com"

ANOTHERS = {
    "edgekeeper.io/cluster": "another",
    "edgekeeper.io/namespace": "default",
    "edgekeeper.io/name": "gamma",
    "edgekeeper.io/uid": "00000000-0000-4000-8000-000000000000",
}
"""The mark of an object of another cluster."""

TENANT_CASES = {
    "deletion after a creation whose answer was lost leaves the tenant": [
        op("fail", fault="lost-response", operation="CreateDistributionTenant", seconds=60),
        op("create", key="alpha", spec=spec(API)),
        op("wait", seconds=1),
        op("delete", key="alpha"),
    ],
    "corrections of an object that is gone are remembered": [
        op("create", key="alpha", spec=spec(SHOP)),
        op("wait", seconds=180),
        op("change_tenant", name="alpha", change="toggle"),
        op("wait", seconds=600),
    ],
    "object is in conflict with records that it was about to write when its spec changed": [
        op("create", key="alpha", spec=spec(SHOP, dns=DNS)),
        op("wait", seconds=5.35),
        op("edit", key="alpha", spec={"connectionGroupId": "$group:fast"}),
    ],
    "object is in conflict with records that it wrote before it died and its spec changed": [
        op("kill_at", target="route53", mutating=True, when="after"),
        op("create", key="alpha", spec=spec(SHOP, dns=DNS)),
        op("wait", seconds=6.5),
        op("edit", key="alpha", spec={"dns": {"ttl": 60}}),
    ],
    "record that is refused is planned twice after an edit": [
        op("write_record", zone="$zone:main", domain=API, target="$endpoint", type="A"),
        op("create", key="beta", spec=spec(API, dns=DNS)),
        op("wait", seconds=10),
        op("edit", key="beta", spec={"dns": {"ttl": 60}}),
    ],
    "record that somebody else wrote meanwhile becomes ours": [
        op("create", key="alpha", spec=spec("example.com", dns=DNS)),
        op("wait", seconds=0.1),
        op("write_record", zone="$zone:main", domain=API, target="$endpoint"),
        op("edit", key="alpha", spec={"domains": [{"domain": API}]}),
    ],
    "record that somebody else wrote meanwhile is removed with the object": [
        op("create", key="alpha", spec=spec("example.com", dns=DNS)),
        op("wait", seconds=0.1),
        op("write_record", zone="$zone:main", domain=API, target="$endpoint"),
        op("edit", key="alpha", spec={"domains": [{"domain": API}]}),
        op("wait", seconds=30),
        op("delete", key="alpha"),
    ],
    "domain that a stranger has is written and withdrawn for ever": [
        op("create", key="alpha", spec=spec("*.example.com", dns=DNS)),
        op("squat", domain="example.com"),
        op("wait", seconds=71),
        op("edit", key="alpha", spec={"domains": [{"domain": "example.com"}]}),
    ],
    "inventory that became empty is taken for one of an earlier operator": [
        op("create", key="alpha", spec=spec(SHOP, "example.com", dns=DNS)),
        op("squat", domain=SHOP),
    ],
    "record is adopted for a tenant that cannot be adopted, and removed": [
        op("wait", seconds=0.1),
        op("make_tenant", name="gamma", domains=["*.example.com"], tags=ANOTHERS),
        op("write_record", zone="$zone:main", domain="www.example.com", target="$endpoint"),
        op(
            "create",
            key="gamma",
            spec=spec("www.example.com", dns=DNS),
            annotations={"edgekeeper.io/adopt": "true"},
        ),
    ],
    "record is forgotten because another's tenant serves its name": [
        op("wait", seconds=0.1),
        op("create", key="gamma", spec=spec("*.example.com", dns=DNS)),
        op("make_tenant", name="gamma", domains=[SHOP, "*.example.com"], tags=ANOTHERS),
    ],
    "records of a deleted tenant stay where its zone cannot be reached with a new role": [
        op("create", key="alpha", spec=spec("new.example.com", "*.example.com", "example.com", dns=DNS)),
        op("wait", seconds=114),
        op("edit", key="alpha", spec={"dns": {"assumeRoleArn": "$role:dns"}}),
        op("delete_tenant", name="alpha"),
    ],
    "zone that cannot be read keeps records of another zone": [
        op("create", key="alpha", spec=spec(SHOP, "example.com", dns=DNS)),
        op("wait", seconds=0.1),
        op("edit", key="alpha", spec={"dns": {"hostedZoneId": "$zone:none"}}),
        op("edit", key="alpha", spec={"domains": [{"domain": SHOP}]}),
    ],
    "domain is given up while the change of another zone propagates": [
        op(
            "create",
            key="alpha",
            spec=spec(
                "*.example.com",
                "new.example.com",
                dns={**DNS, "hostedZoneId": "$zone:theirs", "assumeRoleArn": "$role:dns"},
            ),
        ),
        op("wait", seconds=120),
        op("restore", key="alpha", spec=spec("example.com", API, dns=DNS)),
    ],
    "domain is given up after a removal whose answer was lost": [
        op("create", key="alpha", spec=spec(SHOP, "*.example.com", dns=DNS)),
        op("wait", seconds=114),
        op("lose", target="route53", skip=1, mutating=True, times=1, when="after"),
        op("edit", key="alpha", spec={"domains": [{"domain": "example.com"}, {"domain": API}]}),
        op("wait", seconds=5),
    ],
    "records of a tenant that is gone are written and withdrawn while another is refused": [
        op("create", key="alpha", spec=spec(SHOP)),
        op("wait", seconds=0.1),
        op("write_record", zone="$zone:main", domain=SHOP, target="$endpoint", ttl=17),
        op("fail", fault="AccessDenied", operation="ListResourceRecordSets", times=5, seconds=600),
        op("edit", key="alpha", spec=spec("new.example.com", SHOP, "example.com", dns=DNS)),
        op("delete_tenant", name="alpha"),
        op("wait", seconds=5),
    ],
    "record is in an inventory twice where only the role for its zone has changed": [
        op("create", key="alpha", spec=spec(SHOP, dns=DNS)),
        op("wait", seconds=10),
        op("edit", key="alpha", spec={"dns": {"assumeRoleArn": "$role:dns"}}),
        op("deny", action="route53:ListResourceRecordSets"),
        op("wait", seconds=0.1),
    ],
    "record is in an inventory twice after it was replaced and its time to live changed": [
        op("create", key="beta", spec=spec(API, "example.com", dns=DNS)),
        op("wait", seconds=5),
        op("edit", key="beta", spec={"dns": {**DNS, "ttl": 60}}),
        op("write_record", zone="$zone:main", domain=API, target="$endpoint", ttl=300, type="A"),
    ],
    "name leads to a tenant that is deleted, by the record of an object that gave the name up": [
        op("create", key="alpha", spec=spec("*.example.com", "SHOP.Example.Com")),
        op(
            "edit",
            key="alpha",
            spec={"dns": {**DNS, "hostedZoneId": "$zone:theirs", "assumeRoleArn": "$role:dns"}},
        ),
        op("wait", seconds=10),
        op("deny", action="route53:*"),
        op("delete_tenant", name="alpha"),
        op("edit", key="alpha", spec={"domains": [{"domain": "*.example.com"}]}),
        op("wait", seconds=0.1),
        op(
            "create",
            key="gamma",
            spec=spec("example.com", SHOP, parameters=[{"name": "colour", "value": "blue"}]),
        ),
    ],
    "record that was planned for another endpoint stays in the inventory": [
        op("create", key="alpha", spec=spec("*.example.com", dns=DNS)),
        op("wait", seconds=10),
        op("deny", action="route53:ChangeResourceRecordSets"),
        op("edit", key="alpha", spec={"connectionGroupId": "$group:fast"}),
        op("wait", seconds=0.1),
        op("restore", key="alpha", spec=spec("*.example.com", dns=DNS)),
        op("wait", seconds=1),
        op("delete_tenant", name="alpha"),
    ],
    "record of an object that is to be left alone leads to a tenant that is gone": [
        op("create", key="alpha", spec=spec(SHOP, "new.example.com", "www.example.com", dns=DNS)),
        op("wait", seconds=70),
        op("create", key="gamma", spec=spec("new.example.com", dns=DNS)),
        op("annotate", key="alpha", annotation="edgekeeper.io/adopt", value="yes"),
        op("edit", key="alpha", spec={"domains": [{"domain": "www.example.com"}, {"domain": SHOP}]}),
        op("delete_tenant", name="alpha"),
    ],
    "record is in an inventory twice after a foreign one took its place and the group changed": [
        op("create", key="alpha", spec=spec("*.example.com", dns=DNS)),
        op("wait", seconds=120),
        op(
            "write_record",
            zone="$zone:main",
            domain="*.example.com",
            target="elsewhere.example.net",
            ttl=300,
            type="A",
        ),
        op("change_tenant", name="alpha", change="group"),
    ],
    "deletion waits for an object that is to be left alone": [
        op("create", key="alpha", spec=spec(SHOP, "new.example.com", "www.example.com", dns=DNS)),
        op("wait", seconds=70),
        op("create", key="gamma", spec=spec("new.example.com", dns=DNS)),
        op("annotate", key="alpha", annotation="edgekeeper.io/adopt", value="yes"),
        op(
            "edit", key="alpha", spec={"domains": [{"domain": one} for one in ("www.example.com", API, SHOP)]}
        ),
        op("delete_tenant", name="alpha"),
        op("wait", seconds=0.1),
        op("delete", key="gamma"),
    ],
    "name moves to an object that has its record already": [
        op("create", key="alpha", spec=spec("*.example.com", "SHOP.Example.Com")),
        op(
            "edit",
            key="alpha",
            spec={"dns": {**DNS, "hostedZoneId": "$zone:theirs", "assumeRoleArn": "$role:dns"}},
        ),
        op("wait", seconds=10),
        op("deny", action="route53:*"),
        op("delete_tenant", name="alpha"),
        op("edit", key="alpha", spec={"domains": [{"domain": "*.example.com"}]}),
        op("create", key="gamma", spec=spec("example.com", SHOP)),
        op("wait", seconds=0.1),
        op("edit", key="gamma", spec=spec("example.com", "*.example.com", "www.example.com")),
        op("edit", key="alpha", spec={"domains": [{"domain": SHOP}]}),
    ],
    "parameter that the distribution does not define": [
        op("create", key="alpha", spec=spec(SHOP, parameters=[{"name": "origin", "value": "a"}])),
    ],
    "tenant that cannot be tagged is nobody's after answers were lost": [
        op("deny", action="cloudfront:TagResource"),
        op("lose", target="cloudfront", skip=0, mutating=True, times=5, when="after"),
        op("create", key="gamma", spec=spec(SHOP, dns=DNS)),
        op("wait", seconds=120),
    ],
    "tenant that cannot be tagged is nobody's after a creation that began late": [
        op("deny", action="cloudfront:TagResource"),
        op("create", key="gamma", spec=spec(SHOP)),
        op("wait", seconds=1),
        op("lose", target="cloudfront", skip=0, mutating=True, times=3, when="before"),
        op("create", key="beta", spec=spec(API)),
        op("wait", seconds=50),
        op("lose", target="cloudfront", skip=0, mutating=True, times=1, when="after"),
        op("wait", seconds=120),
    ],
    "record is in no inventory after its object was orphaned": [
        op(
            "create",
            key="alpha",
            spec=spec("new.example.com", SHOP, dns={**DNS, "hostedZoneId": "$zone:second"}),
        ),
        op("wait", seconds=0.1),
        op("annotate", key="alpha", annotation="edgekeeper.io/deletion-policy", value="orphan"),
        op("move", domain="www.example.com", source="other/alpha", target="alpha"),
        op("wait", seconds=0.1),
        op("delete", key="alpha"),
    ],
    "name leads to CloudFront for a spec that is refused, and its tenant does not serve it": [
        op("create", key="alpha", spec=spec("example.com", dns=DNS)),
        op("wait", seconds=1),
        op("create", key="other/alpha", spec=spec("*.example.com", SHOP, "new.example.com", dns=DNS)),
        op("move", domain=SHOP, source="gamma", target="alpha"),
        op("wait", seconds=120),
        op("delete", key="alpha"),
        op("wait", seconds=10),
        op("wait", seconds=78),
        op("wait", seconds=36),
        op(
            "edit",
            key="other/alpha",
            spec={
                "managedCertificateRequest": {
                    "validationTokenHost": "cloudfront",
                    "primaryDomainName": "none.example.com",
                }
            },
        ),
    ],
    "tenant that was created again without tags is never marked": [
        op(
            "create",
            key="alpha",
            spec=spec(API, dns={**DNS, "hostedZoneId": "$zone:theirs", "assumeRoleArn": "$role:dns"}),
        ),
        op("wait", seconds=72),
        op("deny", action="cloudfront:TagResource"),
        op("create", key="gamma", spec=spec("example.com", dns=DNS)),
        op("wait", seconds=99),
        op("delete_tenant", name="alpha"),
    ],
    "records of removed domains stay where another's tenant has the new one": [
        op(
            "make_tenant",
            name="beta",
            domains=["www.example.com", "example.com"],
            tags={"made": "by hand"},
        ),
        op(
            "create",
            key="other/alpha",
            spec=spec(SHOP, API, dns=DNS),
            annotations={"edgekeeper.io/adopt": "true"},
        ),
        op("wait", seconds=10),
        op("restore", key="other/alpha", spec=spec("example.com")),
    ],
    "parameters that were changed with the tags stay so": [
        op("create", key="alpha", spec=spec("*.example.com", dns=DNS)),
        op("wait", seconds=120),
        op("change_tenant", name="alpha", change="parameters"),
        op("tag_tenant", name="alpha", tags={"uid": None}),
    ],
    "parameters that were changed with a record stay so": [
        op("create", key="beta", spec=spec("www.example.com", dns=DNS)),
        op("wait", seconds=119),
        op("wait", seconds=78),
        op("delete_record", zone="$zone:main", domain="www.example.com"),
        op("change_tenant", name="beta", change="parameters"),
    ],
}


@pytest.mark.parametrize("operations", TENANT_CASES.values(), ids=TENANT_CASES)
def test_sequence_of_tenants_breaks_no_law(operations: list[Operation]) -> None:
    assert not play(TENANTS, operations).violations
