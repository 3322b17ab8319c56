"""Register DistributionTenant with the process: its flags, controller and preview."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.api.definition import CustomKind
from edgekeeper.controllers.cloudfront.account import CloudFrontAccount
from edgekeeper.controllers.cloudfront.claims import register_elsewhere
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.preview import preview_tenants
from edgekeeper.controllers.cloudfront.rbac import ELSEWHERE, TENANTS
from edgekeeper.controllers.cloudfront.wiring import KIND, NAME, TenantOptions, tenant_controller
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.claims_elsewhere import KindElsewhere
from edgekeeper.lifecycle.module import (
    ClaimingModule,
    Cloud,
    CommonOptions,
    Flag,
    FlagValues,
    PlannableModule,
    Process,
)
from edgekeeper.lifecycle.naming import parse_template
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.sources import Mapped


class TenantModule(PlannableModule, ClaimingModule):
    """The kind DistributionTenant of CloudFront."""

    name: ClassVar = NAME
    definition: ClassVar[CustomKind] = DISTRIBUTION_TENANT
    clouds: ClassVar = frozenset({Cloud.AWS})
    examples: ClassVar = ("quickstart/20-tenants.yaml",)
    rules: ClassVar = TENANTS
    rules_elsewhere: ClassVar = ELSEWHERE
    written_fields: ClassVar = (
        (("spec", "customizations", "certificate", "arn"), ("status", "certificateArn")),
    )
    flags: ClassVar = (
        Flag(
            "--tenant-name-template",
            "Names of tenants in CloudFront; may contain {name}, {namespace} and {cluster} of the object.",
            metavar="TEMPLATE",
            default="{name}",
            parse=partial(parse_template, noun="tenants"),
        ),
        Flag(
            "--allowed-distributions",
            "Allow objects to name only these distributions. Repeatable.  [default: any]",
            metavar="ID",
            multiple=True,
        ),
        Flag(
            "--allowed-connection-groups",
            "Allow objects to name only these connection groups. Repeatable.  [default: any]",
            metavar="ID",
            multiple=True,
        ),
    )

    def build(self, process: Process, values: FlagValues) -> Controller:
        options = tenant_options(process.options, values)
        return tenant_controller(process.services, process.aws, process.registry, options, process.claims)

    def claims_elsewhere(self, process: Process, values: FlagValues) -> KindElsewhere:
        register_elsewhere(process.claims, KIND, tenant_options(process.options, values).guards)
        return KindElsewhere(KIND, (Mapped(KIND, lambda _: ()),))

    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        options = tenant_options(process.options, values)
        account = CloudFrontAccount(process.aws)
        return await preview_tenants(account, process.claims, options, objects, keys)


def tenant_options(common: CommonOptions, values: FlagValues) -> TenantOptions:
    """The options of the controller, from the common options and the flags of this kind."""
    return TenantOptions.of(
        common,
        tenant_name_template=values.get("tenant_name_template") or "{name}",
        guards=Guards(
            role_arns=common.role_arns,
            hosted_zones=common.hosted_zones,
            hostnames=common.hostnames,
            distributions=frozenset(values.get("allowed_distributions", ())) or None,
            connection_groups=frozenset(values.get("allowed_connection_groups", ())) or None,
        ),
    )
