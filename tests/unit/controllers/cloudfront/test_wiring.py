"""What the controller of DistributionTenants watches, for how long, and what a change of an object costs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import msgspec
import pytest

from edgekeeper.controllers.cloudfront.claims import TenantClaims
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.kube import store as store_module
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.store import Store
from edgekeeper.lifecycle.claims import HOSTNAME, Claims
from edgekeeper.lifecycle.naming import NameTemplate
from edgekeeper.runtime.metrics import Metrics
from kubesim.virtual import virtual_time
from tests.tenants.estate import Estate
from tests.tenants.scene import playing
from tests.tenants.system import KEY, controllers, tenant

COUNTED = "cloudfront_tenant_operator_tenants_total"


def _watched(informers: Informers) -> list[str]:
    return [informer.kind.plural for informer in informers]


def _watches() -> list[str]:
    """The watches that are open in this loop."""
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("watch ")]


@virtual_time
async def test_controller_that_stops_releases_its_watches() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        operator = scene.stage.operator
        assert _watched(operator.services.informers) == [KIND.plural]
        assert len(_watches()) == 1
        await operator.stop()
        assert _watched(operator.services.informers) == []
        assert _watches() == []


@virtual_time
async def test_controller_that_is_removed_releases_its_watches_while_others_go_on() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        operator = scene.stage.operator
        assert scene.metric(COUNTED, namespace=KEY.namespace, status="Ready") == 1
        await operator.manager.remove_controller(operator.controllers[0])
        await scene.elapse(seconds=1)
        assert (_watched(operator.services.informers), _watches()) == ([], [])
        assert scene.metric(COUNTED, namespace=KEY.namespace, status="Ready") == 0
        assert not operator.task.done()


@virtual_time
async def test_controller_that_is_never_attached_watches_nothing() -> None:
    """As in a process that is limited to another role."""
    async with playing() as scene:
        operator = scene.stage.operator
        await operator.stop()
        services = replace(operator.services, metrics=Metrics())
        controllers(services, Estate(scene.stage.clock), operator.calls)
        assert _watched(operator.services.informers) == []


def test_change_of_an_object_is_decoded_once_for_all_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []

    def decode(raw: bytes) -> JsonObject:
        decoded.append(raw)
        return decode_tree(raw)

    decode_tree = store_module._decode_tree
    monkeypatch.setattr(store_module, "_decode_tree", decode)
    store = Store(KIND)
    claims = Claims()
    TenantClaims(claims, KIND, NameTemplate("{name}", "blue"))
    claims.objects.follow(KIND, [store])
    store.mark_synced()
    for domain in ("shop.example.com", "www.example.com", "shop.example.com"):
        decoded.clear()
        store.put(KEY, msgspec.json.encode(tenant(KEY, domain)))
        assert len(decoded) == 1
        assert claims.objects.holders(HOSTNAME, domain) == [(KIND, KEY)]
    decoded.clear()
    store.remove(KEY)
    assert decoded == []
    assert claims.objects.holders(HOSTNAME, "shop.example.com") == []
