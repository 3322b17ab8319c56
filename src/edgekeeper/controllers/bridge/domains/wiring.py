"""Build the controller of APIGatewayDomains, and register the kind with the process.

An object is requeued by its own watch, by objects of any kind that claim its domain, by its API, by ReferenceGrants, by the
objects of ACK that are made for it, and by the writer of its zone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from edgekeeper.api.bridge import API_GATEWAY_DOMAIN, DOMAIN_FINALIZER
from edgekeeper.api.definition import CustomKind
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.controllers.bridge import ack
from edgekeeper.controllers.bridge.cluster import Cluster
from edgekeeper.controllers.bridge.controller import (
    ACK_BRIDGE,
    BridgeController,
    Surroundings,
    list_references,
)
from edgekeeper.controllers.bridge.domains.children import KINDS
from edgekeeper.controllers.bridge.domains.kind import DomainKind
from edgekeeper.controllers.bridge.domains.observe import KIND, Observer, apis_of, children_of
from edgekeeper.controllers.bridge.domains.perform import Performer
from edgekeeper.controllers.bridge.metrics import bridge_metrics
from edgekeeper.controllers.bridge.rbac import DOMAINS, DOMAINS_ELSEWHERE
from edgekeeper.controllers.bridge.relations import domain_details, domain_relations
from edgekeeper.controllers.bridge.remedies import REMEDIES
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.ownership import is_owned, parse_tags
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.claims import HOSTNAME, Claim, Claims, ClaimSource, Proof
from edgekeeper.lifecycle.claims_elsewhere import KindElsewhere
from edgekeeper.lifecycle.guards import Limits
from edgekeeper.lifecycle.importing import ImportRequest, ImportResult
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.module import (
    ClaimingModule,
    Cloud,
    CommonOptions,
    Flag,
    FlagValues,
    ImportableModule,
    KindOptions,
    PlannableModule,
    Process,
)
from edgekeeper.lifecycle.preview import Preview, Previewer, store_of
from edgekeeper.lifecycle.record_claims import RecordSource, ZoneUse, status_zones
from edgekeeper.lifecycle.relations import Details, Reader, Relation
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.sources import Mapped

NAME: Final = "apigatewaydomain"
MODES: Final = ("auto", "ack", "direct")


@dataclass(frozen=True)
class DomainOptions(KindOptions):
    """The options of the controller."""

    mode: str = "auto"
    """`ack`: through objects of ACK. `direct`: through AWS. `auto`: `ack` if ACK's DomainName is installed."""
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def chosen(cls, common: CommonOptions, values: FlagValues) -> DomainOptions:
        limits = Limits(common.role_arns, common.hosted_zones, common.hostnames)
        return cls.of(common, mode=values.get("bridge_mode") or "auto", limits=limits)


def domain_cluster() -> Cluster:
    """What the cluster has that APIGatewayDomains refer to, or are made of."""
    return Cluster(KIND, {ack.API: apis_of, **dict.fromkeys(KINDS.values(), children_of)})


def domain_kind(
    account: AwsAccount,
    cluster: Cluster,
    claims: Claims,
    memory: Memory,
    client: KubeClient,
    options: DomainOptions,
) -> DomainKind:
    """Build the kind, and register its claims with those of all kinds."""
    observer = Observer(
        account,
        cluster,
        claims,
        memory,
        options.limits,
        options.owner_of,
        options.drift_policy,
        options.mode,
    )

    async def proof(claim: Claim) -> Proof:
        """Who has the domain name in AWS, by its tags?"""
        found = await observer.gateway("").find_domain(claim.value)
        mark = parse_tags(found.tags) if found is not None else None
        return lambda obj: mark is not None and is_owned(mark, options.owner_of(obj))

    claims.register(_claims_of(options, proof))
    claims.records.register(RecordSource(KIND, zones=_zones))
    return DomainKind(observer, Performer(observer, client))


def domain_controller(around: Surroundings, options: DomainOptions) -> BridgeController:
    """Build the controller."""
    memory, cluster, services = Memory(around.services.clock), domain_cluster(), around.services
    kind = domain_kind(around.account, cluster, around.claims, memory, services.client, options)
    return BridgeController(NAME, DOMAIN_FINALIZER, kind, cluster, memory, around)


