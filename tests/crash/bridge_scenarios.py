"""What users do with APIGatewayDomains and LambdaPermissions, and what happens to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from edgekeeper.core.ownership import Owner
from edgekeeper.kube.kinds import Key
from tests.bridge.estate import BridgeEstate
from tests.bridge.world import (
    API,
    APIS,
    DOMAIN,
    DOMAINS,
    FUNCTIONS,
    NAME,
    OPTIONS,
    PERMISSION,
    PERMISSIONS,
    SOURCE,
    domain,
    made,
    make,
    make_api,
    permission,
    statement,
    system,
)
from tests.crash.stage import Stage
from tests.crash.system import Scenarios

permissions: Scenarios[BridgeEstate] = Scenarios()
domains: Scenarios[BridgeEstate] = Scenarios()
"""In both modes."""
direct_domains: Scenarios[BridgeEstate] = Scenarios()
"""In `direct` mode only."""
recoveries: Scenarios[BridgeEstate] = Scenarios()
"""With an operator that was told to take over what a lost cluster has left."""

LOST = Owner("lost-cluster", DOMAIN.namespace, DOMAIN.name, "00000000-0000-4000-8000-000000000000")
RECOVERING = system(replace(OPTIONS, lost_clusters=frozenset({LOST.cluster})))
NARROW = SOURCE.replace("/*/*", "/*/GET/orders")
OTHER = "other12345"


async def permitted(stage: Stage[BridgeEstate], *ids: str) -> None:
    await stage.create(permission(*(statement(id_) for id_ in ids or ("api",))))
    await stage.settled()


async def allow(stage: Stage[BridgeEstate], **spec: Any) -> None:
    stage.begin()
    await stage.patch(PERMISSIONS, PERMISSION, {"spec": spec})
    await stage.settled()


async def annotate(stage: Stage[BridgeEstate], kind: Any, key: Key, **annotations: str) -> None:
    named = {f"edgekeeper.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    await stage.patch(kind, key, {"metadata": {"annotations": named}})


# Permissions


@permissions.add
async def permission_of_one_statement(stage: Stage[BridgeEstate]) -> None:
    await permitted(stage)


@permissions.add
async def permission_beside_a_foreign_statement(stage: Stage[BridgeEstate]) -> None:
    stage.outside.make_statement("photos")
    await permitted(stage, "api", "jobs", "mail")


@permissions.add
async def statement_changed(stage: Stage[BridgeEstate]) -> None:
    await permitted(stage, "api", "jobs")
    await allow(stage, permissions=[statement("api", sourceArn=NARROW), statement("jobs")])


@permissions.add
async def statement_removed(stage: Stage[BridgeEstate]) -> None:
    await permitted(stage, "api", "jobs")
    await allow(stage, permissions=[statement("jobs")])


@permissions.add
async def statement_renamed(stage: Stage[BridgeEstate]) -> None:
    await permitted(stage, "api")
    await allow(stage, permissions=[statement("renamed")])


@permissions.add
async def function_replaced(stage: Stage[BridgeEstate]) -> None:
    stage.outside.functions.add("other")
    await permitted(stage)
    await allow(stage, functionRef={"functionName": "other"})
    await stage.until(lambda: not stage.outside.statements())


@permissions.add
async def function_that_comes_later(stage: Stage[BridgeEstate]) -> None:
    await stage.create(permission(statement("api"), function={"functionName": "later"}))
    await stage.elapse(seconds=40)
    stage.outside.functions.add("later")
    await stage.settled()


@permissions.add
async def source_of_an_api(stage: Stage[BridgeEstate]) -> None:
    await make_api(stage)
    await stage.create(permission(statement("api", sourceRef={"apiName": "shop"}), statement("jobs")))
    await stage.settled()
    stage.begin()
    await made(stage, APIS, "shop", {"apiID": OTHER})
    await stage.until(lambda: OTHER in str(stage.outside.statements().get("api")))
    await stage.settled()


@permissions.add
async def function_of_ack(stage: Stage[BridgeEstate]) -> None:
    arn = {"ackResourceMetadata": {"arn": stage.outside.function.arn}}
    await stage.create(permission(statement("api"), function={"name": "shop"}))
    await make(stage, FUNCTIONS, "shop", {"name": "shop"}, arn)
    await stage.settled()


@permissions.add
async def statement_of_somebody_else_adopted(stage: Stage[BridgeEstate]) -> None:
    stage.outside.make_statement("api")
    await permitted(stage, "api", "jobs")
    stage.begin()
    await annotate(stage, PERMISSIONS, PERMISSION, adopt="true")
    await stage.until(lambda: SOURCE in str(stage.outside.statements().get("api")))
    await stage.until(lambda: all(one["status"].get("ready") for one in stage.objects()))


@permissions.add
async def statements_that_others_remove(stage: Stage[BridgeEstate]) -> None:
    await permitted(stage, "api", "jobs")
    stage.begin()
    stage.outside.statements().clear()
    await stage.until(lambda: set(stage.outside.statements()) == {"api", "jobs"})
    await stage.settled()


@permissions.add
async def permission_deleted(stage: Stage[BridgeEstate]) -> None:
    stage.outside.make_statement("photos")
    await permitted(stage, "api", "jobs")
    stage.begin()
    await stage.delete(PERMISSIONS, PERMISSION)
    await stage.until(lambda: not [*stage.objects()])


@permissions.add
async def permission_deleted_after_its_function(stage: Stage[BridgeEstate]) -> None:
    await permitted(stage)
    stage.begin()
    stage.outside.functions.restore([])
    await stage.delete(PERMISSIONS, PERMISSION)
    await stage.until(lambda: not [*stage.objects()])


@permissions.add_race
async def permission_deleted_at_once(stage: Stage[BridgeEstate]) -> None:
    await stage.create(permission(statement("api"), statement("jobs")))
    await stage.delete(PERMISSIONS, PERMISSION)
    await stage.until(lambda: not [*stage.objects()])


# Domain names


async def named(stage: Stage[BridgeEstate], name: str = NAME, /, **spec: Any) -> None:
    if "certificateStrategy" not in spec:
        stage.outside.certificates.add_issued(name)
    await make_api(stage)
    await stage.create(domain(name, **spec))
    await stage.settled()


async def change(stage: Stage[BridgeEstate], /, **spec: Any) -> None:
    stage.begin()
    await stage.patch(DOMAINS, DOMAIN, {"spec": spec})
    await stage.settled()


async def another_api(stage: Stage[BridgeEstate]) -> None:
    stage.outside.gateway.add_api(OTHER, ("$default", "beta"))
    await make_api(stage, OTHER, "other")


async def gone(stage: Stage[BridgeEstate]) -> None:
    stage.begin()
    await stage.delete(DOMAINS, DOMAIN)
    await stage.until(lambda: not [*stage.objects()])


@domains.add
async def domain_with_a_discovered_certificate(stage: Stage[BridgeEstate]) -> None:
    await named(stage)


@domains.add
async def domain_with_a_requested_certificate(stage: Stage[BridgeEstate]) -> None:
    await named(stage, certificateStrategy="create")


@domains.add
async def domain_at_the_apex(stage: Stage[BridgeEstate]) -> None:
    await named(stage, "example.com")


@domains.add
async def domain_without_dns(stage: Stage[BridgeEstate]) -> None:
    await named(stage, dnsConfig={"enabled": False})


@domains.add
async def api_replaced(stage: Stage[BridgeEstate]) -> None:
    await another_api(stage)
    await named(stage)
    await change(stage, apiRef={"name": "other"}, stage="beta")


@domains.add
async def mapping_key_changed(stage: Stage[BridgeEstate]) -> None:
    await named(stage)
    await change(stage, apiMappingKey="v2")


@domains.add
async def certificate_replaced(stage: Stage[BridgeEstate]) -> None:
    first = stage.outside.certificates.add_issued(NAME)
    second = stage.outside.certificates.add_issued("*.example.com")
    await named(stage, certificateStrategy="use-arn", certificateArn=first.arn)
    await change(stage, certificateArn=second.arn)


@domains.add
async def record_type_and_ttl_changed(stage: Stage[BridgeEstate]) -> None:
    await named(stage)
    await change(stage, dnsConfig={"ttl": 60})
    await stage.patch(DOMAINS, DOMAIN, {"spec": {"dnsConfig": {"recordType": "ALIAS"}}})
    await stage.settled()


@domains.add
async def dns_switched_off(stage: Stage[BridgeEstate]) -> None:
    await named(stage)
    await change(stage, dnsConfig={"enabled": False})


@domains.add
async def existing_domain_used(stage: Stage[BridgeEstate]) -> None:
    stage.outside.make_domain(NAME, API, stage.outside.certificates.add_issued(NAME).arn)
    await make_api(stage)
    await stage.create(domain())
    await stage.settled()
    await gone(stage)


@domains.add
async def existing_domain_adopted(stage: Stage[BridgeEstate]) -> None:
    await another_api(stage)
    stage.outside.make_domain(NAME, OTHER, stage.outside.certificates.add_issued(NAME).arn)
    await make_api(stage)
    await stage.create(domain(adoptExisting=True))
    await stage.settled()


@domains.add
async def domain_deleted_with_its_certificate(stage: Stage[BridgeEstate]) -> None:
    await named(stage, certificateStrategy="create")
    await gone(stage)


@domains.add
async def domain_retained(stage: Stage[BridgeEstate]) -> None:
    await named(stage, deletionPolicy="Retain", dnsConfig={"enabled": False})
    await gone(stage)


@domains.add_race
async def domain_deleted_while_it_is_made(stage: Stage[BridgeEstate]) -> None:
    await make_api(stage)
    await stage.create(domain(certificateStrategy="create"))
    await stage.elapse(seconds=20)
    await gone(stage)


@direct_domains.add
async def requested_certificate_given_up(stage: Stage[BridgeEstate]) -> None:
    await named(stage, certificateStrategy="create")
    other = stage.outside.certificates.add_issued("*.example.com")
    await change(stage, certificateStrategy="use-arn", certificateArn=other.arn)
    await stage.until(lambda: len(stage.outside.certificates.shelf) == 1)


@direct_domains.add
async def existing_domain_gets_a_mapping(stage: Stage[BridgeEstate]) -> None:
    stage.outside.make_domain(NAME, "", stage.outside.certificates.add_issued(NAME).arn)
    await make_api(stage)
    await stage.create(domain())
    await stage.settled()
    await gone(stage)


@direct_domains.add
async def mapping_that_others_change(stage: Stage[BridgeEstate]) -> None:
    stage.outside.gateway.add_api(OTHER)
    await named(stage)
    stage.begin()
    gateway = stage.outside.gateway
    live = gateway.domain(NAME)
    gateway.keep(live, mappings=tuple(replace(one, api=OTHER) for one in live.mappings))
    await stage.until(lambda: [one.api for one in gateway.domain(NAME).mappings] == [API])
    await stage.settled()


# After the loss of a cluster


def _left_domain(stage: Stage[BridgeEstate]) -> None:
    """What a lost cluster has left: a certificate and a domain name with its tags, a mapping, and a record."""
    estate = stage.outside
    issued = estate.certificates.add_issued(NAME)
    estate.certificates.shelf.put(issued.arn, replace(issued, tags=LOST.tags()))
    estate.make_domain(NAME, API, issued.arn)
    live = estate.gateway.keep(estate.gateway.domains[NAME], tags=LOST.tags())
    estate.make_record(NAME, f"{live.target}.")


def _left_statement(stage: Stage[BridgeEstate], id_: str) -> None:
    estate = stage.outside
    estate.make_statement(id_, SOURCE)
    estate.foreign.discard(id_)
    estate.statements()[id_]["Principal"] = {"Service": "apigateway.amazonaws.com"}


@recoveries.add
async def domain_recovered(stage: Stage[BridgeEstate]) -> None:
    await make_api(stage)
    _left_domain(stage)
    await stage.create(domain(certificateStrategy="create"))
    await stage.settled()


@recoveries.add
async def domain_recovered_and_deleted(stage: Stage[BridgeEstate]) -> None:
    await domain_recovered.drive(stage)
    await stage.delete(DOMAINS, DOMAIN)
    await stage.settled()


@recoveries.add
async def permission_recovered_and_deleted(stage: Stage[BridgeEstate]) -> None:
    _left_statement(stage, "api")
    await permitted(stage)
    await stage.delete(PERMISSIONS, PERMISSION)
    await stage.settled()
