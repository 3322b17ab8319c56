"""Zero Trust on `edgekeeper up`: the examples become ready, and the described commands for the operator itself work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import yaml
from rich.console import Console

from edgekeeper.cli.applying import Applier
from edgekeeper.cli.embedded import LocalServer, PlaneOptions, open_server
from edgekeeper.cli.kind_options import KindSettings
from edgekeeper.cli.kinds import MODULES
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.cli.plan import answer
from edgekeeper.cli.plan_output import print_text
from edgekeeper.cli.plan_request import PlanRequest
from edgekeeper.cli.simulated import NAMESPACE, Simulation, SimulationOptions, simulating
from edgekeeper.controllers.zerotrust.operator_config import KIND as OPERATOR_CONFIG
from edgekeeper.controllers.zerotrust.worker import TASK, TENANT
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.drift import Change
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import DEPLOYMENT, HTTP_ROUTE, SECRET, Key
from edgekeeper.lifecycle.module import Cloud, CommonOptions
from edgekeeper.lifecycle.preview import Preview, Verdict
from kubesim.transport import InProcessTransport

EXAMPLES = Path(__file__).parents[3] / "examples" / "zero-trust"
HURRIED = SimulationOptions(
    deploy_time=timedelta(milliseconds=50),
    poll_interval=timedelta(milliseconds=100),
    drift_interval=timedelta(milliseconds=300),
)
PATIENCE = 60.0
CFZT = "cfzt.cloudflare.com/"


@dataclass(frozen=True)
class Scene:
    """A running `edgekeeper up`, and its user."""

    server: LocalServer
    simulation: Simulation
    user: KubeClient

    @property
    def account(self) -> str:
        return f"/accounts/{self.simulation.cloudflare.account_id}"

    def applications(self) -> dict[str, JsonObject]:
        found = self.simulation.cloudflare.cloud.act("GET", f"{self.account}/access/apps")
        return {app["domain"]: app for app in found}

    def rules(self) -> list[str]:
        path = f"{self.account}/cfd_tunnel/{self.simulation.cloudflare.tunnel_id}/configurations"
        config = self.simulation.cloudflare.cloud.act("GET", path)["config"]
        return [rule["hostname"] for rule in dig_list(config, "ingress") if "hostname" in rule]

    def records(self) -> dict[str, str]:
        path = f"/zones/{self.simulation.cloudflare.zone_id}/dns_records"
        found = self.simulation.cloudflare.cloud.act("GET", path)
        return {record["name"]: record["content"] for record in found}

    async def apply(self, *names: str) -> None:
        async with asyncio.timeout(PATIENCE):
            manifests = load_manifests([EXAMPLES / name for name in names] if names else [EXAMPLES])
            await Applier(self.server, manifests, lambda _: None).run()

    async def route(self, name: str) -> dict[str, str]:
        """The annotations of a route."""
        route = await self.user.get(HTTP_ROUTE, Key("apps", name))
        annotations: dict[str, str] = route["metadata"]["annotations"]
        return annotations

    async def annotate(self, name: str, **annotations: str | None) -> None:
        wanted = {f"{CFZT}{key}": value for key, value in annotations.items()}
        await self.user.merge_patch(HTTP_ROUTE, Key("apps", name), {"metadata": {"annotations": wanted}})

    async def at_rest(self) -> None:
        """Wait until all tasks are collected."""
        async with asyncio.timeout(PATIENCE):
            while [raw async for page in self.user.pages(TASK) for raw in page.items]:  # noqa: ASYNC110 - as below
                await asyncio.sleep(0.02)

    async def until_annotated(self, name: str, **annotations: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not annotations.items() <= (await self.route(name)).items():  # noqa: ASYNC110 - as below
                await asyncio.sleep(0.02)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110 - Cloudflare sends no notifications
                await asyncio.sleep(0.02)

    async def plan(self, question: PlanRequest) -> list[Preview]:
        """What `edgekeeper plan` finds. Nothing is changed by it."""
        before = (self.applications(), self.rules(), self.records())
        cloudflare = self.simulation.cloudflare
        kinds = KindSettings(
            common=CommonOptions(namespace=NAMESPACE, operator_deployment="edgekeeper"),
            controllers=frozenset(module.name for module in MODULES if Cloud.AWS not in module.clouds),
            cloudflare_url=cloudflare.url,
        )
        transport = InProcessTransport(self.server.plane, self.server.plane.admin_token)
        previews = await answer(question, kinds, transport, None)
        assert (self.applications(), self.rules(), self.records()) == before
        return previews


@asynccontextmanager
async def playing(options: SimulationOptions = HURRIED) -> AsyncIterator[Scene]:
    async with open_server(PlaneOptions()) as server, simulating(server, options) as simulation:
        transport = InProcessTransport(server.plane, server.plane.admin_token)
        yield Scene(server, simulation, KubeClient(transport, Calls(), SystemClock()))


async def test_examples_become_ready_and_are_published_as_they_say() -> None:
    async with playing() as scene:
        await scene.apply()
        tunnel = scene.simulation.cloudflare.tunnel_id
        apps = scene.applications()
        assert set(apps) == {f"{name}.example.com" for name in ("admin", "api", "app", "wiki")}
        assert sorted(set(scene.rules())) == [
            f"{name}.example.com" for name in ("admin", "api", "app", "simple", "wiki")
        ]
        records = scene.records()
        assert records.pop("printer.example.com") == "10.20.30.40"
        assert set(records.values()) == {f"{tunnel}.cfargotunnel.com"}
        assert apps["admin.example.com"]["session_duration"] == "8h"
        simple = await scene.route("simple-app")
        assert simple[f"{CFZT}hostnameRouteId"] == tunnel
        assert f"{CFZT}accessAppId" not in simple
        assert simple["edgekeeper.io/ready"] == "True"
        api = await scene.route("api-service")
        assert api[f"{CFZT}accessAppId"] == apps["api.example.com"]["id"]
        assert api[f"{CFZT}serviceTokenSecretName"] == "api-service-cfzt-service-token"
        secret = await scene.user.get(SECRET, Key("apps", "api-service-cfzt-service-token"))
        assert {"client_id", "client_secret"} <= set(secret["data"])
        tenant = await scene.user.get(TENANT, Key("apps", "main"))
        ready = {one["type"]: one["reason"] for one in dig_list(tenant, "status", "conditions")}
        assert ready["Ready"] == "ReconcileSuccess"
        config = await scene.user.get(OPERATOR_CONFIG, Key(NAMESPACE, "operator-config"))
        assert config["status"]["deploymentReady"] is True


async def test_change_of_a_route_changes_its_policy_in_place_and_disabling_withdraws_it() -> None:
    async with playing() as scene:
        await scene.apply("10-tenant.yaml", "20-templates.yaml", "30-routes.yaml")
        before = await scene.route("app")
        app = scene.applications()["app.example.com"]["id"]
        await scene.annotate("app", allowEmails="user1@example.com,user2@example.com")
        await scene.until(lambda: "user2@example.com" in str(scene.applications()["app.example.com"]))
        await scene.until_annotated("app", **{"edgekeeper.io/reason": "Published"})
        after = await scene.route("app")
        assert scene.applications()["app.example.com"]["id"] == app
        for name in ("accessAppId", "accessPolicyIds", "hostnameRouteId"):
            assert after[f"{CFZT}{name}"] == before[f"{CFZT}{name}"]
        await scene.annotate("app", enabled="false")
        await scene.until(lambda: "app.example.com" not in scene.applications())
        assert "app.example.com" not in scene.records()
        assert "app.example.com" not in scene.rules()


async def test_described_commands_for_the_operator_work_in_the_described_namespace() -> None:
    """`kubectl apply`, `kubectl patch cfztconfig … --type=merge` and `kubectl get cfztconfig`, as requests."""
    home = "cloudflare-zero-trust"
    options = replace(HURRIED, kinds=KindSettings(operator_namespace=home))
    async with playing(options) as scene:
        manifest = yaml.safe_load((EXAMPLES / "50-operator-config.yaml").read_text())
        manifest["metadata"]["namespace"] = home
        key, own = Key(home, "operator-config"), Key(home, "edgekeeper")
        await scene.user.create(OPERATOR_CONFIG, manifest)
        await _observed(scene, key, 1)
        container = (await scene.user.get(DEPLOYMENT, own))["spec"]["template"]["spec"]["containers"][0]
        assert container["resources"]["requests"] == {"cpu": "200m", "memory": "512Mi"}
        patch = {"spec": {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}}}
        await scene.user.merge_patch(OPERATOR_CONFIG, key, patch)
        config = await _observed(scene, key, 2)
        container = (await scene.user.get(DEPLOYMENT, own))["spec"]["template"]["spec"]["containers"][0]
        assert container["resources"]["requests"] == {"cpu": "200m", "memory": "1Gi"}
        assert container["resources"]["limits"] == {"cpu": "1", "memory": "2Gi"}
        told = {one["type"]: (one["reason"], one["message"]) for one in config["status"]["conditions"]}
        assert told["Applied"] == (
            "ConfigurationApplied",
            "OperatorConfig successfully applied to deployment",
        )
        assert told["Ready"] == ("DeploymentReady", "Operator deployment is ready")


async def _observed(scene: Scene, key: Key, generation: int) -> JsonObject:
    async with asyncio.timeout(PATIENCE):
        while True:
            config = await scene.user.get(OPERATOR_CONFIG, key)
            is_observed = dig(config, "status", "observedGeneration") == generation
            if is_observed and dig(config, "status", "deploymentReady"):
                return config
            await asyncio.sleep(0.02)


# Plans


async def test_plan_of_examples_that_nobody_has_applied_shows_every_step() -> None:
    async with playing(replace(HURRIED, operator=False)) as scene:
        await _apply_unattended(scene, "10-tenant.yaml", "20-templates.yaml")
        manifests = tuple(load_manifests([EXAMPLES / "30-routes.yaml", EXAMPLES / "50-operator-config.yaml"]))
        previews = {
            preview.key.name: preview for preview in await scene.plan(PlanRequest(manifests=manifests))
        }
        admin = previews["admin-panel"]
        assert admin.verdict is Verdict.CHANGES
        assert [type(step).__name__ for step in admin.steps][:2] == ["CreateTask", "CreateApplication"]
        assert {"WriteRules", "WriteRecords"} <= {type(step).__name__ for step in admin.steps}
        assert "CreateToken" in {type(step).__name__ for step in previews["api-service"].steps}
        config = previews["operator-config"]
        assert config.verdict is Verdict.CHANGES
        paths = {difference.path for step in config.steps for difference in step.changes()}
        assert any("resources" in path for path in paths)
        assert any("env" in path for path in paths)


async def test_plan_of_what_runs_is_settled_and_shows_drift() -> None:
    async with playing() as scene:
        await scene.apply()
        await scene.at_rest()
        previews = await scene.plan(PlanRequest())
        assert {preview.verdict for preview in previews} == {Verdict.SETTLED}, previews
        assert {preview.kind for preview in previews} == {
            "HTTPRoute",
            "CloudflareZeroTrustTenant",
            "CloudflareZeroTrustOperatorConfig",
        }
        assert scene.simulation.operator is not None
        scene.simulation.operator.manager.stop()
        app = scene.applications()["admin.example.com"]["id"]
        scene.simulation.cloudflare.cloud.act("DELETE", f"{scene.account}/access/apps/{app}")
        drifted = [preview for preview in await scene.plan(PlanRequest()) if preview.steps]
        assert [(preview.key.name, preview.change) for preview in drifted] == [("admin-panel", Change.DRIFT)]
        assert "CreateApplication" in {type(step).__name__ for step in drifted[0].steps}


async def test_plan_of_an_orphaned_route_names_what_is_kept_and_plans_no_deletion() -> None:
    async with playing() as scene:
        await scene.apply("10-tenant.yaml", "20-templates.yaml", "30-routes.yaml")
        await scene.at_rest()
        assert scene.simulation.operator is not None
        scene.simulation.operator.manager.stop()
        orphan = {"metadata": {"annotations": {"edgekeeper.io/deletion-policy": "Orphan"}}}
        await scene.user.merge_patch(HTTP_ROUTE, Key("apps", "admin-panel"), orphan)
        await scene.user.delete(HTTP_ROUTE, Key("apps", "admin-panel"))
        (preview,) = [one for one in await scene.plan(PlanRequest()) if one.verdict is Verdict.ORPHANED]
        assert preview.steps == ()
        assert {"Access application admin.example.com", "tunnel hostname admin.example.com"} <= set(
            preview.kept
        )
        stream = StringIO()
        print_text([preview], Console(file=stream, width=1000))
        assert "being deleted, what it has made is kept (" in stream.getvalue()
        assert "DNS record CNAME admin.example.com" in stream.getvalue()


async def test_plan_of_a_route_without_a_tenant_is_refused_with_the_remedy() -> None:
    async with playing(replace(HURRIED, operator=False)) as scene:
        manifests = tuple(load_manifests([EXAMPLES / "30-routes.yaml"]))
        previews = await scene.plan(PlanRequest(manifests=manifests))
        assert {preview.verdict for preview in previews} == {Verdict.REFUSED}
        assert {preview.error.reason for preview in previews if preview.error} == {"TenantNotFound"}


async def test_plan_of_a_tenant_without_its_secret_is_refused() -> None:
    async with playing(replace(HURRIED, operator=False)) as scene:
        await _apply_unattended(scene, "10-tenant.yaml")
        await scene.user.delete(SECRET, Key("apps", "cloudflare-api-token"))
        (preview,) = await scene.plan(PlanRequest())
        assert preview.verdict is Verdict.REFUSED
        assert preview.error is not None
        assert preview.error.reason == "CredentialNotFound"


async def _apply_unattended(scene: Scene, *names: str) -> None:
    """Apply without waiting for readiness, which nobody would bring about."""
    for manifest in load_manifests([EXAMPLES / name for name in names]):
        plural = {
            "Namespace": "/api/v1/namespaces",
            "Secret": "/api/v1/namespaces/apps/secrets",
            "CloudflareZeroTrustTenant": f"{TENANT.collection_path('apps')}",
            "CloudflareZeroTrustTemplate": f"{TENANT.collection_path('apps')}".replace(
                "tenants", "templates"
            ),
        }[manifest.kind]
        await scene.server.apply(f"{plural}/{manifest.name}", manifest.body, "test")


async def test_deleted_route_leaves_nothing_behind() -> None:
    async with playing() as scene:
        await scene.apply("10-tenant.yaml", "20-templates.yaml", "30-routes.yaml")
        key = Key("apps", "api-service")
        await scene.user.delete(HTTP_ROUTE, key)
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await scene.user.get(HTTP_ROUTE, key)
                except NotFoundError:
                    break
                await asyncio.sleep(0.02)
        assert "api.example.com" not in scene.applications()
        assert "api.example.com" not in scene.records()
        assert scene.simulation.cloudflare.cloud.act("GET", f"{scene.account}/access/service_tokens") == []
        try:
            await scene.user.get(SECRET, Key("apps", "api-service-cfzt-service-token"))
        except NotFoundError:
            return
        raise AssertionError("the Secret of the service token is still there")
