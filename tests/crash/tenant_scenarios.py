"""What users do with DistributionTenants, and what happens to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.annotations import PAUSED
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import Owner
from kubesim.aws.cloudfront.resources import ParameterDefinition
from tests.crash.stage import Stage
from tests.crash.system import Scenarios
from tests.tenants.estate import DISTRIBUTION, Estate
from tests.tenants.system import KEY, OPTIONS, TENANTS, system, tenant

scenarios: Scenarios[Estate] = Scenarios()
"""On an account that has had tenants before: there is an endpoint for names to lead to."""
first_steps: Scenarios[Estate] = Scenarios()
"""On one that has not."""
recoveries: Scenarios[Estate] = Scenarios()
"""With an operator that was told to take over what a lost cluster has left."""

OTHER = KEY._replace(name="second-tenant")


def _inhabited(clock: Clock) -> Estate:
    estate = Estate(clock)
    estate.cloud.cloudfront.default_group()
    return estate


INHABITED = replace(TENANTS, outside=_inhabited)
LOST = Owner("lost-cluster", KEY.namespace, KEY.name, "00000000-0000-4000-8000-000000000000")
RECOVERING = replace(system(replace(OPTIONS, lost_clusters=frozenset({LOST.cluster}))), outside=_inhabited)

SHOP, WWW, NEW = "shop.example.com", "www.example.com", "new.example.com"
REQUEST: JsonObject = {"validationTokenHost": "cloudfront", "primaryDomainName": SHOP}
ADOPT = "edgekeeper.io/adopt"


def dns(stage: Stage[Estate], **settings: Any) -> JsonObject:
    return {"provider": "route53", "hostedZoneId": stage.outside.zone.id, **settings}


async def deployed(stage: Stage[Estate], *domains: str, **spec: Any) -> None:
    await stage.create(tenant(KEY, *domains or (SHOP,), **spec))
    await stage.settled()


async def named(stage: Stage[Estate], *domains: str, **spec: Any) -> None:
    """The same with DNS records."""
    await deployed(stage, *domains, dns=dns(stage), **spec)


async def change(stage: Stage[Estate], **spec: Any) -> None:
    await stage.patch(KIND, KEY, {"spec": spec})


async def annotate(stage: Stage[Estate], **annotations: str | None) -> None:
    await stage.patch(KIND, KEY, {"metadata": {"annotations": annotations}})


def domains(*names: str) -> list[JsonObject]:
    return [{"domain": name} for name in names]


# Creation


@scenarios.add
async def creation_with_an_own_certificate(stage: Stage[Estate]) -> None:
    certificate = stage.outside.cloud.account().certificates().add_issued(SHOP)
    await deployed(stage, customizations={"certificate": {"arn": certificate.arn}})


@scenarios.add
async def creation_with_dns(stage: Stage[Estate]) -> None:
    await named(stage, SHOP, WWW)


@first_steps.add
async def creation_on_a_virgin_account(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)


@first_steps.add_race
async def deletion_on_a_virgin_account(stage: Stage[Estate]) -> None:
    await stage.create(tenant(KEY, SHOP, dns=dns(stage)))
    await stage.elapse(seconds=20)
    await stage.delete(KIND, KEY)


@scenarios.add
async def creation_with_a_managed_certificate(stage: Stage[Estate]) -> None:
    await named(stage, managedCertificateRequest=REQUEST)
    await _attached(stage)


async def _attached(stage: Stage[Estate]) -> None:
    await stage.until(lambda: _is_attached(stage))
    await stage.settled()


def _is_attached(stage: Stage[Estate]) -> bool:
    return any(
        one["type"] == "CertificateReady" and one["reason"] == "Validated"
        for obj in stage.objects()
        for one in obj["status"]["conditions"]
    )


# Changes of each group of fields


@scenarios.add
async def domain_added(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    await change(stage, domains=domains(SHOP, WWW))
    await stage.settled()


@scenarios.add
async def domain_renamed(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    await change(stage, domains=domains(NEW))
    await stage.settled()


@scenarios.add
async def domain_renamed_there_and_back(stage: Stage[Estate]) -> None:
    await named(stage, SHOP, WWW)
    await change(stage, domains=domains(SHOP, NEW))
    await stage.settled()
    await change(stage, domains=domains(SHOP, WWW))
    await stage.settled()


@scenarios.add_race
async def domain_renamed_while_creating(stage: Stage[Estate]) -> None:
    await stage.create(tenant(KEY, SHOP, dns=dns(stage)))
    await stage.elapse(seconds=6)
    await change(stage, domains=domains(NEW))


@scenarios.add
async def parameters_changed(stage: Stage[Estate]) -> None:
    stage.outside.cloud.cloudfront.change_distribution(
        DISTRIBUTION, parameters=(ParameterDefinition("origin"), ParameterDefinition("colour", False))
    )
    await deployed(stage, parameters=[{"name": "origin", "value": "a"}, {"name": "colour", "value": "red"}])
    await change(stage, parameters=[{"name": "origin", "value": "b"}])
    await stage.settled()


@scenarios.add
async def customizations_changed(stage: Stage[Estate]) -> None:
    await deployed(stage, customizations={"webAcl": {"action": "disable"}})
    geo = {"restrictionType": "whitelist", "locations": ["DE", "AT"]}
    await change(stage, customizations={"webAcl": None, "geoRestrictions": geo})
    await stage.settled()


@scenarios.add
async def connection_group_changed(stage: Stage[Estate]) -> None:
    cloudfront = stage.outside.cloud.cloudfront
    group = cloudfront.keep_group(cloudfront.new_group("fast"))
    await named(stage, SHOP)
    await change(stage, connectionGroupId=group.id)
    await stage.settled()


@scenarios.add
async def tags_changed(stage: Stage[Estate]) -> None:
    await deployed(stage, tags=[{"key": "team", "value": "red"}])
    await change(stage, tags=[{"key": "team", "value": "blue"}, {"key": "cost", "value": "1"}])
    await stage.settled()


@scenarios.add
async def disabled_and_enabled(stage: Stage[Estate]) -> None:
    await deployed(stage)
    await change(stage, enabled=False)
    await stage.settled()
    await change(stage, enabled=True)
    await stage.settled()


@scenarios.add
async def dns_added_and_removed(stage: Stage[Estate]) -> None:
    await deployed(stage, SHOP)
    await change(stage, dns=dns(stage))
    await stage.settled()
    await change(stage, dns=None)
    await stage.settled()


@scenarios.add
async def dns_moved_to_another_zone(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    zone = stage.outside.cloud.route53.add_zone("shop.example.com")
    await change(stage, dns=dns(stage, hostedZoneId=zone.id, ttl=60))
    await stage.settled()


@scenarios.add
async def certificate_requested_later(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    await change(stage, managedCertificateRequest=REQUEST)
    await _attached(stage)


@scenarios.add
async def certificate_requested_anew(stage: Stage[Estate]) -> None:
    await named(stage, managedCertificateRequest=REQUEST)
    await _attached(stage)
    first = stage.outside.cloud.cloudfront.tenant(KEY.name).certificate
    anew = {**REQUEST, "certificateTransparencyLoggingPreference": "disabled"}
    await change(stage, managedCertificateRequest=anew)
    await stage.until(lambda: stage.outside.cloud.cloudfront.tenant(KEY.name).certificate != first)
    await _attached(stage)


CART, DESK = "cart.shop.example.com", "desk.shop.example.com"
"""What the distribution's certificate does not cover."""


