"""LambdaPermission: who may invoke a Lambda function, as statements of its resource policy."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from edgekeeper.api.bridge import ACK_NAME, GROUP, LAST_ERROR, ApiStatus, LastError
from edgekeeper.api.definition import AGE, Column, CustomKind, condition_column
from edgekeeper.api.schema import Rule, admission
from edgekeeper.api.shared import ATOMIC_LIST, CamelStruct, Conditions, read_parts
from edgekeeper.core.aws_identifiers import PARTITION
from edgekeeper.core.json import JsonObject

PERMISSION_FINALIZER = f"{GROUP}/lambda-permission"
INVOKE = "lambda:InvokeFunction"
MOST_STATEMENTS = 150
"""More than a policy of 20,480 bytes has room for."""
_FUNCTION_NAME = r"^[a-zA-Z0-9-_]{1,64}$"
_FUNCTION_ARN = rf"^arn:{PARTITION}:lambda:[a-z0-9-]+:[0-9]{{12}}:function:[a-zA-Z0-9-_]{{1,64}}$"


class FunctionRef(CamelStruct, frozen=True):
    """The function, named in one of three ways."""

    __rules__ = (
        Rule(
            "[has(self.name), has(self.functionName), has(self.arn)].filter(given, given).size() == 1",
            "give exactly one of name (of an ACK Function), functionName and arn",
        ),
    )

    name: Annotated[
        str | None, Meta(description="An ACK Function of this namespace.", extra_json_schema=ACK_NAME)
    ] = None
    function_name: Annotated[
        str | None,
        Meta(
            description="The name of the function in AWS.",
            extra_json_schema=admission(pattern=_FUNCTION_NAME),
        ),
    ] = None
    arn: Annotated[
        str | None,
        Meta(
            description="The ARN of the function, without a version or alias.",
            extra_json_schema=admission(pattern=_FUNCTION_ARN),
        ),
    ] = None
    qualifier: Annotated[
        str | None,
        Meta(
            description="A version or alias of the function, which has a policy of its own.",
            extra_json_schema=admission(pattern=r"^[a-zA-Z0-9$_-]{1,128}$"),
        ),
    ] = None


class SourceRef(CamelStruct, frozen=True):
    """An API that may invoke the function."""

    api_name: Annotated[str, Meta(description="An ACK API of this namespace.", extra_json_schema=ACK_NAME)]
    path: Annotated[
        str,
        Meta(
            description="Stage, method and path of the API, with * as a wildcard.",
            extra_json_schema={"default": "/*/*", "pattern": "^/[^ ]+$", "maxLength": 512},
        ),
    ] = "/*/*"


class Permission(CamelStruct, frozen=True):
    """One statement of the function's policy."""

    __rules__ = (
        Rule("!has(self.sourceArn) || !has(self.sourceRef)", "give sourceArn or sourceRef, not both"),
    )

    statement_id: Annotated[
        str,
        Meta(
            description="The id of the statement, unique in the function's policy.",
            extra_json_schema=admission(pattern=r"^[a-zA-Z0-9-_]{1,100}$"),
        ),
    ]
    principal: Annotated[
        str,
        Meta(
            description="Who may invoke it: a service such as apigateway.amazonaws.com, an account, or an ARN.",
            extra_json_schema=admission(pattern="^[^ ]+$", maxLength=256),
        ),
    ]
    action: Annotated[
        str,
        Meta(
            description="The Lambda action that is allowed.",
            extra_json_schema={"default": INVOKE, "pattern": "^lambda:[a-zA-Z]+$"},
        ),
    ] = INVOKE
    source_arn: Annotated[
        str | None,
        Meta(
            description="The ARN of what invokes it, with * as a wildcard.",
            extra_json_schema=admission(pattern="^arn:[^ ]+$", maxLength=1024),
        ),
    ] = None
    source_ref: Annotated[
        SourceRef | None, Meta(description="The API that invokes it, instead of sourceArn.")
    ] = None
    source_account: Annotated[
        str | None,
        Meta(
            description="The account of what invokes it.", extra_json_schema=admission(pattern="^[0-9]{12}$")
        ),
    ] = None
    principal_org_id: Annotated[
        str | None,
        Meta(
            description="The organisation of the principal.",
            extra_json_schema=admission(pattern="^o-[a-z0-9]{10,32}$"),
        ),
    ] = field(default=None, name="principalOrgID")
    function_url_auth_type: Annotated[
        Literal["NONE", "AWS_IAM"] | None,
        Meta(
            description="For lambda:InvokeFunctionUrl: how callers of the function's URL are authenticated."
        ),
    ] = None


class LambdaPermissionSpec(CamelStruct, frozen=True):
    """The desired statements."""

    function_ref: Annotated[FunctionRef, Meta(description="The function.")]
    permissions: Annotated[
        list[Permission],
        Meta(
            description="The statements of this object. Those of others stay as they are.",
            extra_json_schema={
                "minItems": 1,
                "maxItems": MOST_STATEMENTS,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["statementId"],
            },
        ),
    ]


class PermissionState(CamelStruct, frozen=True):
    """What became of one permission."""

    statement_id: Annotated[str, Meta(description="The id of the statement.")]
    state: Annotated[Literal["Applied", "Pending", "Conflict", "Error"], Meta(description="How far it is.")]
    message: Annotated[str, Meta(description="What is missing or in the way.")] = ""


class OwnedStatement(CamelStruct, frozen=True):
    """A statement of this object, as it was last written."""

    function: Annotated[str, Meta(description="The function, with its qualifier if it has one.")]
    statement_id: Annotated[str, Meta(description="The id of the statement.")]
    fingerprint: Annotated[str, Meta(description="A fingerprint of its content.")]
    state: Annotated[
        Literal["Planned", "Written"], Meta(description="Whether it was written, or is about to be.")
    ] = "Written"


class LambdaPermissionStatus(ApiStatus, frozen=True):
    """What is in the policy."""

    function_arn: Annotated[str, Meta(description="The ARN of the function.")] = ""
    permissions: Annotated[
        list[PermissionState],
        Meta(description="The state of each permission of the spec.", extra_json_schema=ATOMIC_LIST),
    ] = []
    inventory: Annotated[
        list[OwnedStatement],
        Meta(
            description="The statements that the operator has written, or is about to write.",
            extra_json_schema=ATOMIC_LIST,
        ),
    ] = []
    last_error: Annotated[LastError | None, LAST_ERROR] = None
    conditions: Conditions = []


def read_permission(obj: JsonObject) -> tuple[LambdaPermissionSpec, LambdaPermissionStatus]:
    """Decode an object, as `read_parts` does."""
    return read_parts(obj, LambdaPermissionSpec(FunctionRef(), []), LambdaPermissionStatus)


LAMBDA_PERMISSION = CustomKind(
    group=GROUP,
    version="v1alpha1",
    kind="LambdaPermission",
    plural="lambdapermissions",
    description="Statements of the resource policy of a Lambda function: who may invoke it.",
    spec=LambdaPermissionSpec,
    status=LambdaPermissionStatus,
    columns=(
        Column("Function", ".status.functionArn"),
        Column("Ready", ".status.ready", "boolean"),
        condition_column("Ready", "Reason", "reason"),
        condition_column("Paused", priority=1),
        AGE,
    ),
    short_names=("lperm",),
    categories=("edge",),
)
