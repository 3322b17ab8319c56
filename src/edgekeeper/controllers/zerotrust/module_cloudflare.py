"""Register the controllers of the role cloudflare-worker with the process: tasks, drift, tenants.

What the controllers consist of is imported when one is built: processes without them do not load it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from edgekeeper.api.definition import CustomKind
from edgekeeper.api.zerotrust import ZERO_TRUST_TENANT
from edgekeeper.api.zerotrust_task import CLOUDFLARE_TASK
from edgekeeper.controllers.zerotrust import rbac
from edgekeeper.controllers.zerotrust.predecessor import CLOUDFLARE_ZERO_TRUST_OPERATOR
from edgekeeper.controllers.zerotrust.relations import (
    task_details,
    task_relations,
    tenant_details,
    tenant_relations,
)
from edgekeeper.controllers.zerotrust.remedies import REMEDIES
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.readiness import Readiness
from edgekeeper.kube.kinds import CONFIG_MAP, Key, Kind
from edgekeeper.lifecycle.module import Cloud, FlagValues, KindModule, PlannableModule, Process, Role
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.lifecycle.relations import Details, Reader, Relation
from edgekeeper.runtime.controller import Controller

if TYPE_CHECKING:
    from edgekeeper.controllers.zerotrust.worker import CloudflareWorker


class CloudflareWorkerModule(KindModule):
    """A controller of the role cloudflare-worker."""

    role: ClassVar = Role.CLOUDFLARE_WORKER
    clouds: ClassVar = frozenset({Cloud.CLOUDFLARE})
    remedies: ClassVar = REMEDIES
    predecessor: ClassVar = CLOUDFLARE_ZERO_TRUST_OPERATOR


class TaskModule(CloudflareWorkerModule):
    """CloudflareTask: what has to be done at Cloudflare for a route."""

    name: ClassVar = "cloudflaretask"
    definition: ClassVar[CustomKind | None] = CLOUDFLARE_TASK
    rules: ClassVar = rbac.TASKS

    def build(self, process: Process, values: FlagValues) -> Controller:
        return _worker(process).tasks(process.services)

    def details(self, obj: JsonObject) -> Details:
        return task_details(obj)

    async def relations(self, obj: JsonObject, reader: Reader) -> Sequence[Relation]:
        return task_relations(obj)

    def readiness(self, obj: JsonObject) -> Readiness:
        phase = str(dig(obj, "status", "phase") or "Pending")
        return Readiness(phase == "Completed", phase, str(dig(obj, "status", "message") or ""))


class DriftModule(CloudflareWorkerModule):
    """Compares what was applied for a route with what is there."""

    name: ClassVar = "cloudflaredrift"
    foreign_kind: ClassVar[Kind | None] = CONFIG_MAP
    rules: ClassVar = rbac.DRIFT

    def build(self, process: Process, values: FlagValues) -> Controller:
        return _worker(process).drift(process.services)


class TenantModule(CloudflareWorkerModule, PlannableModule):
    """CloudflareZeroTrustTenant: an account, a tunnel in it, and the token to use."""

    name: ClassVar = "cloudflarezerotrusttenant"
    definition: ClassVar[CustomKind | None] = ZERO_TRUST_TENANT
    examples: ClassVar = ("zero-trust/10-tenant.yaml",)
    rules: ClassVar = rbac.TENANTS

    def build(self, process: Process, values: FlagValues) -> Controller:
        return _worker(process).tenants(process.services)

    def details(self, obj: JsonObject) -> Details:
        return tenant_details(obj)

    async def relations(self, obj: JsonObject, reader: Reader) -> Sequence[Relation]:
        return tenant_relations(obj)

    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        from edgekeeper.controllers.zerotrust.tenant_preview import preview_tenants  # noqa: PLC0415 # as above

        return await preview_tenants(process, objects, keys)


def _worker(process: Process) -> CloudflareWorker:
    """The worker that all these controllers belong to."""
    from edgekeeper.controllers.zerotrust.process_worker import cloudflare_worker  # noqa: PLC0415 # as above

    return process.once(cloudflare_worker)
