"""Expressions as authors of compositions write them, one of each sort, and objects of ordinary size to try them on."""

from __future__ import annotations

from typing import Any, Final

from kubecel import environments
from kubecel.environment import Environment
from kubecel.types import DYN

EXPRESSIONS: Final[dict[str, str]] = {
    "field": "schema.spec.name",
    "conversion": "string(schema.spec.replicas)",
    "concatenation": 'schema.spec.name + "-" + schema.metadata.namespace',
    "logic": "schema.spec.replicas > 1 && schema.spec.enabled",
    "presence": 'has(schema.spec.host) ? schema.spec.host : schema.spec.name + ".example"',
    "default": 'config.data.?LOG_LEVEL.orValue("info")',
    "condition": 'deployment.status.conditions.exists(c, c.type == "Available" && c.status == "True")',
    "filter": 'schema.spec.regions.filter(r, r.startsWith("eu-"))',
    "objects": 'schema.spec.ports.map(p, {"name": p.name, "port": p.number})',
    "pattern": 'schema.spec.regions.all(r, r.matches("^[a-z]{2}-[a-z]+-[0-9]$"))',
    "format": '"%s-%d".format([schema.spec.name, schema.spec.replicas])',
    "quantity": 'quantity(schema.spec.memory).isLessThan(quantity("2Gi"))',
}
"""By sort."""

CONTEXT: Final[dict[str, Any]] = {
    "schema": {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "Shop",
        "metadata": {"name": "shop", "namespace": "edge", "labels": {"team": "edge"}},
        "spec": {
            "name": "shop",
            "replicas": 3,
            "enabled": True,
            "memory": "512Mi",
            "regions": ["eu-central-1", "eu-west-1", "us-east-1"],
            "ports": [{"name": "http", "number": 80}, {"name": "https", "number": 443}],
        },
    },
    "deployment": {
        "metadata": {"name": "shop", "namespace": "edge"},
        "status": {
            "replicas": 3,
            "conditions": [
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
                {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
            ],
        },
    },
    "config": {"metadata": {"name": "shop"}, "data": {"HOST": "shop.example"}},
}


def environment() -> Environment:
    """What compositions are compiled in."""
    return environments.kro().extend(variables=dict.fromkeys(CONTEXT, DYN))
