"""The kinds of AWS Controllers for Kubernetes (ACK) that are read or made here, and what their objects tell.

    Ready, ACK.ResourceSynced    True: AWS has it as the spec says
    ACK.Terminal                 True: a person must act; the message says why
    ACK.Recoverable              True: ACK tries again; the message says why

Conditions of type ACK.… that are not True mean nothing.
"""

from __future__ import annotations

from typing import Final

from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import Kind

API: Final = Kind("apigatewayv2.services.k8s.aws", "v1alpha1", "API", "apis")
DOMAIN_NAME: Final = Kind("apigatewayv2.services.k8s.aws", "v1alpha1", "DomainName", "domainnames")
API_MAPPING: Final = Kind("apigatewayv2.services.k8s.aws", "v1alpha1", "APIMapping", "apimappings")
CERTIFICATE: Final = Kind("acm.services.k8s.aws", "v1alpha1", "Certificate", "certificates")
FUNCTION: Final = Kind("lambda.services.k8s.aws", "v1alpha1", "Function", "functions")

DELETION_POLICY: Final = "services.k8s.aws/deletion-policy"
ADOPTION_POLICY: Final = "services.k8s.aws/adoption-policy"
ADOPTION_FIELDS: Final = "services.k8s.aws/adoption-fields"
ADOPT_OR_CREATE: Final = "adopt-or-create"
SYNCED, TERMINAL, RECOVERABLE = "ACK.ResourceSynced", "ACK.Terminal", "ACK.Recoverable"


def condition_message(obj: JsonObject, type_: str) -> str | None:
    """The message of a condition that is True; None if it is not."""
    for condition in dig_list(obj, "status", "conditions"):
        if dig(condition, "type") == type_ and dig(condition, "status") == "True":
            return str(dig(condition, "message") or dig(condition, "reason") or type_)
    return None


def is_synced(obj: JsonObject) -> bool:
    """Has AWS what the spec says, as far as ACK knows?"""
    is_stopped = condition_message(obj, TERMINAL) is not None
    return condition_message(obj, SYNCED) is not None and not is_stopped


def metadata(obj: JsonObject, field: str) -> str:
    """A field of `status.ackResourceMetadata`: `arn`, `ownerAccountID` or `region`; empty if it is not there."""
    value = dig(obj, "status", "ackResourceMetadata", field)
    return value if isinstance(value, str) else ""
