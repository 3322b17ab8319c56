"""A domain that an object of another kind wants as well: one of the two has it, and both know which."""

from __future__ import annotations

import msgspec
import pytest

from edgekeeper.controllers.cloudfront.wiring import TenantController
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Store
from edgekeeper.lifecycle.claims import HOSTNAME, Claim, Claims, ClaimSource, KindObject, Proof, Rival
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

ROUTE = Kind("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes")
SHOP = "shop.example.com"
LEASE_MAX_AGE, LATER = "2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z"


class Routes:
    """HTTPRoutes beside the tenants of a scene. Those that serve their hostnames say so themselves."""

    def __init__(self, scene: Scene) -> None:
        (controller,) = scene.stage.operator.controllers
        assert isinstance(controller, TenantController)
        assert controller.claims is not None
        self.claims: Claims = controller.claims
        self._store = Store(ROUTE)
        self._store.mark_synced()
        hostnames = {HOSTNAME: lambda obj: dig_list(obj, "spec", "hostnames")}
        self.claims.register(ClaimSource(ROUTE, hostnames, proof=self._proof))
        self.claims.objects.follow(ROUTE, [self._store])

    async def _proof(self, claim: Claim) -> Proof:
        return lambda obj: claim.value in dig_list(obj, "status", "served")

    def put(self, since: str, *served: str) -> KindObject:
        key = Key("default", "shop")
        metadata = {"name": key.name, "namespace": key.namespace, "uid": "1", "creationTimestamp": since}
        route: JsonObject = {
            "metadata": metadata,
            "spec": {"hostnames": [SHOP]},
            "status": {"served": list(served)},
        }
        self._store.put(key, msgspec.json.encode(route))
        return KindObject(ROUTE, key, route)

    def remove(self) -> None:
        self._store.remove(Key("default", "shop"))
        self.claims.objects.wake(HOSTNAME, SHOP)


@pytest.mark.parametrize(
    ("since", "served", "message"),
    [
        (LEASE_MAX_AGE, (), f"the domain {SHOP} is claimed by httproute default/shop, which is older"),
        (LATER, (SHOP,), f"the domain {SHOP} is served by httproute default/shop"),
    ],
)
@virtual_time
async def test_tenant_waits_for_an_object_of_another_kind_with_the_better_right(
    since: str, served: tuple[str, ...], message: str
) -> None:
    async with playing() as scene:
        routes = Routes(scene)
        routes.put(since, *served)
        await scene.create(tenant())
        ready = await scene.says("Ready", "DomainConflict")
        assert ready.message == message
        assert scene.names == []
        routes.remove()
        await scene.elapse(seconds=30)
        assert scene.names == [KEY.name], "it was woken, and did not wait for the next retry"


@virtual_time
async def test_tenant_that_serves_a_domain_keeps_it_from_an_older_object_of_another_kind() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        routes = Routes(scene)
        route = routes.put(LEASE_MAX_AGE)
        routes.claims.objects.wake(HOSTNAME, SHOP)
        await scene.elapse(minutes=10)
        assert scene.fact("Ready").reason == "Deployed"
        rival = Rival(HOSTNAME, SHOP, f"distributiontenant {KEY}", holds=True, is_same_kind=False)
        assert await routes.claims.rivals(route) == (rival,)
