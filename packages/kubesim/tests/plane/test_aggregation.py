"""Aggregated cluster roles: always the sum of the roles they select."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from kubesim.plane.plane import Plane

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
SUM = {"matchLabels": {"example.com/part": "true"}}


def part(name: str, resource: str) -> JsonObject:
    rule = {"apiGroups": ["example.com"], "resources": [resource], "verbs": ["get"]}
    return {"metadata": {"name": name, "labels": {"example.com/part": "true"}}, "rules": [rule]}


async def resources(plane: Plane) -> list[str]:
    await plane.settle()
    role = await plane.client.get(f"{ROLES}/sum")
    return [name for rule in role.get("rules") or [] for name in rule["resources"]]


async def test_aggregated_role_follows_its_parts(plane: Plane) -> None:
    aggregation = {"clusterRoleSelectors": [SUM]}
    await plane.client.create(ROLES, {"metadata": {"name": "sum"}, "aggregationRule": aggregation})
    assert await resources(plane) == []
    await plane.client.create(ROLES, part("b", "gadgets"))
    await plane.client.create(ROLES, part("a", "widgets"))
    assert await resources(plane) == ["widgets", "gadgets"]
    await plane.client.merge(f"{ROLES}/a", {"rules": part("a", "doodads")["rules"]})
    assert await resources(plane) == ["doodads", "gadgets"]
    await plane.client.delete(f"{ROLES}/a")
    assert await resources(plane) == ["gadgets"]
    await plane.client.merge(f"{ROLES}/b", {"metadata": {"labels": None}})
    assert await resources(plane) == []


async def test_rules_written_into_an_aggregated_role_do_not_last(plane: Plane) -> None:
    aggregation = {"clusterRoleSelectors": [SUM]}
    await plane.client.create(ROLES, {"metadata": {"name": "sum"}, "aggregationRule": aggregation})
    await plane.client.merge(f"{ROLES}/sum", {"rules": part("x", "secrets")["rules"]})
    assert await resources(plane) == []


async def test_own_resources_join_the_roles_everybody_knows(plane: Plane) -> None:
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    await plane.client.create(
        ROLES, {**part("widgets-view", "widgets"), "metadata": {"name": "w", "labels": labels}}
    )
    await plane.settle()
    for name in ("view", "edit", "admin"):
        role = await plane.client.get(f"{ROLES}/{name}")
        assert any("widgets" in rule.get("resources", []) for rule in role["rules"]), name
