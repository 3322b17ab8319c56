"""What a DistributionTenant has in AWS, for people."""

from __future__ import annotations

from collections.abc import Iterator

from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.lifecycle.relations import Details


def tenant_details(obj: JsonObject) -> Details:
    """Accepts any content."""
    hostnames = (dig(domain, "domain") for domain in dig_list(obj, "spec", "domains"))
    tenant = dig(obj, "status", "id")
    return Details(
        tuple(name for name in hostnames if isinstance(name, str)),
        (tenant,) if isinstance(tenant, str) and tenant else (),
        "the tenant or its records" if dig(obj, "status", "driftDetected") is True else "",
        tuple(_references(obj)),
    )


def _references(obj: JsonObject) -> Iterator[tuple[str, str]]:
    named = {
        "distribution": ("spec", "distributionId"),
        "connection group": ("spec", "connectionGroupId"),
        "certificate": ("spec", "customizations", "certificate", "arn"),
        "managed certificate": ("status", "certificateArn"),
        "hosted zone": ("spec", "dns", "hostedZoneId"),
        "role for the zone": ("spec", "dns", "assumeRoleArn"),
    }
    for name, path in named.items():
        value = dig(obj, *path)
        if isinstance(value, str) and value:
            yield name, value
