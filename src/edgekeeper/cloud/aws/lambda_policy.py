"""The resource policies of Lambda functions: statements that say who may invoke them.

A policy is a document that several write to, and its statements cannot be changed, only removed and added. So a change
is worked out from what was read, its first write carries the RevisionId of that reading (somebody who was quicker makes
it a `Conflict`), and one reading at the end confirms the whole. Ids of statements are made from who owns them, so that
doing the same again is seen to be done: random ids fill a policy until it takes no more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from edgekeeper.cloud.aws import operations as op
from edgekeeper.cloud.aws.access import AwsCall, AwsCaller
from edgekeeper.cloud.aws.error_table import TAKEN_NAME
from edgekeeper.cloud.error_table import error_for
from edgekeeper.core.errors import Conflict
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.names import AWS_IDENTIFIER, bounded_name, fingerprint

INVOKE: Final = "lambda:InvokeFunction"
LONGEST_ID: Final = 100
_ABSENT: Final = "ResourceNotFoundException"
_CONDITIONS: Final = (
    ("ArnLike", "AWS:SourceArn"),
    ("StringEquals", "AWS:SourceAccount"),
    ("StringEquals", "aws:PrincipalOrgID"),
    ("StringEquals", "lambda:FunctionUrlAuthType"),
)
"""The conditions of a statement, in the order of its fields."""
_ACCOUNT: Final = re.compile(r"arn:aws[a-z-]*:iam::(\d{12}):root")


@dataclass(frozen=True, slots=True)
class Statement:
    """One permission."""

    id: str
    principal: str
    source_arn: str = ""
    source_account: str = ""
    principal_org_id: str = ""
    function_url_auth_type: str = ""
    action: str = INVOKE

    @property
    def fingerprint(self) -> str:
        """A hash of its content as Lambda returns it."""
        read = _as_read(self)
        conditions = (
            read.source_arn,
            read.source_account,
            read.principal_org_id,
            read.function_url_auth_type,
        )
        return fingerprint(read.id, read.action, read.principal, *conditions)


@dataclass(frozen=True, slots=True)
class FunctionPolicy:
    """A function's policy as it was read."""

    revision_id: str = ""
    """Empty where there is no policy yet."""
    statements: Mapping[str, Statement] = field(default_factory=dict)
    """By id; those that we could not have written are in `foreign`."""
    foreign: frozenset[str] = frozenset()
    resource: str = ""
    """The ARN of the function, with its qualifier; empty where there is no statement that tells."""


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """What it takes to get from one policy to another: ids go before statements come."""

    removed: tuple[str, ...] = ()
    added: tuple[Statement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.removed or self.added)


def statement_id(*parts: str) -> str:
    """The id of a statement, always the same for the same parts."""
    return bounded_name(*parts, limit=LONGEST_ID, alphabet=AWS_IDENTIFIER)


def plan_policy(
    policy: FunctionPolicy, wanted: Sequence[Statement], owned: Collection[str] = ()
) -> PolicyChange:
    """What must change so that `wanted` stands there, and nothing else of `owned`, the ids that we wrote before.

    Raise Stall where an id is taken by a statement that is neither wanted nor ours.
    """
    ids = {statement.id for statement in wanted}
    present = {*policy.statements, *policy.foreign}
    differing = [
        permission for permission in wanted if policy.statements.get(permission.id) != _as_read(permission)
    ]
    for statement in differing:
        if statement.id in present and statement.id not in owned:
            text = f"statement {statement.id} exists and was not created by this object"
            raise error_for(TAKEN_NAME, text)
    replaced = {permission.id for permission in differing} & present
    obsolete = (set(owned) - ids) & present
    return PolicyChange(tuple(sorted(replaced | obsolete)), tuple(differing))


