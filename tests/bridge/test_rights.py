"""What AWS has to allow: exactly what the policies of the documentation say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgekeeper.controllers.bridge.domains.wiring import DomainOptions
from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from tests.bridge.world import (
    ACK_MODE,
    DOMAIN,
    DOMAINS,
    NAME,
    OPTIONS,
    PERMISSION,
    PERMISSIONS,
    domain,
    permission,
    playing,
    statement,
)

IAM = Path(__file__).parents[2] / "docs" / "iam"
UNUSED = {"apigateway:PUT", "apigateway:RemoveCertificateFromDomain", "acm:ListTagsForCertificate"}
"""What the simulated AWS does not ask for (tagging, changing a certificate), or only a lost response needs."""


def _policy(name: str) -> JsonObject:
    policy: JsonObject = json.loads((IAM / f"{name}.json").read_text())
    return policy


def _actions(policy: JsonObject) -> set[str]:
    return {action for one in policy["Statement"] for action in one["Action"]}


@pytest.mark.parametrize(("name", "options"), [("bridge", OPTIONS), ("bridge-small", ACK_MODE)])
@virtual_time
async def test_policy_of_the_documentation_is_enough_and_has_nothing_too_much(
    name: str, options: DomainOptions
) -> None:
    """`bridge-small` is the table of seed 004: what it denies degrades."""
    async with playing(options, start=False) as scene:
        policy = _policy(name)
        scene.estate.govern(policy)
        scene.stage.start_operator()
        await scene.api()
        before = scene.estate.state()
        await scene.create(domain(certificateStrategy="create"))
        await scene.create(permission(statement("api"), statement("jobs")))
        await scene.ready(DOMAIN)
        await scene.ready(PERMISSION)
        assert f"CNAME {NAME}" in scene.records
        arn = scene.certificate("*.example.com")
        await scene.edit(DOMAINS, DOMAIN, certificateStrategy="discover", securityPolicy="TLS_1_0")
        await scene.until(lambda: scene.live().configuration["CertificateArn"] == arn)
        await scene.edit(DOMAINS, DOMAIN, apiMappingKey="v1")
        await scene.ready(DOMAIN)
        await scene.edit(PERMISSIONS, PERMISSION, permissions=[statement("api")])
        await scene.ready(PERMISSION)
        await scene.delete(DOMAINS, DOMAIN)
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(DOMAIN)
        await scene.gone(PERMISSION)
        scene.estate.certificates.delete(arn)
        assert scene.estate.state() == before
        assert _actions(policy) - UNUSED <= scene.cloud.guard.granted
