"""The kinds of ACK as CustomResourceDefinitions, with the fields that are used here.

A schema is written in short: `string`, `integer`, `boolean`, `[…]` for a list, a mapping for an object, `"map"` for an
object with any keys and values of type string. A name that ends with `!` is required.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Short = Any
"""A schema in short."""

_TAGS: Final = [{"key": "string", "value": "string"}]
_REFERENCE: Final = {"from": {"name": "string", "namespace": "string"}}


@dataclass(frozen=True)
class AckKind:
    """One kind."""

    service: str
    kind: str
    plural: str
    spec: Mapping[str, Short]
    status: Mapping[str, Short]

    @property
    def group(self) -> str:
        return f"{self.service}.services.k8s.aws"

    @property
    def finalizer(self) -> str:
        return f"finalizers.{self.group}/{self.kind}"

    def definition(self) -> dict[str, Any]:
        names = {
            "kind": self.kind,
            "listKind": f"{self.kind}List",
            "plural": self.plural,
            "singular": self.kind.lower(),
        }
        properties = {"spec": _schema(self.spec), "status": _schema({**self.status, **_COMMON})}
        version = {
            "name": "v1alpha1",
            "served": True,
            "storage": True,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {"group": self.group, "names": names, "scope": "Namespaced", "versions": [version]},
        }


_COMMON: Final[Mapping[str, Short]] = {
    "ackResourceMetadata": {"arn": "string", "ownerAccountID": "string", "region": "string"},
    "conditions": [
        {
            "type": "string",
            "status": "string",
            "reason": "string",
            "message": "string",
            "lastTransitionTime": "time",
        }
    ],
}

API = AckKind(
    "apigatewayv2",
    "API",
    "apis",
    {
        "name": "string",
        "protocolType": "string",
        "description": "string",
        "disableExecuteAPIEndpoint": "boolean",
        "tags": "map",
    },
    {"apiID": "string", "apiEndpoint": "string"},
)
DOMAIN_NAME = AckKind(
    "apigatewayv2",
    "DomainName",
    "domainnames",
    {
        "domainName!": "string",
        "domainNameConfigurations": [
            {"certificateARN": "string", "endpointType": "string", "securityPolicy": "string"}
        ],
        "tags": "map",
    },
    {"apiMappingSelectionExpression": "string"},
)
API_MAPPING = AckKind(
    "apigatewayv2",
    "APIMapping",
    "apimappings",
    {
        "apiID": "string",
        "apiRef": _REFERENCE,
        "apiMappingKey": "string",
        "domainName": "string",
        "domainRef": _REFERENCE,
        "stage!": "string",
    },
    {"apiMappingID": "string"},
)
CERTIFICATE = AckKind(
    "acm",
    "Certificate",
    "certificates",
    {"domainName": "string", "subjectAlternativeNames": ["string"], "tags": _TAGS},
    {
        "status": "string",
        "failureReason": "string",
        "domainValidations": [
            {
                "domainName": "string",
                "validationStatus": "string",
                "resourceRecord": {"name": "string", "type_": "string", "value": "string"},
            }
        ],
    },
)
FUNCTION = AckKind(
    "lambda",
    "Function",
    "functions",
    {
        "name!": "string",
        "role": "string",
        "roleRef": _REFERENCE,
        "runtime": "string",
        "handler": "string",
        "packageType": "string",
        "architectures": ["string"],
        "memorySize": "integer",
        "timeout": "integer",
        "code": {"s3Bucket": "string", "s3Key": "string", "imageURI": "string"},
        "environment": {"variables": "map"},
        "tags": "map",
    },
    {"state": "string", "lastUpdateStatus": "string"},
)
INTEGRATION = AckKind(
    "apigatewayv2",
    "Integration",
    "integrations",
    {
        "apiID": "string",
        "apiRef": _REFERENCE,
        "integrationType!": "string",
        "integrationURI": "string",
        "integrationMethod": "string",
        "payloadFormatVersion": "string",
    },
    {"integrationID": "string"},
)
ROUTE = AckKind(
    "apigatewayv2",
    "Route",
    "routes",
    {
        "apiID": "string",
        "apiRef": _REFERENCE,
        "routeKey!": "string",
        "target": "string",
        "targetRef": _REFERENCE,
    },
    {"routeID": "string"},
)
STAGE = AckKind(
    "apigatewayv2",
    "Stage",
    "stages",
    {"apiID": "string", "apiRef": _REFERENCE, "stageName!": "string", "autoDeploy": "boolean"},
    {},
)
TABLE = AckKind(
    "dynamodb",
    "Table",
    "tables",
    {
        "tableName!": "string",
        "billingMode": "string",
        "attributeDefinitions": [{"attributeName": "string", "attributeType": "string"}],
        "keySchema": [{"attributeName": "string", "keyType": "string"}],
    },
    {"tableStatus": "string"},
)
BUCKET = AckKind("s3", "Bucket", "buckets", {"name!": "string"}, {"location": "string"})
DB_INSTANCE = AckKind(
    "rds",
    "DBInstance",
    "dbinstances",
    {
        "dbInstanceIdentifier!": "string",
        "dbInstanceClass!": "string",
        "engine!": "string",
        "engineVersion": "string",
        "allocatedStorage": "integer",
        "dbName": "string",
        "masterUsername": "string",
        "manageMasterUserPassword": "boolean",
        "masterUserPassword": {"name": "string", "namespace": "string", "key": "string"},
        "multiAZ": "boolean",
        "storageEncrypted": "boolean",
    },
    {
        "dbInstanceStatus": "string",
        "endpoint": {"address": "string", "port": "integer"},
        "masterUserSecret": {"secretARN": "string", "secretStatus": "string"},
    },
)
ROLE = AckKind(
    "iam",
    "Role",
    "roles",
    {"name!": "string", "assumeRolePolicyDocument!": "string", "policies": ["string"]},
    {"roleID": "string"},
)

KINDS: Final[tuple[AckKind, ...]] = (
    *(API, DOMAIN_NAME, API_MAPPING, CERTIFICATE, FUNCTION, INTEGRATION),
    *(ROUTE, STAGE, TABLE, BUCKET, DB_INSTANCE, ROLE),
)


def _schema(short: Short) -> dict[str, Any]:
    if short == "map":
        return {"type": "object", "additionalProperties": {"type": "string"}}
    if short == "time":
        return {"type": "string", "format": "date-time"}
    if isinstance(short, str):
        return {"type": short}
    if isinstance(short, list):
        return {"type": "array", "items": _schema(short[0])}
    fields = {name.rstrip("!"): _schema(value) for name, value in short.items()}
    required = [name.rstrip("!") for name in short if name.endswith("!")]
    return {"type": "object", "properties": fields, **({"required": required} if required else {})}
