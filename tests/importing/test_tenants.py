"""`edgekeeper import tenants`: what is carried over, what is skipped, and what is refused by field."""

from __future__ import annotations

from collections import Counter
from typing import Any

from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.lifecycle.importing import ImportResult
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.faults import error
from kubesim.aws.route53.records import CLOUDFRONT_ZONE, Alias, Record
from kubesim.virtual import virtual_time
from tests.importing.fleet import WEB_ACL, lead
from tests.importing.world import EDGE, of, world
from tests.tenants.estate import DISTRIBUTION


def spec_of(result: ImportResult) -> Any:
    (body,) = result.manifests
    assert (body["apiVersion"], body["kind"]) == (
        "cloudfront-tenant-operator.io/v1alpha1",
        "DistributionTenant",
    )
    assert body["metadata"]["annotations"] == {"edgekeeper.io/adopt": "true"}
    return body["spec"]


def refusals(result: ImportResult) -> str:
    return "; ".join(map(str, result.refusals))


@virtual_time
async def test_import_carries_every_setting_of_a_tenant_over() -> None:
    async with world() as here:
        parameters = (ParameterDefinition("tier", required=False),)
        here.aws.cloud.cloudfront.change_distribution(DISTRIBUTION, parameters=parameters)
        here.aws.make_tenant(
            "web",
            "Web.example.com",
            "*.web.example.com",
            enabled=False,
            parameters=(("tier", "gold"),),
            customizations={
                "WebAcl": {"Action": "override", "Arn": WEB_ACL},
                "GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["FR", "DE"]},
            },
            tags={"team": "a", "aws:createdBy": "ann"},
        )
        lead(here, "web.example.com", "*.web.example.com", ttl=120)
        (result,) = await here.imported("tenants")
        assert (result.refusals, result.notes, result.owner) == ((), (), "")
        assert result.manifests[0]["metadata"]["namespace"] == EDGE
        assert result.manifests[0]["metadata"]["name"] == "web"
        assert spec_of(result) == {
            "distributionId": DISTRIBUTION,
            "domains": [{"domain": "*.web.example.com"}, {"domain": "web.example.com"}],
            "enabled": False,
            "parameters": [{"name": "tier", "value": "gold"}],
            "customizations": {
                "webAcl": {"action": "override", "arn": WEB_ACL},
                "geoRestrictions": {"restrictionType": "whitelist", "locations": ["DE", "FR"]},
            },
            "tags": [{"key": "team", "value": "a"}],
            "dns": {"provider": "route53", "hostedZoneId": here.aws.zone.id, "ttl": 120},
        }


@virtual_time
async def test_import_skips_tenants_that_have_an_owner_and_names_it() -> None:
    async with world() as here:
        mark = {"cluster": "red", "namespace": "team-a", "name": "taken", "uid": "1-2"}
        tags = {f"{TAG_PREFIX}{key}": text for key, text in mark.items()}
        here.aws.make_tenant("taken", "taken.example.com", tags=tags)
        here.aws.make_tenant("declared", "declared.example.com")
        here.aws.make_tenant("free", "free.example.com")
        (declared,) = await here.imported("tenants", "declared")
        await here.apply([declared])
        results = await here.imported("tenants")
        taken, again = of(results, "taken"), of(results, "declared")
        assert taken.owner == "owned by DistributionTenant team-a/taken of cluster red, by its tags"
        assert again.owner == f"declared by DistributionTenant {EDGE}/declared"
        assert (taken.manifests, again.manifests) == ((), ())
        assert of(results, "free").owner == ""


@virtual_time
async def test_import_chooses_by_distribution_name_and_domain() -> None:
    async with world() as here:
        other = here.aws.cloud.cloudfront.add_distribution("E2OTHER", covers=("*.example.net",))
        here.aws.make_tenant("one", "one.example.com")
        here.aws.make_tenant("two", "two.example.com")
        here.aws.make_tenant("three", "three.example.net", distribution=other.id)

        async def names(*patterns: str, **values: Any) -> list[str]:
            results = await here.imported("tenants", *patterns, **values)
            return [one.manifests[0]["metadata"]["name"] for one in results]

        assert await names() == ["one", "three", "two"]
        assert await names(distribution=("E2OTHER",)) == ["three"]
        assert await names("T*") == ["three", "two"]
        assert await names("*.example.com", "three") == ["one", "three", "two"]
        assert await names("nothing") == []


@virtual_time
async def test_import_refuses_what_the_operator_would_refuse_or_change() -> None:
    async with world() as here:
        many = {f"tag-{number}": "x" for number in range(48)}
        here.aws.make_tenant("tagged", "tagged.example.com", tags=many)
        here.aws.make_tenant("odd", "odd.example.com", parameters=(("unknown", "x"),))
        results = await here.imported("tenants")
        assert "spec.tags: 48 tags plus 4 ownership tags are 52" in refusals(of(results, "tagged"))
        assert "does not define: unknown" in refusals(of(results, "odd"))
        assert of(results, "odd").manifests, "it can be written in part"
        limits = {EDGE: ("shops.example.com",)}
        limited = await here.imported("tenants", common={"hostnames": limits}, allowed_distributions=("E1",))
        assert "not below the hostnames of namespace edge" in refusals(of(limited, "odd"))
        assert "is not allowed by --allowed-distributions" in refusals(of(limited, "odd"))


