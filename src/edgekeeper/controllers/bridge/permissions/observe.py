"""Observe one LambdaPermission: its function, its sources, and the policies with its statements.

A policy is read with one call. If IAM denies that, which is logged once, the inventory says what we have written, and
GetFunction whether there is such a function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from edgekeeper.api.lambda_permission import (
    LAMBDA_PERMISSION,
    FunctionRef,
    LambdaPermissionSpec,
    OwnedStatement,
    Permission,
    read_permission,
)
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.aws.error_table import NOT_FOUND
from edgekeeper.cloud.aws.lambda_policy import LambdaPolicies, Statement
from edgekeeper.controllers.bridge.ack import FUNCTION, metadata
from edgekeeper.controllers.bridge.cluster import Cluster, known_region
from edgekeeper.controllers.bridge.permissions.snapshot import SeenPolicy, Snapshot
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import Retry, Stall, Wait
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.module import kind_of
from edgekeeper.lifecycle.objects import KindObject
from edgekeeper.runtime.contract import Request

STATEMENT = "statement"
"""The scope of claims: function and statement id."""
KIND = kind_of(LAMBDA_PERMISSION)


@dataclass(frozen=True)
class Base:
    """What observations of a pass start from."""

    subject: KindObject
    snapshot: Snapshot


@dataclass(frozen=True)
class Observer:
    """Builds the snapshot of one object."""

    account: AwsAccount
    cluster: Cluster
    claims: Claims
    memory: Memory
    drift_policy: Policy = Policy.ENFORCE
    lost_clusters: frozenset[str] = frozenset()
    remembered: dict[str, Mapping[str, SeenPolicy]] = field(default_factory=dict)
    """Policies that the last pass of an object has read, by uid, if it only recorded what the next pass will write.

    The first write carries the RevisionId of that reading, so that it fails if the policy has changed since.
    """

    def begin(self, request: Request) -> Base:
        obj, wishes = request.object, Wishes.of(request.object)
        spec, status = read_permission(obj)
        uid = str(dig(obj, "metadata", "uid"))
        snapshot = Snapshot(
            uid=uid,
            generation=request.generation,
            status=status,
            policy=wishes.drift_policy or self.drift_policy,
            may_adopt=wishes.adopt,
            may_correct=self.memory.corrections.may_correct_now(uid),
            deleting=request.deleting,
            lost_clusters=self.lost_clusters,
            inventory=tuple(status.inventory),
        )
        if not request.deleting:
            snapshot = self._with_wishes(snapshot, request.key.namespace, spec)
        return Base(KindObject(KIND, request.key, obj), snapshot)

    async def observe(self, base: Base) -> Snapshot:
        snapshot = replace(base.snapshot, inventory=self._own_entries(base))
        if not snapshot.deleting:
            snapshot = replace(snapshot, rivals=await self.claims.rivals(base.subject))
            if snapshot.rivals or snapshot.problem is not None:
                return snapshot
        functions = {entry.function for entry in snapshot.inventory} | {snapshot.function} - {""}
        remembered = self.remembered.pop(base.subject.uid, {})
        if functions <= remembered.keys():
            return replace(snapshot, policies=remembered)
        seen = {function: await self.read(snapshot, function) for function in sorted(functions)}
        return replace(snapshot, policies=seen)

    async def read(self, snapshot: Snapshot, function: str) -> SeenPolicy:
        """The policy of a function, as far as IAM allows."""
        policies = self.policies(function)
        try:
            return SeenPolicy.of(await policies.read(function))
        except Retry as missing:
            if missing.reason != NOT_FOUND:
                raise
            return SeenPolicy(exists=False)
        except Stall as refusal:
            self.account.rights.do_without("reading the policies of functions", refusal)
        arn = await policies.find_function(function)
        ours = [one for one in snapshot.inventory if one.function == function and one.state == "Written"]
        written = {one.statement_id: one.fingerprint for one in ours} if arn is not None else {}
        return SeenPolicy(written, exists=arn is not None, is_read=False, function_arn=arn or "")

    def policies(self, function: str) -> LambdaPolicies:
        """The policies of the region of a function."""
        region = known_region(function.split(":")[3]) if function.startswith("arn:") else ""
        return LambdaPolicies(self.account.access.caller(region=region))

    def _own_entries(self, base: Base) -> tuple[OwnedStatement, ...]:
        """The inventory without statements that another object has as well, and more right to: a status may be forged.

        That is an object that asks for the statement, if this one does not, or the older of the two.
        """
        subject, asked = base.subject, set(statements_of(base.subject.tree))

        def is_anothers(entry: OwnedStatement) -> bool:
            claim = _claim(entry.function, entry.statement_id)
            others = self.claims.objects.find(STATEMENT, claim, besides=subject)
            return any(
                claim in _recorded(other.tree) and (claim not in asked or other.seniority < subject.seniority)
                for other in others
            )

        return tuple(entry for entry in base.snapshot.inventory if not is_anothers(entry))

    def _with_wishes(self, snapshot: Snapshot, namespace: str, spec: LambdaPermissionSpec) -> Snapshot:
        """Add the function and the statements of the spec, as far as what they refer to is known."""
        try:
            snapshot = replace(snapshot, function=self._function(namespace, spec.function_ref))
        except Wait as wait:
            snapshot = replace(snapshot, problem=wait)
        wanted, pending = list[Statement](), dict[str, Wait]()
        for permission in spec.permissions:
            try:
                wanted.append(self._statement(namespace, permission))
            except Wait as wait:
                pending[permission.statement_id] = wait
        return replace(snapshot, wanted=tuple(wanted), pending=pending)

    def _function(self, namespace: str, ref: FunctionRef) -> str:
        function = ref.function_name or ref.arn or ""
        if ref.name:
            obj = self.cluster.synced(FUNCTION, Key(namespace, ref.name))
            function = metadata(obj, "arn")
        return f"{function}:{ref.qualifier}" if ref.qualifier else function

    def _statement(self, namespace: str, permission: Permission) -> Statement:
        source = permission.source_arn or ""
        if ref := permission.source_ref:
            api = self.cluster.api(Key(namespace, ref.api_name))
            region = api.region or self.account.access.clients.region
            source = f"arn:{api.partition}:execute-api:{region}:{api.account}:{api.id}{ref.path}"
        return Statement(
            permission.statement_id,
            permission.principal,
            source,
            permission.source_account or "",
            permission.principal_org_id or "",
            permission.function_url_auth_type or "",
            permission.action,
        )


def functions_of(obj: JsonObject) -> list[Key]:
    """The ACK Functions that an object refers to. Accepts any content."""
    name = dig(obj, "spec", "functionRef", "name")
    return [Key(_namespace(obj), name)] if isinstance(name, str) else []


def apis_of(obj: JsonObject) -> list[Key]:
    """The ACK APIs that an object refers to. Accepts any content."""
    names = (dig(one, "sourceRef", "apiName") for one in dig_list(obj, "spec", "permissions"))
    return [Key(_namespace(obj), name) for name in names if isinstance(name, str)]


def statements_of(obj: JsonObject) -> list[str]:
    """The statements that an object claims, by function: the resolved one, or the one of the spec."""
    named = (dig(obj, "spec", "functionRef", field) for field in ("arn", "functionName"))
    function = str(dig(obj, "status", "functionArn") or next((one for one in named if one), "") or "")
    qualifier = str(dig(obj, "spec", "functionRef", "qualifier") or "")
    ids = (dig(one, "statementId") for one in dig_list(obj, "spec", "permissions"))
    where = f"{function}:{qualifier}" if qualifier else function
    return [_claim(where, id_) for id_ in ids if isinstance(id_, str) and function]


def _recorded(obj: JsonObject) -> list[str]:
    """The statements in the inventory of an object. Accepts any content."""
    entries = dig_list(obj, "status", "inventory")
    return [_claim(str(dig(one, "function")), str(dig(one, "statementId"))) for one in entries]


def _claim(function: str, statement_id: str) -> str:
    """A statement of a function that is given by its name or ARN, with or without a qualifier."""
    return f"{function.rpartition(':function:')[2]}/{statement_id}"


def _namespace(obj: JsonObject) -> str:
    return str(dig(obj, "metadata", "namespace") or "")
