"""What docs/kinds/distribution-tenant.md offers for Argo CD and Flux: health checks that are run, and a field manager that exists."""

from __future__ import annotations

from typing import Any, Final

import lupa  # type: ignore[import-untyped]
import pytest
import yaml

from edgekeeper.api.cloudfront import DistributionTenantSpec
from edgekeeper.api.schema import schema_of
from edgekeeper.controllers.cloudfront.report import CERTIFICATE_MANAGER
from edgekeeper.core.json import JsonObject, dig
from kubecel import environments, types
from tests.docs.page import blocks, read

PAGE: Final = "docs/kinds/distribution-tenant.md"
APPLICATION, RELEASE, ARGO, FLUX = (
    yaml.safe_load(block.text)
    for block in blocks(read(PAGE))
    if block.form == "yaml" and block.section == "Argo CD and Flux"
)


def tenant(status: str, reason: str, observed: int = 2) -> JsonObject:
    ready = {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": "m",
        "observedGeneration": observed,
    }
    return {"metadata": {"generation": 2}, "status": {"conditions": [ready]}}


def in_argo_cd(obj: JsonObject) -> str:
    """What Argo CD shows: it calls the check with the object as `obj`."""
    (check,) = ARGO["data"].values()
    runtime = lupa.LuaRuntime(unpack_returned_tuples=True)
    found: Any = runtime.eval(f"function(obj) {check} end")(runtime.table_from(obj, recursive=True))
    assert found["message"]
    return str(found["status"])


def in_flux(obj: JsonObject) -> str:
    """What Flux concludes: it asks whether the object has failed, then whether it is current."""
    (check,) = FLUX["spec"]["healthCheckExprs"]
    names = dict.fromkeys(("metadata", "status"), types.DYN)
    for word, verdict in (("failed", "Degraded"), ("current", "Healthy")):
        if environments.kubernetes().extend(variables=names).compile(check[word]).evaluate(obj):
            return verdict
    return "Progressing"


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (tenant("True", "Deployed"), "Healthy"),
        (tenant("True", "Deployed", 1), "Progressing"),
        (tenant("False", "Deploying"), "Progressing"),
        (tenant("False", "QuotaExceeded"), "Progressing"),
        (tenant("False", "DomainConflict"), "Degraded"),
        (tenant("False", "DomainConflict", 1), "Progressing"),
        (tenant("Unknown", "CloudUnavailable"), "Progressing"),
    ],
)
def test_health_is_the_same_in_argo_cd_and_flux(obj: JsonObject, expected: str) -> None:
    assert in_argo_cd(obj) == expected
    assert in_flux(obj) == expected


def test_new_tenant_is_progressing_in_argo_cd() -> None:
    assert in_argo_cd({"metadata": {"generation": 1}}) == "Progressing"


def test_field_that_is_left_alone_is_that_of_the_certificate() -> None:
    (difference,) = APPLICATION["spec"]["ignoreDifferences"]
    assert difference["managedFieldsManagers"] == [CERTIFICATE_MANAGER]
    (ignored,) = RELEASE["spec"]["driftDetection"]["ignore"]
    (path,) = ignored["paths"]
    _, spec, *fields = path.split("/")
    assert spec == "spec"
    properties = [part for field in fields for part in ("properties", field)]
    assert dig(schema_of(DistributionTenantSpec), *properties)
