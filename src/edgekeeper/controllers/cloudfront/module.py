"""Register DistributionTenant with the process: its flags, controller and preview.

What the controllers consist of is imported when one is built: processes without this kind do not load it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.api.definition import CustomKind
from edgekeeper.controllers.cloudfront.details import tenant_details
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.predecessor import CLOUDFRONT_TENANT_OPERATOR
from edgekeeper.controllers.cloudfront.rbac import ELSEWHERE, TENANTS
from edgekeeper.controllers.cloudfront.remedies import REMEDIES
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
    kind_of,
)
from edgekeeper.lifecycle.naming import parse_template
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.lifecycle.relations import Details
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.sources import Mapped

if TYPE_CHECKING:
    from edgekeeper.controllers.cloudfront.wiring import TenantOptions

NAME: Final = "distributiontenant"
KIND: Final = kind_of(DISTRIBUTION_TENANT)


class TenantModule(PlannableModule, ClaimingModule):
    """The kind DistributionTenant of CloudFront."""

    name: ClassVar = NAME
    definition: ClassVar[CustomKind] = DISTRIBUTION_TENANT
    clouds: ClassVar = frozenset({Cloud.AWS})
    examples: ClassVar = ("quickstart/20-tenants.yaml",)
    rules: ClassVar = TENANTS
    rules_elsewhere: ClassVar = ELSEWHERE
    remedies: ClassVar = REMEDIES
    predecessor: ClassVar = CLOUDFRONT_TENANT_OPERATOR
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
        from edgekeeper.controllers.cloudfront.wiring import tenant_controller  # noqa: PLC0415 # as above

        options = tenant_options(process.options, values)
        return tenant_controller(process.services, process.aws, process.registry, options, process.claims)

    def claims_elsewhere(self, process: Process, values: FlagValues) -> KindElsewhere:
        from edgekeeper.controllers.cloudfront.claims import register_elsewhere  # noqa: PLC0415 # as above

        register_elsewhere(process.claims, KIND, tenant_options(process.options, values).guards)
        return KindElsewhere(KIND, (Mapped(KIND, lambda _: ()),))

    def details(self, obj: JsonObject) -> Details:
        return tenant_details(obj)

    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        from edgekeeper.controllers.cloudfront.account import CloudFrontAccount  # noqa: PLC0415 # as above
        from edgekeeper.controllers.cloudfront.preview import preview_tenants  # noqa: PLC0415 # as above

        options = tenant_options(process.options, values)
        account = CloudFrontAccount(process.aws)
        return await preview_tenants(account, process.claims, options, objects, keys)


def tenant_options(common: CommonOptions, values: FlagValues) -> TenantOptions:
    """The options of the controller, from the common options and the flags of this kind."""
    from edgekeeper.controllers.cloudfront.wiring import TenantOptions  # noqa: PLC0415 # as above

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
