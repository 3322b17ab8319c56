"""Everything that a decision about one tenant depends on, seen at one moment.

What is None is known to be absent; what could not be found out is said to be unknown, and never taken for absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgekeeper.api.cloudfront import DistributionTenantSpec, DistributionTenantStatus
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.dns.state import RecordState
from edgekeeper.cloud.aws.tenants import DistributionTenant, ManagedCertificate, TenantSummary
from edgekeeper.core.drift import Policy
from edgekeeper.core.ownership import Owner
from edgekeeper.core.steps import Sight
from edgekeeper.lifecycle.claims import Rival


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
    is_announced: bool = False
    """Does the status say, of this very moment, that a tenant is about to be created?"""
    may_correct: bool = True
    """False where corrections of drift have been undone again and again."""
    deleting: bool = False

    is_contested: bool = False
    """Has CloudFront said that a domain of the present spec is another's?"""
    rivals: tuple[Rival, ...] = ()
    refusals: tuple[str, ...] = ()
    """What administrators do not allow."""

    tenant: TenantSummary | None = None
    """With parameters and tags (`DistributionTenant`) where those were needed."""
    leading: Mapping[str, str] = field(default_factory=dict)
    """Domains of a tenant that is being deleted to which records of other objects lead, and those objects."""
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
    records: RecordState = field(default_factory=RecordState)
    """The records of the domains."""

    @property
    def details(self) -> DistributionTenant | None:
        """The tenant with its parameters and tags, where they were read."""
        return self.tenant if isinstance(self.tenant, DistributionTenant) else None

    @property
    def exists(self) -> bool:
        return self.tenant is not None

    @property
    def sight(self) -> Sight:
        """How well the tenant was seen. That one is gone which was there is believed only after a live read."""
        if self.is_live:
            return Sight.LIVE
        is_certain = self.tenant is None or self.details is not None
        return Sight.READ if is_certain and not self.is_missed else Sight.CACHED

    @property
    def served(self) -> frozenset[str]:
        """The domains that the tenant has."""
        return (
            frozenset(normalise_name(domain.domain) for domain in self.tenant.domains)
            if self.tenant
            else frozenset()
        )

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
