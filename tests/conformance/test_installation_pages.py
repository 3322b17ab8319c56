"""The pages about installation, upgrades and migrations, as somebody follows them: with helm and kubectl, on a real API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.conformance.client import Client, eventually
from tests.conformance.installation import WORKERS, examples
from tests.docs.cluster_sessions import INSTALL, KUSTOMIZE, STATUS_PAGE, UPGRADE
from tests.docs.installing import PATIENCE, WEB_APPS, installing

INSTANCE = "{apiVersion: kro.run/v1alpha1, kind: WebApp, metadata: {name: shop, namespace: apps}, spec: {text: hello}}"


async def test_page_about_installation_shows_what_happens(owner: Client, folder: Path) -> None:
    """Objects of all systems are there when it comes to the uninstallation."""
    objects = [obj for obj in examples(*OBJECTS) if obj["kind"] != "Secret"]

    async def use(_: str) -> None:
        site = world.site
        await site.apply(objects)
        definition, role = yaml.safe_load_all(WEB_APPS)
        await site.until_trusted()
        await site.apply([role, definition])
        await site.until_ready([definition, *(obj for obj in objects if obj["kind"] != "Namespace")])
        instance = yaml.safe_load(INSTANCE)
        await site.apply([instance])
        await site.until_ready([instance])
        assert world.aws.cloudfront.tenants

    async with installing(owner, folder) as world:
        await world.follow(INSTALL, helm_upgrade=use)
        assert not world.aws.cloudfront.tenants, "nothing of deleted objects is left"
        assert not world.account.applications
        assert not world.account.service_tokens
        assert "edgekeeper" not in await world.run("kubectl get deployments -A -o name")
        assert "distributiontenants" in await world.run("kubectl get crds -o name")


TENANTS = ("quickstart/10-namespace.yaml", "quickstart/20-tenants.yaml")
ROUTES = ("zero-trust/10-tenant.yaml", "zero-trust/20-templates.yaml", "zero-trust/30-routes.yaml")
OBJECTS = (*TENANTS, *ROUTES)


async def test_page_about_kustomize_shows_what_happens(owner: Client, folder: Path) -> None:
    async with installing(owner, folder) as world:
        await world.follow(KUSTOMIZE)
        assert await world.run(IMAGE) == "registry.example.com/platform/edgekeeper:0.1.0"
        await world.run("kubectl apply --server-side --force-conflicts --kustomize deploy/split")
        names = {("edgekeeper-system", name) for name in ("edgekeeper", *WORKERS)}
        await world.until(lambda: world.node.pods.keys() == names, "the manager creates the workers")


async def test_page_about_upgrades_shows_what_happens(owner: Client, folder: Path) -> None:
    """Objects at rest are not written in a cloud."""
    tenants = [obj for obj in examples(*TENANTS) if obj["metadata"]["name"] != "docs"]
    images = []

    async def use(_: str) -> None:
        await world.site.apply(tenants)
        await world.site.until_ready(tenants[1:])
        world.clear_journals()

    async def look(_: str) -> None:
        images.append(await world.run(IMAGE))
        assert "--drift-policy=report" in await world.run(DEPLOYMENT), "values that were set stay"
        await world.until(lambda: len(list(world.aws.journal.calls())) > 0, "the new version looks at AWS")
        await world.site.until_ready(tenants[1:])

    async with installing(owner, folder) as world:
        await world.follow(UPGRADE, edgekeeper_crds=use, rollout_status=look)
        assert images == ["edgekeeper:0.1.0"]
        assert await world.run(IMAGE) == "edgekeeper:0.0.9"
        assert world.writes() == []


DEPLOYMENT = "kubectl -n edgekeeper-system get deployment edgekeeper -o yaml"
IMAGE = "kubectl -n edgekeeper-system get deployment edgekeeper -o jsonpath='{.spec.template.spec.containers[0].image}'"


async def test_page_about_the_status_page_shows_what_happens(owner: Client, folder: Path) -> None:
    async def look(token: str) -> None:
        pod = world.node.pods["edgekeeper-system", "edgekeeper"]
        found = await answered(f"https://localhost:{pod.ports.page}/api/overview", token.strip())
        assert found["total"] == 0

    async with installing(owner, folder) as world:
        await world.follow(STATUS_PAGE, create_token=look)


async def answered(url: str, token: str) -> Any:
    """What the page says to the owner of a token, as soon as it is served."""
    headers = {"Authorization": f"Bearer {token}"}

    async def asked() -> Any:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(url, headers=headers, ssl=False) as answer,
            ):
                return await answer.json() if answer.status == 200 else None
        except aiohttp.ClientError:
            return None

    return await eventually(asked, PATIENCE, what=f"{url} is served")