@virtual_time
async def test_import_names_objects_so_that_their_tenants_have_the_names_that_exist() -> None:
    async with world() as here:
        here.aws.make_tenant("blue-edge-web", "web.example.com")
        here.aws.make_tenant("web", "www.example.com")
        results = await here.imported("tenants", tenant_name_template="{cluster}-{namespace}-{name}")
        fitting, other = of(results, "tenant blue-edge-web"), of(results, "tenant web ")
        assert fitting.manifests[0]["metadata"]["name"] == "web"
        assert other.manifests == ()
        assert "Name: web is not a name that --tenant-name-template" in refusals(other)


@virtual_time
async def test_import_leaves_records_out_that_would_be_changed_and_says_so() -> None:
    async with world() as here:
        endpoint = here.aws.cloud.cloudfront.default_group().endpoint
        here.aws.cloud.route53.add_zone("other.example.com")
        for name in ("alias", "short", "mixed", "elsewhere", "none"):
            here.aws.make_tenant(name, f"{name}.example.com")
        here.aws.make_tenant("split", "split.example.com", "split.other.example.com")
        for kind in ("A", "AAAA"):
            alias = Alias(CLOUDFRONT_ZONE, f"{endpoint}.")
            here.aws.cloud.route53.put_record(here.aws.zone, Record("alias.example.com.", kind, alias=alias))
        lead(here, "short.example.com", ttl=30)
        lead(here, "split.example.com")
        lead(here, "elsewhere.example.com", target="d123.cloudfront.net")
        results = await here.imported("tenants")
        notes = {
            name: " ".join(of(results, f"tenant {name} ").notes)
            for name in ("alias", "short", "split", "elsewhere", "none")
        }
        assert "these differ from what would be written: alias.example.com" in notes["alias"]
        assert "a TTL" in notes["short"] or "TTLs" in notes["short"]
        assert "not in one hosted zone" in notes["split"]
        assert "these differ from what would be written: elsewhere.example.com" in notes["elsewhere"]
        assert notes["none"] == ""
        assert all("dns" not in spec_of(one) and not one.refusals for one in results)


@virtual_time
async def test_import_goes_on_without_what_may_not_be_read() -> None:
    async with world() as here:
        here.aws.make_tenant("web", "web.example.com")
        lead(here, "web.example.com")
        for operation in (
            *("ListHostedZones", "GetDistribution"),
            *("ListCertificates", "GetManagedCertificateDetails"),
        ):
            here.aws.cloud.faults.add(error("AccessDenied", status=403), operation=operation)
        (result,) = await here.imported("tenants")
        assert "records could not be read" in " ".join(result.notes)
        assert "whether CloudFront manages its certificate could not be read" in " ".join(result.notes)
        assert ("dns" in spec_of(result), result.refusals) == (False, ())


@virtual_time
async def test_import_of_one_tenant_that_cannot_be_read_stops_no_other() -> None:
    async with world() as here:
        here.aws.make_tenant("web", "web.example.com")
        here.aws.cloud.faults.add(
            error("AccessDenied", status=403), operation="GetDistributionTenant", times=1
        )
        here.aws.make_tenant("other", "other.example.com")
        results = await here.imported("tenants")
        assert sorted(len(one.manifests) for one in results) == [0, 1]
        (refused,) = [one for one in results if not one.manifests]
        assert "(all): it cannot be read: " in refusals(refused)


@virtual_time
async def test_import_is_patient_with_failures_that_pass() -> None:
    async with world() as here:
        here.aws.make_tenant("web", "web.example.com")
        for operation in ("ListDistributionTenants", "GetDistributionTenant", "ListResourceRecordSets"):
            here.aws.cloud.faults.add(error("ServiceUnavailable", status=503), operation=operation, times=2)
        (result,) = await here.imported("tenants")
        assert (len(result.manifests), result.refusals, result.notes) == (1, (), ())


@virtual_time
async def test_import_costs_one_call_per_tenant_and_one_listing_of_everything_else() -> None:
    async with world() as here:
        for number in range(120):
            here.aws.make_tenant(f"shop-{number}", f"shop-{number}.example.com")
        here.aws.cloud.journal.clear()
        await here.imported("tenants")
        counts = Counter(one.operation for one in here.aws.cloud.journal.entries)
        assert counts.pop("GetDistributionTenant") == 120
        assert counts.pop("ListDistributionTenants") == 2
        assert set(counts.values()) == {1}, counts


@virtual_time
async def test_import_tells_how_far_it_is() -> None:
    async with world() as here:
        for name in ("one", "two", "three"):
            here.aws.make_tenant(name, f"{name}.example.com")
        seen: list[tuple[int, int]] = []
        await here.imported("tenants", progress=lambda done, total: seen.append((done, total)))
        assert seen == [(1, 3), (2, 3), (3, 3)]


@virtual_time
async def test_import_of_managed_certificates_says_with_what_they_were_requested() -> None:
    async with world() as here:
        certificates = here.aws.cloud.account().certificates("us-east-1")

        def managed(name: str, host: str = "cloudfront") -> str:
            lead(here, f"{name}.example.com")
            made = certificates.request(
                (f"{name}.example.com",), "HTTP", managed_by="CLOUDFRONT", validation_host=host
            )
            here.aws.make_tenant(name, f"{name}.example.com", managed_certificate=made.arn)
            return str(made.arn)

        managed("pending", "self-hosted")
        certificates.fail(managed("failed"))
        results = await here.imported("tenants")
        request = {"validationTokenHost": "self-hosted", "primaryDomainName": "pending.example.com"}
        assert spec_of(of(results, "pending"))["managedCertificateRequest"] == request
        assert "managedCertificateRequest" not in spec_of(of(results, "failed"))
        assert "is failed" in " ".join(of(results, "failed").notes)
