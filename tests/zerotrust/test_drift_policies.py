"""What becomes of a change that somebody else makes at Cloudflare, under each drift policy, by the whole operator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from edgekeeper.cli.assembly import Operator
from edgekeeper.core.json import JsonObject
from kubesim.virtual import run_virtual
from tests.zerotrust.acceptance_world import AcceptanceWorld, cluster, route, running

HOST = "web.example.com"
INTERVAL = 5.0
"""Minutes between two looks, by default."""


def _change_rule(here: AcceptanceWorld) -> None:
    rules = [{**rule, "service": "http://evil"} if "hostname" in rule else rule for rule in here.rules()]
    here.act("PUT", f"cfd_tunnel/{here.estate.tunnel}/configurations", {"config": {"ingress": rules}})


def _change_record(here: AcceptanceWorld) -> None:
    (record,) = here.records(HOST)
    here.cloud.act(
        "PATCH", f"/zones/{here.estate.zone.id}/dns_records/{record['id']}", {"content": "evil.example.net"}
    )


def _application(here: AcceptanceWorld) -> JsonObject:
    found = here.application(HOST)
    assert found is not None
    return found


def _change_application(here: AcceptanceWorld) -> None:
    found = _application(here)
    here.account.applications[found["id"]] = {**found, "session_duration": "720h"}


def _change_policy(here: AcceptanceWorld) -> None:
    (policy,) = here.policies(HOST)
    body = {"name": policy["name"], "decision": "bypass", "include": [{"everyone": {}}], "precedence": 1}
    here.act("PUT", f"access/apps/{_application(here)['id']}/policies/{policy['id']}", body)


CHANGES: dict[str, tuple[Callable[[AcceptanceWorld], None], str]] = {
    "tunnel rule": (_change_rule, f"write tunnel rules of {HOST}"),
    "DNS record": (_change_record, f"write DNS records of {HOST}"),
    "application": (_change_application, f"change Access application of {HOST}: session_duration"),
    "policy": (_change_policy, "change policy web-allow-policy"),
}


def seen(here: AcceptanceWorld) -> Any:
    """What visitors notice of all that the route has."""
    (policy,) = here.policies(HOST)
    (record,) = here.records(HOST)
    return (
        here.rule(HOST),
        (record["type"], record["content"], record["proxied"], record["comment"]),
        {key: value for key, value in _application(here).items() if key not in ("updated_at", "policies")},
        {key: value for key, value in policy.items() if key != "updated_at"},
    )


def drift_count(operator: Operator) -> float:
    return operator.metrics.registry.get_sample_value("edgekeeper_zerotrust_drift_detected_total") or 0.0


def told(here: AcceptanceWorld, reason: str) -> list[str]:
    """Messages of events of a reason, each as often as it was told."""
    found = here.events(reason)
    return [event["message"] for event in found for _ in range((event.get("series") or {}).get("count") or 1)]


@asynccontextmanager
async def published(policy: str) -> AsyncIterator[tuple[AcceptanceWorld, Operator]]:
    async with cluster() as here, running(here) as operator:
        annotations = {"access.enabled": "true", "access.allowEmails": "a@example.com"}
        named = {f"cfzt.cloudflare.com/{name}": value for name, value in annotations.items()}
        await here.create(route("web", hostname=HOST, **named, **{"edgekeeper.io/drift-policy": policy}))
        await here.ready("web")
        await here.elapse(minutes=11)
        assert drift_count(operator) == 0
        yield here, operator


@pytest.mark.parametrize("change", CHANGES)
def test_foreign_change_is_mended_within_the_interval_and_told_once(change: str) -> None:
    spoil, words = CHANGES[change]

    async def scenario() -> None:
        async with published("enforce") as (here, operator):
            before = seen(here)
            spoil(here)
            assert seen(here) != before
            await here.until(lambda: seen(here) == before, minutes=INTERVAL + 0.5)
            await here.ready("web")
            await here.elapse(minutes=30)
            assert seen(here) == before
            assert drift_count(operator) == 1
            (message,) = told(here, "DriftCorrected")
            assert words in message
            assert told(here, "DriftDetected") == []

    run_virtual(scenario)


@pytest.mark.parametrize("change", CHANGES)
def test_foreign_change_is_kept_and_told_once_under_report_until_it_is_to_be_enforced(change: str) -> None:
    spoil, words = CHANGES[change]

    async def scenario() -> None:
        async with published("report") as (here, operator):
            before = seen(here)
            spoil(here)
            changed = seen(here)
            await here.until(lambda: here.said("web")[:2] == ("True", "DriftDetected"), INTERVAL + 0.5)
            assert words in here.said("web")[2]
            await here.elapse(hours=2)
            assert seen(here) == changed
            (message,) = told(here, "DriftDetected")
            assert words in message
            assert drift_count(operator) == 1
            assert told(here, "DriftCorrected") == []
            await here.annotate("web", **{"edgekeeper.io/drift-policy": "enforce"})
            await here.until(lambda: seen(here) == before, minutes=1)
            await here.ready("web")

    run_virtual(scenario)


@pytest.mark.parametrize("change", CHANGES)
def test_foreign_change_is_kept_and_only_counted_under_suspend(change: str) -> None:
    async def scenario() -> None:
        async with published("suspend") as (here, operator):
            CHANGES[change][0](here)
            changed, said = seen(here), here.said("web")
            await here.elapse(hours=2)
            assert seen(here) == changed
            assert here.said("web") == said
            assert drift_count(operator) == 1
            assert told(here, "DriftDetected") == told(here, "DriftCorrected") == []

    run_virtual(scenario)
