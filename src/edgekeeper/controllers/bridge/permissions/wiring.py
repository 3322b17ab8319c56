"""Build the controller of LambdaPermissions, and register the kind with the process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from edgekeeper.api.definition import CustomKind
from edgekeeper.api.lambda_permission import LAMBDA_PERMISSION, PERMISSION_FINALIZER
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.controllers.bridge.ack import API, FUNCTION
from edgekeeper.controllers.bridge.cluster import Cluster
from edgekeeper.controllers.bridge.controller import (
    ACK_BRIDGE,
    BridgeController,
    Surroundings,
    list_references,
)
from edgekeeper.controllers.bridge.metrics import bridge_metrics
from edgekeeper.controllers.bridge.permissions.kind import PermissionKind
from edgekeeper.controllers.bridge.permissions.observe import (
    KIND,
    STATEMENT,
    Observer,
    apis_of,
    functions_of,
    statements_of,
)
from edgekeeper.controllers.bridge.rbac import PERMISSIONS
from edgekeeper.controllers.bridge.relations import permission_details, permission_relations
from edgekeeper.controllers.bridge.remedies import REMEDIES
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.claims import Claims, ClaimSource
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.module import Cloud, FlagValues, KindOptions, PlannableModule, Process
from edgekeeper.lifecycle.preview import Preview, Previewer, store_of
from edgekeeper.lifecycle.relations import Details, Reader, Relation
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.controller import Controller

NAME: Final = "lambdapermission"


def permission_kind(
    account: AwsAccount, cluster: Cluster, claims: Claims, memory: Memory, options: KindOptions
) -> PermissionKind:
    """Build the kind, and register its claims with those of all kinds."""
    claims.register(ClaimSource(KIND, {STATEMENT: statements_of}))
    observer = Observer(account, cluster, claims, memory, options.drift_policy, options.lost_clusters)
    return PermissionKind(observer)


def permission_cluster() -> Cluster:
    """What the cluster has that LambdaPermissions refer to."""
    return Cluster(KIND, {FUNCTION: functions_of, API: apis_of})


def permission_controller(around: Surroundings) -> BridgeController:
    """Build the controller."""
    memory, cluster = Memory(around.services.clock), permission_cluster()
    kind = permission_kind(around.account, cluster, around.claims, memory, around.options)
    return BridgeController(NAME, PERMISSION_FINALIZER, kind, cluster, memory, around)


class PermissionModule(PlannableModule):
    """The kind LambdaPermission."""

    name: ClassVar = NAME
    definition: ClassVar[CustomKind] = LAMBDA_PERMISSION
    clouds: ClassVar = frozenset({Cloud.AWS})
    examples: ClassVar = ("bridge/20-permission.yaml",)
    rules: ClassVar = PERMISSIONS
    remedies: ClassVar = REMEDIES
    predecessor: ClassVar = ACK_BRIDGE

    def build(self, process: Process, values: FlagValues) -> Controller:
        options, metrics = KindOptions.of(process.options), process.once(bridge_metrics)
        return permission_controller(
            Surroundings(process.services, process.aws, process.claims, metrics, options)
        )

    def details(self, obj: JsonObject) -> Details:
        return permission_details(obj)

    async def relations(self, obj: JsonObject, reader: Reader) -> Sequence[Relation]:
        return permission_relations(obj)

    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        async def listed(_: Request) -> None:
            """There is nothing to list."""

        store = await store_of(KIND, objects)
        process.claims.objects.follow(KIND, [store])
        cluster = permission_cluster()
        await list_references(process.services.client, cluster)
        options, memory = KindOptions.of(process.options), Memory(process.services.clock)
        kind = permission_kind(process.aws, cluster, process.claims, memory, options)
        return await Previewer(kind, store, listed).preview(keys)