class DomainModule(PlannableModule, ClaimingModule, ImportableModule):
    """The kind APIGatewayDomain."""

    name: ClassVar = NAME
    definition: ClassVar[CustomKind] = API_GATEWAY_DOMAIN
    clouds: ClassVar = frozenset({Cloud.AWS})
    examples: ClassVar = ("bridge/30-domain.yaml",)
    rules: ClassVar = DOMAINS
    rules_elsewhere: ClassVar = DOMAINS_ELSEWHERE
    remedies: ClassVar = REMEDIES
    predecessor: ClassVar = ACK_BRIDGE

    @staticmethod
    def _mode(text: str) -> str:
        if text not in MODES:
            raise ValueError(f"{text!r} is not one of {', '.join(MODES)}")
        return text

    flags: ClassVar = (
        Flag(
            "--bridge-mode",
            "How domain names are made: ack (objects of ACK), direct (calls of AWS), or auto: ack if ACK is installed.",
            metavar="MODE",
            default="auto",
            parse=_mode,
        ),
    )

    import_name: ClassVar = "domains"
    import_summary: ClassVar = "Write APIGatewayDomains for the domain names that API Gateway has."
    import_examples: ClassVar = (
        ("edgekeeper import domains -n apis --output domains.yaml", "all domain names of the region"),
        ("edgekeeper import domains --select 'orders.*'", "some of them"),
    )
    import_clouds: ClassVar = frozenset({Cloud.AWS})
    import_marks: ClassVar = "the tags edgekeeper.io/cluster, /namespace, /name and /uid of each domain name"

    def build(self, process: Process, values: FlagValues) -> Controller:
        options, metrics = DomainOptions.chosen(process.options, values), process.once(bridge_metrics)
        around = Surroundings(process.services, process.aws, process.claims, metrics, options)
        return domain_controller(around, options)

    def claims_elsewhere(self, process: Process, values: FlagValues) -> KindElsewhere:
        process.claims.register(_claims_of(DomainOptions.chosen(process.options, values), _proof_by_status))
        return KindElsewhere(KIND, (Mapped(KIND, lambda _: ()),))

    def details(self, obj: JsonObject) -> Details:
        return domain_details(obj)

    async def relations(self, obj: JsonObject, reader: Reader) -> Sequence[Relation]:
        return await domain_relations(obj, reader)

    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        account, client = process.aws, process.services.client
        store, cluster = await store_of(KIND, objects), domain_cluster()
        process.claims.objects.follow(KIND, [store])
        await list_references(client, cluster)
        options, memory = DomainOptions.chosen(process.options, values), Memory(process.services.clock)
        kind = domain_kind(account, cluster, process.claims, memory, client, options)

        async def listed(request: Request) -> None:
            dns, domain = account.dns, str(dig(request.object, "spec", "domain"))
            named = dig(request.object, "spec", "dnsConfig", "hostedZoneId")
            zone = str(named or await dns.directory.zone_of(normalise_name(domain)))
            await dns.zone(zone, "").mirror.wait_listed()

        async def confirm() -> None:
            """There is nothing that must be listed before."""

        return await Previewer(kind, store, listed).preview_beside(account, confirm, keys)

    async def import_resources(
        self, process: Process, values: FlagValues, request: ImportRequest
    ) -> list[ImportResult]:
        from edgekeeper.controllers.bridge.domains.import_reading import import_domains  # noqa: PLC0415 # only this command needs it

        return await import_domains(process, DomainOptions.chosen(process.options, values).limits, request)


def _claims_of(options: DomainOptions, proof: Callable[[Claim], Awaitable[Proof]]) -> ClaimSource:
    """The claims of objects to their domains, as far as administrators allow them."""

    def may_claim(obj: JsonObject) -> bool:
        namespace = str(dig(obj, "metadata", "namespace") or "")
        return options.limits.hostname_policy.allows(namespace, _hostnames(obj))

    return ClaimSource(KIND, {HOSTNAME: _hostnames}, may_claim, proof)


async def _proof_by_status(_: Claim) -> Proof:
    """Who says that it has a domain name of its own, for a process that does not call AWS."""
    return lambda obj: dig(obj, "status", "managed") is True


def _hostnames(obj: JsonObject) -> list[str]:
    domain = dig(obj, "spec", "domain")
    return [normalise_name(domain)] if isinstance(domain, str) else []


def _zones(obj: JsonObject) -> Iterator[ZoneUse]:
    """The zones in which an object has records, waits for changes, or wants records."""
    yield from status_zones(obj)
    for zone in (dig(obj, "spec", "dnsConfig", "hostedZoneId"), dig(obj, "status", "hostedZoneId")):
        if isinstance(zone, str) and zone:
            yield ZoneUse(zone)
