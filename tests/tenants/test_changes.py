"""A changed spec reaches AWS at any time, whole, and without overwriting what somebody else has just changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from edgekeeper.core.calls import CallRecord
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.virtual import virtual_time
from tests.tenants.estate import DISTRIBUTION
from tests.tenants.scene import Fact, Scene, playing
from tests.tenants.system import KEY, tenant

UPDATE = "UpdateDistributionTenant"
TWO = [{"domain": "shop.example.com"}, {"domain": "new.example.com"}]


@virtual_time
async def test_new_domain_is_sent_and_the_generation_is_observed() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        await scene.edit(domains=TWO)
        await scene.says("Ready", "Deploying")
        assert scene.aws().domains == ("shop.example.com", "new.example.com")
        assert scene.fact("Synced")[:2] == ("True", "UpdatePending")
        assert scene.status()["observedGeneration"] == 2
        await scene.ready()
        assert scene.fact("Synced")[:2] == ("True", "InSync")
        assert scene.calls(UPDATE) == 1
        assert len(scene.events("Updated")) == 1


@virtual_time
async def test_tenant_can_be_changed_while_it_is_being_deployed() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.says("Ready", "Deploying")
        await scene.edit(domains=TWO)
        await scene.until(lambda: scene.calls(UPDATE) > 0)
        assert scene.status()["distributionTenantStatus"] == "InProgress"
        await scene.ready()
        assert scene.calls(UPDATE) == 1
        assert len(scene.aws().domains) == 2


@virtual_time
async def test_deployment_is_awaited_without_any_write() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.says("Ready", "Deploying")
        assert scene.fact("Synced")[:2] == ("True", "InSync")
        seen = len(scene.versions)
        await scene.elapse(seconds=100)
        assert len(scene.versions) == seen
        assert scene.calls(UPDATE) == 0
        await scene.ready()


@virtual_time
async def test_tenant_that_no_listing_has_shown_yet_is_decided_about_as_it_is() -> None:
    """It is read once, and what is found then is what the update is about: no conflict, nothing that is lost."""
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        geo = {"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}}
        scene.cloud.cloudfront.change_tenant(KEY.name, customizations=geo)
        scene.cloud.journal.clear()
        await scene.edit(domains=TWO)
        await scene.until(lambda: scene.calls(UPDATE) == 1)
        assert scene.calls("GetDistributionTenant") == 1
        assert "geoRestrictions" in scene.events("Updated")[-1]
        assert scene.aws().customizations == {}
        assert scene.cloud.journal.codes["PreconditionFailed"] == 0


@virtual_time
async def test_tenant_that_was_just_changed_by_others_is_read_again_without_an_error() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        meddler = _Meddler(scene)
        scene.stage.operator.calls.hooks.append(meddler)
        await scene.edit(domains=TWO)
        await scene.ready()
        assert scene.cloud.journal.codes["PreconditionFailed"] == 1
        assert scene.calls(UPDATE) == 2
        assert scene.aws().domains == ("shop.example.com", "new.example.com")
        assert scene.aws().enabled
        assert scene.reasons("Ready")[-3:] == [
            Fact("True", "Deployed"),
            Fact("False", "Deploying"),
            Fact("True", "Deployed"),
        ]
        assert scene.metric("controller_runtime_reconcile_errors_total", controller="distributiontenant") == 0


class _Meddler:
    """Changes the tenant between the read and the write of an update, once."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._done = False

    async def before(self, call: CallRecord) -> None:
        if call.operation == UPDATE and not self._done:
            self._done = True
            self._scene.cloud.cloudfront.change_tenant("test-tenant", enabled=False)

    async def after(self, call: CallRecord) -> None:
        """Nothing: the harm is done."""


ACL = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/shop/1"


@pytest.mark.parametrize(
    ("spec", "field", "expected"),
    [
        pytest.param({"enabled": False}, "enabled", False, id="enabled"),
        pytest.param({"domains": TWO[1:]}, "domains", ("new.example.com",), id="domains"),
        pytest.param(
            {"parameters": [{"name": "tier", "value": "gold"}]},
            "parameters",
            (("tier", "gold"),),
            id="parameters",
        ),
        pytest.param(
            {"customizations": {"webAcl": {"action": "override", "arn": ACL}}},
            "customizations",
            {"WebAcl": {"Action": "override", "Arn": ACL}},
            id="web ACL",
        ),
        pytest.param(
            {
                "customizations": {
                    "geoRestrictions": {"restrictionType": "blacklist", "locations": ["US", "DE"]}
                }
            },
            "customizations",
            {"GeoRestrictions": {"RestrictionType": "blacklist", "Locations": ["DE", "US"]}},
            id="countries",
        ),
    ],
)
@virtual_time
async def test_every_field_that_can_change_does_with_one_update(
    spec: dict[str, Any], field: str, expected: object
) -> None:
    async with playing() as scene:
        parameters = (ParameterDefinition("tier", default="silver"),)
        scene.cloud.cloudfront.change_distribution(DISTRIBUTION, parameters=parameters)
        await scene.create(tenant())
        await scene.ready()
        await scene.edit(**spec)
        await scene.ready()
        assert getattr(scene.aws(), field) == expected
        assert scene.calls(UPDATE) == 1


@virtual_time
async def test_tags_of_the_spec_are_set_and_others_are_left_alone() -> None:
    """W11: tags can be changed, and are."""
    async with playing() as scene:
        await scene.create(tenant(tags=[{"key": "team", "value": "shop"}]))
        await scene.ready()
        live = scene.aws()
        scene.cloud.cloudfront.tenants.put(live.id, replace(live, tags={**live.tags, "cost-centre": "7"}))
        await scene.edit(tags=[{"key": "team", "value": "pay"}])
        await scene.until(lambda: scene.aws().tags["team"] == "pay")
        assert scene.aws().tags["cost-centre"] == "7"
        assert scene.calls(UPDATE) == 0
