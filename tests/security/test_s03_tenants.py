"""S-03 and S-04 for routes: tenants are used only where they allow it, and templates cannot be put in their place."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.zerotrust.route_index import TEMPLATE, TENANT
from edgekeeper.kube.kinds import Key
from kubesim.virtual import virtual_time
from tests.zerotrust.acceptance_world import HOME, AcceptanceWorld, operating, route, template

PROTECTION = {"enabled": True, "allowEmails": ["staff@example.com"]}
STAFF = [{"email": {"email": "staff@example.com"}}]
OPEN = {"enabled": True, "everyone": True}


async def platform(world: AcceptanceWorld, **spec: object) -> None:
    """A tenant of the platform in the operator's namespace, with a base template that protects."""
    await world.create(world.credential(HOME), world.tenant("platform", HOME, **spec))
    await world.create(template("base-platform", HOME, accessApplication=PROTECTION))


@pytest.mark.parametrize("annotated", ["platform", f"{HOME}/platform"])
@virtual_time
async def test_tenant_is_used_only_by_the_namespaces_that_it_allows(annotated: str) -> None:
    async with operating(("friend", "stranger")) as world:
        await platform(world, allowedNamespaces=["friend"])
        await world.create(
            route("web", "friend", hostname="friend.example.com", tenant=annotated),
            route("web", "stranger", hostname="stranger.example.com", tenant=annotated),
        )
        await world.ready_only("web", namespace="friend")
        message = await world.says("NamespaceNotAllowed", "web", "stranger")
        assert "spec.allowedNamespaces" in message
        assert world.rule("stranger.example.com") is None


@virtual_time
async def test_no_tenant_of_another_namespace_is_used_unasked() -> None:
    """A route without an annotation gets a tenant of its own namespace, or none: not the operator's, nor anybody's."""
    async with operating(("poor",)) as world:
        await platform(world)
        writes = world.estate.writes
        await world.create(route("web", "poor", hostname="poor.example.com"))
        await world.says("TenantNotFound", "web", "poor")
        assert world.estate.writes == writes


@virtual_time
async def test_tenant_that_withdraws_its_permission_exposes_nothing() -> None:
    async with operating(("friend",)) as world:
        await platform(world)
        world.estate.guarded.add("friend.example.com")
        await world.create(route("web", "friend", hostname="friend.example.com", tenant="platform"))
        await world.ready("web", namespace="friend")
        before = world.everything()
        patch = {"spec": {"allowedNamespaces": ["nobody"]}}
        await world.user.merge_patch(TENANT, Key(HOME, "platform"), patch)
        await world.says("NamespaceNotAllowed", "web", "friend")
        assert world.everything() == before, "what is published stays as it is"


@pytest.mark.parametrize("name", ["base-platform", "default", "staff"])
@virtual_time
async def test_template_of_a_user_does_not_take_the_place_of_the_tenants(name: str) -> None:
    """S-04: a template of the same name in the route's namespace weakens nothing."""
    async with operating(("user",)) as world:
        await world.create(world.credential(HOME), world.tenant("platform", HOME))
        await world.create(template(name, HOME, accessApplication=PROTECTION))
        await world.create(
            template(name, "user", accessApplication=OPEN),
            template(
                "base-platform" if name != "base-platform" else "default-x", "user", accessApplication=OPEN
            ),
        )
        world.estate.guarded.add("web.example.com")
        chosen = {"template": name} if name == "staff" else {}
        await world.create(route("web", "user", hostname="web.example.com", tenant="platform", **chosen))
        await world.ready("web", namespace="user")
        assert [one["include"] for one in world.policies("web.example.com")] == [STAFF]


@virtual_time
async def test_protecting_template_that_vanishes_leaves_the_host_protected() -> None:
    async with operating(("user",)) as world:
        await platform(world)
        world.estate.guarded.add("web.example.com")
        await world.create(route("web", "user", hostname="web.example.com", tenant="platform"))
        await world.ready("web", namespace="user")
        await world.user.delete(TEMPLATE, Key(HOME, "base-platform"))
        await world.says("ProtectionRemoved", "web", "user")
        await world.create(template("default", "user", accessApplication={"enabled": False}))
        await world.elapse(minutes=10)
        assert [one["include"] for one in world.policies("web.example.com")] == [STAFF]
