"""Register OperatorConfig, and the Deployments of workers, with the process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from edgekeeper.api.definition import CustomKind
from edgekeeper.api.zerotrust_operator_config import OPERATOR_CONFIG
from edgekeeper.controllers.zerotrust import operator_config, operator_workers_reconciler, rbac
from edgekeeper.controllers.zerotrust.operator_config_preview import preview_configs
from edgekeeper.controllers.zerotrust.operator_config_reconciler import OperatorConfigController
from edgekeeper.controllers.zerotrust.operator_workers_reconciler import WorkersController
from edgekeeper.controllers.zerotrust.remedies import REMEDIES
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import DEPLOYMENT, Key, Kind
from edgekeeper.lifecycle.module import Cloud, FlagValues, KindModule, PlannableModule, Process, Role
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.runtime.controller import Controller


class OperatorConfigModule(PlannableModule):
    """CloudflareZeroTrustOperatorConfig: how the operator's own Deployments are run."""

    name: ClassVar = operator_config.NAME
    definition: ClassVar[CustomKind | None] = OPERATOR_CONFIG
    role: ClassVar = Role.MANAGER
    clouds: ClassVar = frozenset[Cloud]()
    examples: ClassVar = ("zero-trust/50-operator-config.yaml",)
    rules: ClassVar = rbac.CONFIGS
    remedies: ClassVar = REMEDIES

    def build(self, process: Process, values: FlagValues) -> Controller:
        return OperatorConfigController(process.services, process.options)

    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        return await preview_configs(process.services.client, process.options, objects, keys)


class OperatorWorkersModule(KindModule):
    """The Deployments of workers, where the operator is split into roles."""

    name: ClassVar = operator_workers_reconciler.NAME
    foreign_kind: ClassVar[Kind | None] = DEPLOYMENT
    role: ClassVar = Role.MANAGER
    rules: ClassVar = rbac.WORKERS
    remedies: ClassVar = REMEDIES
    clouds: ClassVar = frozenset[Cloud]()

    def build(self, process: Process, values: FlagValues) -> Controller:
        return WorkersController(process.services, process.options)
