"""Everything that a decision about one tenant depends on, seen at one moment.

What is None is known to be absent; what could not be found out is said to be unknown, and never taken for absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from edgekeeper.api.cloudfront import (
    DistributionTenantSpec,
    DistributionTenantStatus,
    DnsChange,
    InventoryRecord,
)
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.records import Record, RecordKey, normalise_name
from edgekeeper.cloud.aws.tenants import DistributionTenant, ManagedCertificate, TenantSummary
from edgekeeper.controllers.cloudfront.desired import Place
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.ownership import Owner


@dataclass(frozen=True, slots=True)
class Rival:
    """Another object of this cluster that claims the same thing, with the better right."""

    claim: Literal["name", "domain"]
    value: str
    holder: str
    """As `namespace/name`."""
    holds: bool = False
    """Whether its tenant has the name or serves the domain; otherwise it is older."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that may not be written or removed, for now."""

    entry: InventoryRecord
    removing: bool
    error: Stall


@dataclass(frozen=True, slots=True)
class DnsWork:
    """Records that were handed to the writers of their zones."""

    pending: bool = False
    """Not all of them have an answer."""
    changes: tuple[DnsChange, ...] = ()
    """The batches that wrote them."""
    error: PassError | None = None
    """What one of them met that will pass by itself."""
    refused: tuple[Refusal, ...] = ()
    """What a person has to see to; not tried again while it is listed here."""
    removed: int = 0
    """How many are gone that the status still has."""
    left: tuple[str, ...] = ()
    """Records that were to be removed, but somebody has changed them since they were written."""


@dataclass(frozen=True, slots=True)
class ZoneView:
    """The records of a zone, as far as they concern a tenant."""

    apex: str
    """The zone's own name; empty where it is not known."""
    records: Mapping[RecordKey, Record] | None
    """None where the zone may not be listed."""
    refusal: Stall | None = None
    """Why nothing at all can be done in the zone: AWS does not let us assume the role for it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One tenant: what is wanted, what is there, and what is on its way."""

    owner: Owner
    tenant_name: str
    generation: int
    spec: DistributionTenantSpec
    status: DistributionTenantStatus
    policy: Policy
    may_adopt: bool = False
    may_tag: bool = True
    """False where AWS does not let us: then the status alone says whose a tenant is."""
    may_correct: bool = True
    """False where corrections of drift have been undone again and again."""
    deleting: bool = False

    is_contested: bool = False
    """Did the last pass end with CloudFront saying that a domain of the present spec is another's?"""
    rivals: tuple[Rival, ...] = ()
    recorded: Mapping[Place, str] = field(default_factory=dict)
    """Places that the spec asks for and the inventory of another object has, and of which."""
    refusals: tuple[str, ...] = ()
    """What administrators do not allow."""

    tenant: TenantSummary | None = None
    """With parameters and tags (`DistributionTenant`) where those were needed."""
    is_live: bool = False
    """Was the tenant read in this very pass, so that it may be changed?"""
    taken: frozenset[str] = frozenset()
    """Domains of the spec that another tenant serves, by the last listing."""
    losses: tuple[str, ...] = ()
    """What others would lose if the tenant, which bears no mark, became ours."""
    certificate: ManagedCertificate | None = None
    """The one that CloudFront manages for the tenant."""
    managed_names: tuple[str, ...] | None = None
    """The names of that certificate; None where they are not known."""
    attached_is_managed: bool = False
    """Is the certificate that the spec names one that CloudFront manages, so that its successor may take its place?"""
    attached_has_failed: bool = False
    """Has it expired, been revoked or the like? Then CloudFront takes no update that names it."""
    certificate_is_anothers: bool = False
    """Does the spec name a certificate that CloudFront manages for another tenant?"""
    distribution: Distribution | None = None
    distribution_known: bool = False
    """False where it may not be read. Then it is left to CloudFront what it requires."""
    certificate_names: tuple[str, ...] | None = None
    """The names of the certificate that the tenant would use; None where they are not known."""
    group: ConnectionGroup | None = None
    """Where records lead: the spec's connection group, or the account's default."""
    group_known: bool = False
    """False where the group of the spec was not looked for, or may not be read: it is left to CloudFront then."""
    zone: ZoneView | None = None
    """The zone of `spec.dns`."""
    inventory: tuple[InventoryRecord, ...] = ()
    """The status's, brought up to date with what writers have answered."""
    dns_work: DnsWork = field(default_factory=DnsWork)
    withheld: frozenset[InventoryRecord] = frozenset()
    """Entries whose names another's tenant serves at present: kept in the inventory, and neither removed nor replaced."""
    zone_problem: Stall | None = None
    """Why the zone of `spec.dns` cannot be read: a person must act."""
    dns_changes: tuple[DnsChange, ...] = ()
    """Changes of our records that may not have reached all name servers."""

    @property
    def details(self) -> DistributionTenant | None:
        """The tenant with its parameters and tags, where they were read."""
        return self.tenant if isinstance(self.tenant, DistributionTenant) else None

    @property
    def dns_in_sync(self) -> bool:
        """Have all changes of our records reached all name servers?"""
        return not self.dns_changes

    @property
    def change_id(self) -> str:
        """The last change of our records that the world may not know yet; empty where its id is not known."""
        return self.dns_changes[-1].id if self.dns_changes else ""

    @property
    def removable(self) -> tuple[InventoryRecord, ...]:
        """The entries of the inventory whose records may be removed or replaced."""
        return tuple(entry for entry in self.inventory if entry not in self.withheld)

    @property
    def endpoint(self) -> str:
        """Where records lead; empty where that is not known."""
        return normalise_name(self.group.routing_endpoint) if self.group else ""

    @property
    def is_disputed(self) -> bool:
        """Is a domain of the spec another's, as far as we know? Only CloudFront can tell for sure, so it is asked."""
        return self.is_contested or bool(self.taken)

    @property
    def names_follow(self) -> bool:
        """Is the tenant created before its records? Names must have somewhere to lead to, and that must be ours."""
        return self.spec.dns is not None and (not self.endpoint or self.is_disputed)

    @property
    def is_missed(self) -> bool:
        """Is there no tenant, though a spec of this object was carried out before?"""
        return self.tenant is None and self.status.observed_generation is not None

    @property
    def was_created(self) -> bool:
        """Did this object have a tenant before?"""
        return bool(self.status.id)
