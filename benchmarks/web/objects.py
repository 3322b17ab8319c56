"""A fleet of DistributionTenants in many namespaces, a few of which are not ready."""

from __future__ import annotations

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.module import kind_of

KIND = kind_of(DISTRIBUTION_TENANT)
NAMESPACES = 100
_STATES = {
    0: ("False", "Deploying", "CloudFront deploys the tenant"),
    1: ("False", "ValidationFailed", "spec.distributionId: there is no distribution E0MISSING"),
}
_READY = ("True", "Deployed", "the tenant is deployed as the spec says")


def tenant(number: int, turn: int = 0) -> JsonObject:
    """One object. With another `turn` it says something else."""
    status, reason, message = _STATES.get((number + turn) % 50, _READY)
    conditions = [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": f"{message}{' again' * (turn % 2)}",
            "observedGeneration": 1,
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }
        for type_ in ("Ready", "Synced", "CertificateReady", "DNSReady")
    ]
    name = f"tenant-{number:05}"
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {
            "name": name,
            "namespace": f"team-{number % NAMESPACES:02}",
            "uid": f"00000000-0000-0000-0000-{number:012}",
            "generation": 1,
            "resourceVersion": str(number + turn + 1),
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "distributionId": "E1XNX8R2GOAABC",
            "domains": [{"domain": f"{name}.example.com"}, {"domain": f"www.{name}.example.com"}],
            "dns": {"provider": "route53", "hostedZoneId": "Z0EXAMPLE", "ttl": 300},
        },
        "status": {
            "observedGeneration": 1,
            "id": f"dt_{number}",
            "arn": f"arn:aws:cloudfront::111122223333:distribution-tenant/dt_{number}",
            "conditions": conditions,
        },
    }
