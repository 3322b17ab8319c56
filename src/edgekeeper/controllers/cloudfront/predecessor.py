"""How to detect a running cloudfront-tenant-operator, which this kind replaces (`lifecycle.predecessor`)."""

from __future__ import annotations

from typing import Final

from edgekeeper.lifecycle.predecessor import PreviousOperator

LEASE_NAME: Final = "dd008127.cloudfront-tenant-operator.io"
DEPLOYMENT_LABELS: Final = "app.kubernetes.io/name=cloudfront-tenant-operator"
CLOUDFRONT_TENANT_OPERATOR: Final = PreviousOperator(
    "cloudfront-tenant-operator", LEASE_NAME, DEPLOYMENT_LABELS
)
