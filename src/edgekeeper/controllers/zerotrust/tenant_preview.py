"""Preview of tenants for `edgekeeper plan`: nothing is done for them, but their token and tunnel may have to be corrected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from edgekeeper.controllers.zerotrust.credentials import CREDENTIAL_NOT_FOUND
from edgekeeper.controllers.zerotrust.process_worker import looking
from edgekeeper.controllers.zerotrust.task_preview import once_listed
from edgekeeper.controllers.zerotrust.tenant_kind import API_ERROR, TenantReconciler
from edgekeeper.controllers.zerotrust.worker import TENANT
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.module import Process
from edgekeeper.lifecycle.preview import Preview, Verdict
from edgekeeper.runtime.contract import Request


async def preview_tenants(
    process: Process, objects: Iterable[JsonObject], keys: Sequence[Key]
) -> list[Preview]:
    """Preview the tenants of `keys`: whether their tokens work."""
    tenants = {Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for obj in objects}
    async with looking(process) as worker:
        if worker is None:
            return []
        reports = worker.tenant_reports()
        return [await _preview(reports, key, tenants[key]) for key in keys]


async def _preview(reports: TenantReconciler, key: Key, tenant: JsonObject) -> Preview:
    request = Request(key, msgspec.json.encode(tenant), tenant, reconcile_id="")
    try:
        wishes = Wishes.of(tenant)
        wishes.confirm()
        if wishes.paused:
            return Preview(TENANT.kind, key, Verdict.PAUSED)
        await once_listed(lambda: reports.reconcile(request))
    except PassError as error:
        reason = error.reason if error.reason == CREDENTIAL_NOT_FOUND else API_ERROR
        return Preview.refused(TENANT.kind, key, Stall(reason, error.message))
    except msgspec.ValidationError as error:
        return Preview.refused(TENANT.kind, key, Stall("ValidationFailed", str(error)))
    return Preview(TENANT.kind, key, Verdict.SETTLED)
