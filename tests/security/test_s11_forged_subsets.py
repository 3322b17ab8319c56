"""S-11: no combination of forged status fields turns a tenant that bears no mark into the attacker's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest

from edgekeeper.api.cloudfront import DistributionTenantSpec
from edgekeeper.controllers.cloudfront.desired import tags_fingerprint
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import Owner
from edgekeeper.kube.kinds import Key
from kubesim.virtual import virtual_time
from tests.security.forgery import LATER, Holdings, entry, forge, two_teams
from tests.tenants.scene import Scene
from tests.tenants.system import CLUSTER, OPTIONS, tenant

TARGET = Key("beta", "legacy")
SERVED = "legacy.example.com"
POLICY = {"alpha": ("example.com",), "beta": ("beta.example.com",)}
GUARDED = replace(OPTIONS, guards=Guards(hostnames=POLICY))
FIELDS = ("id", "eTag", "observedGeneration", "tagsFingerprint", "inventory", "conditions")
"""Everything in a status that a decision could rely on; `arn` goes with the id."""


def _subsets() -> Iterator[tuple[str, ...]]:
    for size in range(1, len(FIELDS) + 1):
        yield from combinations(FIELDS, size)


def _forged(scene: Scene) -> JsonObject:
    """The status of an object whose tenant this is, in every detail that can be computed."""
    live, metadata = scene.aws(TARGET.name), scene.object(TARGET)["metadata"]
    owner, ready = Owner(CLUSTER, *TARGET, metadata["uid"]), "the tenant is deployed as the spec says"
    return {
        "id": live.id,
        "arn": live.arn,
        "eTag": live.etag,
        "observedGeneration": metadata["generation"],
        "tagsFingerprint": tags_fingerprint(DistributionTenantSpec(live.distribution, []), owner),
        "inventory": [entry(scene, SERVED)],
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Deployed",
                "message": ready,
                "observedGeneration": metadata["generation"],
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    }


@pytest.mark.parametrize("number", range(4))
@virtual_time
async def test_no_subset_of_forged_fields_takes_a_tenant_over(number: int) -> None:
    """The tenant serves a domain that the attacker's namespace may not have, and nobody has adopted it."""
    async with two_teams(GUARDED, attacking=False) as scene:
        scene.estate.make_tenant(TARGET.name, SERVED)
        scene.estate.make_record(SERVED, f"{scene.endpoint}.")
        await scene.elapse(**LATER)
        await scene.create(tenant(TARGET, "mine.beta.example.com"))
        await scene.says("Ready", "DomainConflict", TARGET)
        before = Holdings.of(scene)
        for fields in list(_subsets())[number::4]:
            known = _forged(scene)
            await forge(scene, TARGET, **{name: known[name] for name in (*fields, "arn")})
            await scene.elapse(seconds=20)
            await scene.edit(TARGET, enabled=len(fields) % 2 == 0)  # something to do, with the forged view
            await scene.elapse(**LATER)
            before.confirm(scene, fields)
        await forge(scene, TARGET, **_forged(scene))
        await scene.delete(TARGET)
        await scene.gone(TARGET)
        assert scene.aws(TARGET.name).enabled
        assert f"CNAME {SERVED}" in scene.records