class LambdaPolicies:
    """The policies of one region's functions."""

    def __init__(self, caller: AwsCaller) -> None:
        self._aws = caller

    async def read(self, function: str) -> FunctionPolicy:
        """A function's policy; an empty one where it has none. Raise Retry where there is no such function."""
        ask = AwsCall(op.GET_POLICY, function, {"FunctionName": function}, _parse_policy)
        policy = await self._aws.find(ask, _ABSENT, unless="Function not found")
        return policy or FunctionPolicy()

    async def find_function(self, function: str) -> str | None:
        """The ARN of a function; None where there is none."""
        ask = AwsCall(op.GET_FUNCTION, function, {"FunctionName": function}, _parse_function)
        return await self._aws.find(ask, _ABSENT)

    async def add(self, function: str, statement: Statement, *, revision_id: str = "") -> None:
        """Add a statement. Raise Conflict where its id is taken, or the policy has another revision by now."""
        request = {"FunctionName": function, **_build_statement(statement)}
        if revision_id:
            request["RevisionId"] = revision_id
        await self._aws.call(AwsCall(op.ADD_PERMISSION, f"{function} {statement.id}", request, _done))

    async def remove(self, function: str, statement_id: str, *, revision_id: str = "") -> bool:
        """Remove a statement. False says that it was gone already."""
        request = {"FunctionName": function, "StatementId": statement_id}
        if revision_id:
            request["RevisionId"] = revision_id
        ask = AwsCall(op.REMOVE_PERMISSION, f"{function} {statement_id}", request, _done)
        return await self._aws.find(ask, _ABSENT) is not None

    async def apply(
        self, function: str, wanted: Sequence[Statement], owned: Collection[str] = ()
    ) -> FunctionPolicy:
        """Make `wanted` stand in the policy, and of `owned` nothing else. Return the policy as it is then."""
        policy = await self.read(function)
        change = plan_policy(policy, wanted, owned)
        if not change:
            return policy
        revision = policy.revision_id
        for obsolete in change.removed:
            await self.remove(function, obsolete, revision_id=revision)
            revision = ""  # our own write has made another one of it
        for statement in change.added:
            await self.add(function, statement, revision_id=revision)
            revision = ""
        written = await self.read(function)
        if plan_policy(written, wanted, owned):
            raise Conflict(f"the policy of {function} was changed by somebody else at the same time")
        return written


def _build_statement(statement: Statement) -> JsonObject:
    shape = {
        "StatementId": statement.id,
        "Action": statement.action,
        "Principal": statement.principal,
        "SourceArn": statement.source_arn,
        "SourceAccount": statement.source_account,
        "PrincipalOrgID": statement.principal_org_id,
        "FunctionUrlAuthType": statement.function_url_auth_type,
    }
    return {name: value for name, value in shape.items() if value}


def _as_read(statement: Statement) -> Statement:
    """A statement as Lambda returns it: an account is an account, however it was written."""
    account = _ACCOUNT.fullmatch(statement.principal)
    return replace(statement, principal=account[1]) if account else statement


def _parse_policy(answer: JsonObject) -> FunctionPolicy:
    shapes = json.loads(answer["Policy"])["Statement"]
    parsed = [(str(shape.get("Sid", "")), _parse_statement(shape)) for shape in shapes]
    return FunctionPolicy(
        answer["RevisionId"],
        {sid: statement for sid, statement in parsed if statement is not None},
        frozenset(sid for sid, statement in parsed if statement is None),
        next((str(shape["Resource"]) for shape in shapes if isinstance(shape.get("Resource"), str)), ""),
    )


def _parse_function(answer: JsonObject) -> str:
    return str(answer["Configuration"]["FunctionArn"])


def _parse_statement(shape: JsonObject) -> Statement | None:
    """A statement of the form that we write; None for any other, such as one with further conditions."""
    match shape:
        case {"Sid": str(sid), "Effect": "Allow", "Principal": principal, "Action": str(action)}:
            named, source = _parse_principal(principal), _parse_condition(shape.get("Condition") or {})
        case _:
            return None
    if not named or source is None:
        return None
    return _as_read(Statement(sid, named, *source, action))


def _parse_principal(principal: Any) -> str:
    match principal:
        case str() as named:
            return named
        case {"Service": str(named), **others} | {"AWS": str(named), **others} if not others:
            return named
        case _:
            return ""


def _parse_condition(condition: JsonObject) -> tuple[str, str, str, str] | None:
    """Source ARN, source account, organisation and authentication; None where there is any other condition."""
    arn, account, organisation, auth = (dig(condition, *place) or "" for place in _CONDITIONS)
    values = (arn, account, organisation, auth)
    understood: JsonObject = {}
    for (operator, key), value in zip(_CONDITIONS, values, strict=True):
        if value:
            understood.setdefault(operator, {})[key] = value
    return values if understood == condition else None


def _done(_: JsonObject) -> bool:
    return True