async def certified(stage: Stage[Estate], *names: str) -> None:
    """A tenant whose domains are served by a managed certificate."""
    await named(stage, *names, managedCertificateRequest={**REQUEST, "primaryDomainName": names[0]})
    await _served(stage, *names)


async def _served(stage: Stage[Estate], *names: str) -> None:
    cloudfront = stage.outside.cloud.cloudfront
    await stage.until(lambda: cloudfront.active_domains(cloudfront.tenant(KEY.name)) == set(names))
    await _attached(stage)


@scenarios.add
async def domain_added_to_a_managed_tenant(stage: Stage[Estate]) -> None:
    await certified(stage, CART)
    await change(stage, domains=domains(CART, DESK))
    await _served(stage, CART, DESK)


@scenarios.add
async def domain_replaced_of_a_managed_tenant(stage: Stage[Estate]) -> None:
    await certified(stage, CART)
    request = {**REQUEST, "primaryDomainName": DESK}
    await change(stage, domains=domains(DESK), managedCertificateRequest=request)
    await _served(stage, DESK)


@scenarios.add
async def domain_removed_of_a_managed_tenant(stage: Stage[Estate]) -> None:
    await certified(stage, CART, DESK)
    await change(stage, domains=domains(CART))
    await _served(stage, CART)


@scenarios.add_race
async def domain_added_while_the_certificate_is_pending(stage: Stage[Estate]) -> None:
    request = {**REQUEST, "primaryDomainName": CART}
    await named(stage, CART, managedCertificateRequest=request)
    await change(stage, domains=domains(CART, DESK))
    await _served(stage, CART, DESK)


# Drift


