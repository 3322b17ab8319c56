"""What dashboards and alerts know: names, labels and when something is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgekeeper.core.drift import Policy
from edgekeeper.kube.kinds import Key
from kubesim.aws.faults import error
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant

PREFIX = "cloudfront_tenant_operator"
ERROR_TYPES = (
    *("domain_conflict", "access_denied", "invalid_spec", "distribution_not_found", "name_conflict", "quota"),
    *("connection_group_not_found", "unknown", "throttling", "retryable", "domain_validation_pending"),
    *("dns_zone_not_found", "dns_access_denied", "dns_invalid_input", "dns_error", "dns_throttling"),
    "dns_retryable",
)
OPERATIONS = (
    *("CreateDistributionTenant", "GetDistributionTenant", "UpdateDistributionTenant"),
    *("DeleteDistributionTenant", "GetDistribution", "GetManagedCertificateDetails", "GetConnectionGroup"),
    *(
        "ListConnectionGroups",
        "Route53ChangeResourceRecordSets",
        "Route53GetChange",
        "ACMDescribeCertificate",
    ),
)
CALLS = f"{PREFIX}_aws_api_call_duration_seconds_count"


def _value(scene: Scene, name: str, **labels: str) -> float | None:
    return scene.stage.operator.metrics.registry.get_sample_value(name, labels)


@virtual_time
async def test_all_series_are_there_before_anything_happens() -> None:
    async with playing() as scene:
        for error_type in ERROR_TYPES:
            assert _value(scene, f"{PREFIX}_reconcile_errors_total", error_type=error_type) == 0
        for operation in OPERATIONS:
            assert _value(scene, CALLS, operation=operation) is not None
        assert _value(scene, f"{PREFIX}_drift_detected_total") == 0


@virtual_time
async def test_calls_are_timed_whether_they_succeed_or_fail() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(error("InvalidArgument", "no"), operation="CreateDistributionTenant")
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        for operation in ("CreateDistributionTenant", "GetDistribution", "ListConnectionGroups"):
            assert _value(scene, CALLS, operation=operation) == scene.calls(operation)
        assert _value(scene, CALLS, operation="CreateDistributionTenant") == 2
        written = scene.calls("ChangeResourceRecordSets")
        assert _value(scene, CALLS, operation="Route53ChangeResourceRecordSets") == written
        assert _value(scene, CALLS, operation="ACMDescribeCertificate") == scene.calls("DescribeCertificate")


@virtual_time
async def test_tenants_are_counted_by_namespace_and_readiness_when_asked() -> None:
    async with playing(loose=True) as scene:
        await scene.create(tenant(Key("default", "good"), "good.example.com"))
        await scene.create(tenant(Key("default", "bad"), "good example.com"))
        await scene.ready(Key("default", "good"))
        name = f"{PREFIX}_tenants_total"
        assert _value(scene, name, namespace="default", status="Ready") == 1
        assert _value(scene, name, namespace="default", status="NotReady") == 1
        await scene.delete(Key("default", "bad"))
        await scene.gone(Key("default", "bad"))
        await scene.elapse(seconds=1)
        assert not _value(scene, name, namespace="default", status="NotReady")


@pytest.mark.parametrize("policy", list(Policy))
@virtual_time
async def test_drift_is_counted_once_for_each_pass_that_finds_it(policy: Policy) -> None:
    async with playing(replace(OPTIONS, drift_policy=policy)) as scene:
        await scene.create(tenant())
        await scene.ready()
        scene.cloud.cloudfront.change_tenant(KEY.name, enabled=False)
        await scene.elapse(minutes=6)
        found = _value(scene, f"{PREFIX}_drift_detected_total") or 0
        assert found >= 1
        await scene.elapse(hours=1)
        later = _value(scene, f"{PREFIX}_drift_detected_total") or 0
        assert (later - found == 0) == (policy is Policy.ENFORCE)
        assert later - found <= 14


@virtual_time
async def test_validation_failures_and_stale_etags_are_no_errors() -> None:
    async with playing(loose=True) as scene:
        await scene.create(tenant(KEY, "not a domain"))
        await scene.says("Ready", "ValidationFailed")
        await scene.edit(domains=[{"domain": "shop.example.com"}])
        await scene.ready()
        scene.cloud.faults.add(error("PreconditionFailed", "stale"), operation="UpdateDistributionTenant")
        await scene.edit(enabled=False)
        await scene.ready()
        assert not any(scene.errors(one) for one in ERROR_TYPES)


@virtual_time
async def test_passes_are_counted_by_how_they_end() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(error("ServiceUnavailable", status=503), operation="GetDistribution", times=60)
        await scene.create(tenant())
        await scene.until(lambda: scene.errors("retryable") > 0)
        scene.cloud.faults.clear()
        await scene.ready()

        def total(result: str) -> float | None:
            name = "controller_runtime_reconcile_total"
            return _value(scene, name, controller="distributiontenant", result=result)

        assert total("requeue_after")
        assert total("error")
        assert _value(scene, "controller_runtime_reconcile_errors_total", controller="distributiontenant")
        assert _value(scene, "controller_runtime_active_workers", controller="distributiontenant") == 0


@virtual_time
async def test_cause_that_keeps_a_pass_from_working_is_counted_for_each_object_and_once() -> None:
    async with playing() as scene:
        denied = error("AccessDenied", "no", 403)
        scene.cloud.faults.add(denied, operation="CreateDistributionTenant", times=None)
        for number in range(3):
            await scene.create(tenant(Key("default", f"tenant-{number}"), f"t{number}.example.com"))
        await scene.elapse(minutes=30)
        assert scene.errors("access_denied") == 3
