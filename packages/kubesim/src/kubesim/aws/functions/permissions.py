"""The operations on the resource policies of functions.

Every change of a policy gives the function a new revision id; a write may name the revision that it is based on. The
policy is one JSON document of limited length, and has no length at all when its last statement goes: then it does not
exist.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError
from kubesim.aws.functions.state import Function

STALE = (
    "The RevisionId provided does not match the latest RevisionId. Call the GetFunction/GetAlias API to retrieve "
    "the latest RevisionId"
)


def add_permission(call: Call) -> Result:
    params = call.params
    function, qualifier = _target(call)
    _check_revision(function, params.get("RevisionId"))
    id_ = params["StatementId"]
    statements = function.statements.setdefault(qualifier, {})
    if id_ in statements:
        raise AwsError(
            "ResourceConflictException",
            f"The statement id ({id_}) provided already exists. Please provide a new statement id, or remove the "
            "existing statement.",
        )
    statement = _statement(function, qualifier, params)
    size = len(_document({**statements, id_: statement}))
    if size > call.world.quotas.policy_bytes:
        raise AwsError(
            "PolicyLengthExceededException",
            f"The final policy size ({size}) is bigger than the limit ({call.world.quotas.policy_bytes}).",
        )
    statements[id_] = statement
    function.revision = call.world.ids.uuid()
    return {"Statement": msgspec.json.encode(statement).decode()}


def remove_permission(call: Call) -> Result:
    params = call.params
    function, qualifier = _target(call)
    _check_revision(function, params.get("RevisionId"))
    statements = function.statements.get(qualifier, {})
    id_ = params["StatementId"]
    if not statements:
        raise AwsError("ResourceNotFoundException", "No policy is associated with the given resource.")
    if id_ not in statements:
        raise AwsError("ResourceNotFoundException", f"Statement {id_} is not found in resource policy.")
    del statements[id_]
    function.revision = call.world.ids.uuid()
    return {}


def get_policy(call: Call) -> Result:
    function, qualifier = _target(call)
    statements = function.statements.get(qualifier)
    if not statements:
        raise AwsError("ResourceNotFoundException", "The resource you requested does not exist.")
    return {"Policy": _document(statements).decode(), "RevisionId": function.revision}


def get_function(call: Call) -> Result:
    function, _ = _target(call)
    configuration = {
        "FunctionName": function.name,
        "FunctionArn": function.arn,
        "RevisionId": function.revision,
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "Version": "$LATEST",
    }
    return {"Configuration": configuration}


def _target(call: Call) -> tuple[Function, str]:
    function, qualifier = call.account.functions(call.region).find(call.params["FunctionName"])
    return function, call.params.get("Qualifier", qualifier)


def _check_revision(function: Function, revision: str | None) -> None:
    if revision is not None and revision != function.revision:
        raise AwsError("PreconditionFailedException", STALE)


def _statement(function: Function, qualifier: str, params: Any) -> dict[str, Any]:
    principal = params["Principal"]
    statement: dict[str, Any] = {
        "Sid": params["StatementId"],
        "Effect": "Allow",
        "Principal": "*" if principal == "*" else _principal(principal),
        "Action": params["Action"],
        "Resource": f"{function.arn}:{qualifier}" if qualifier else function.arn,
    }
    conditions: dict[str, dict[str, str]] = {}
    if "SourceAccount" in params:
        conditions.setdefault("StringEquals", {})["AWS:SourceAccount"] = params["SourceAccount"]
    if "PrincipalOrgID" in params:
        conditions.setdefault("StringEquals", {})["aws:PrincipalOrgID"] = params["PrincipalOrgID"]
    if "FunctionUrlAuthType" in params:
        if params["Action"] != "lambda:InvokeFunctionUrl":
            raise AwsError(
                "InvalidParameterValueException",
                "FunctionUrlAuthType is only supported for lambda:InvokeFunctionUrl action",
            )
        conditions.setdefault("StringEquals", {})["lambda:FunctionUrlAuthType"] = params[
            "FunctionUrlAuthType"
        ]
    if "SourceArn" in params:
        conditions["ArnLike"] = {"AWS:SourceArn": params["SourceArn"]}
    return statement | ({"Condition": conditions} if conditions else {})


def _principal(principal: str) -> dict[str, str]:
    if re.fullmatch(r"\d{12}", principal):
        return {"AWS": f"arn:aws:iam::{principal}:root"}
    return {"AWS" if principal.startswith("arn:") else "Service": principal}


def _document(statements: dict[str, dict[str, Any]]) -> bytes:
    policy = {"Version": "2012-10-17", "Id": "default", "Statement": list(statements.values())}
    return msgspec.json.encode(policy)