@scenarios.add
async def drift_of_a_setting(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    cloudfront = stage.outside.cloud.cloudfront
    cloudfront.change_tenant(KEY.name, enabled=False)
    await stage.until(lambda: cloudfront.tenant(KEY.name).enabled)
    await stage.settled()


@scenarios.add
async def drift_of_a_record(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    estate = stage.outside
    estate.lose_record(SHOP)
    await stage.until(lambda: ("CNAME", SHOP) in estate.records())
    await stage.settled()


@scenarios.add
async def tenant_deleted_by_somebody_else(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    estate = stage.outside
    estate.lose_tenant(KEY.name)
    await stage.until(lambda: KEY.name in estate.state()["tenants"])
    await stage.settled()


# Ownership


@scenarios.add
async def adoption(stage: Stage[Estate]) -> None:
    """A tenant that somebody made in the console, and made otherwise."""
    stage.outside.make_tenant(KEY.name, SHOP, tags={"made": "by hand"}, enabled=False)
    obj = tenant(KEY, SHOP, dns=dns(stage))
    obj["metadata"]["annotations"] = {ADOPT: "true"}
    await stage.create(obj)
    await stage.settled()


def _left_behind(stage: Stage[Estate]) -> None:
    """What a lost cluster has left: a tenant with its tags, and a record."""
    stage.outside.make_tenant(KEY.name, SHOP, tags=LOST.tags())
    endpoint = stage.outside.cloud.cloudfront.default_group().endpoint
    stage.outside.make_record(SHOP, f"{endpoint}.")


@recoveries.add
async def recovery(stage: Stage[Estate]) -> None:
    _left_behind(stage)
    await named(stage)


@recoveries.add
async def recovery_and_deletion(stage: Stage[Estate]) -> None:
    _left_behind(stage)
    await named(stage)
    await stage.delete(KIND, KEY)
    await stage.settled()


@scenarios.add
async def name_taken_by_somebody_else(stage: Stage[Estate]) -> None:
    stage.outside.make_tenant(KEY.name, WWW, tags={})
    await stage.create(tenant(KEY, SHOP))
    await stage.settled()
    await stage.delete(KIND, KEY)
    await stage.settled()


@scenarios.add
async def two_objects_for_one_domain(stage: Stage[Estate]) -> None:
    await stage.create(tenant(KEY, SHOP, dns=dns(stage)))
    await stage.elapse(seconds=2)
    await stage.create(tenant(OTHER, SHOP, dns=dns(stage)))
    await stage.settled()
    await stage.delete(KIND, KEY)
    # Not only until all has settled: the conflict, which is over, stands until an operator that died is back.
    tenants = stage.outside.cloud.cloudfront.tenants
    await stage.until(lambda: any(one.name == OTHER.name for one in tenants.values()))
    await stage.settled()


# Pausing


@scenarios.add
async def pause_and_resume(stage: Stage[Estate]) -> None:
    await deployed(stage)
    await annotate(stage, **{PAUSED: "true"})
    await change(stage, enabled=False)
    await stage.elapse(minutes=20)
    assert stage.outside.cloud.cloudfront.tenant(KEY.name).enabled
    await annotate(stage, **{PAUSED: None})
    await stage.settled()


# Deletion


@scenarios.add
async def deletion(stage: Stage[Estate]) -> None:
    await named(stage, SHOP, WWW)
    await stage.delete(KIND, KEY)
    await stage.settled()


@scenarios.add_race
async def deletion_at_once(stage: Stage[Estate]) -> None:
    await stage.create(tenant(KEY, SHOP, dns=dns(stage)))
    await stage.elapse(seconds=0.01)
    await stage.delete(KIND, KEY)


@scenarios.add_race
async def deletion_while_records_are_written(stage: Stage[Estate]) -> None:
    await stage.create(tenant(KEY, SHOP, dns=dns(stage)))
    await stage.elapse(seconds=6.5)
    await stage.delete(KIND, KEY)


@scenarios.add_race
async def deletion_while_creating(stage: Stage[Estate]) -> None:
    await stage.create(tenant(KEY, SHOP, dns=dns(stage)))
    await stage.elapse(seconds=75)
    await stage.delete(KIND, KEY)


@scenarios.add_race
async def deletion_while_deploying(stage: Stage[Estate]) -> None:
    await deployed(stage, SHOP)
    await change(stage, domains=domains(SHOP, WWW), dns=dns(stage))
    await stage.elapse(seconds=30)
    await stage.delete(KIND, KEY)


@scenarios.add
async def new_object_of_the_same_name(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    await stage.delete(KIND, KEY)
    await stage.settled()
    await named(stage, WWW)


# Mistakes


@scenarios.add
async def rollback_of_a_bad_spec(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    await change(stage, domains=domains(SHOP, "shop.example.org"))
    await stage.settled()
    await change(stage, domains=domains(SHOP))
    await stage.settled()


@scenarios.add
async def rollback_of_a_connection_group_that_is_not_there(stage: Stage[Estate]) -> None:
    await named(stage, SHOP)
    await change(stage, connectionGroupId="cg_nosuchgroup")
    await stage.settled()
    assert ("CNAME", SHOP) in stage.outside.records()
    await change(stage, connectionGroupId=None)
    await stage.settled()


@scenarios.add
async def correction_of_a_bad_spec(stage: Stage[Estate]) -> None:
    await stage.create(tenant(KEY, SHOP, distributionId="ENOSUCHTHING", dns=dns(stage)))
    await stage.settled()
    await change(stage, distributionId=DISTRIBUTION, connectionGroupId="cg_nosuchgroup")
    await stage.settled()
    await change(stage, connectionGroupId=None)
    await stage.settled()


@scenarios.add
async def deletion_of_what_could_never_be(stage: Stage[Estate]) -> None:
    stage.outside.make_record(SHOP, "elsewhere.example.net")
    await deployed(stage, SHOP, dns=dns(stage))
    await stage.delete(KIND, KEY)
    await stage.settled()
