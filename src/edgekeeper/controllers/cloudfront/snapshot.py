"""Everything that a decision about one tenant depends on, observed in one pass.

A field that is None means that the thing does not exist. Where it could not be read, another field says so: unknown is
never treated as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgekeeper.api.cloudfront import DistributionTenantSpec, DistributionTenantStatus
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.dns.state import RecordState
from edgekeeper.cloud.aws.tenants import DistributionTenant, ManagedCertificate, TenantSummary
from edgekeeper.controllers.cloudfront.validation import spec_problems
from edgekeeper.core.drift import Policy
from edgekeeper.core.ownership import Owner
from edgekeeper.core.steps import Sight
from edgekeeper.lifecycle.claims import Rival


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One tenant: its desired state, its observed state, and the results of pending record changes."""

    owner: Owner
    tenant_name: str
    generation: int
    spec: DistributionTenantSpec
    status: DistributionTenantStatus
    policy: Policy
    may_adopt: bool = False
    may_tag: bool = True
    """False if IAM denies tagging: then only the status records which tenant is ours."""
    is_announced: bool = False
    """Does the status have a recent `creationStarted`?"""
    may_correct: bool = True
    """False while drift corrections are held back because somebody undoes them repeatedly."""
    deleting: bool = False

    is_contested: bool = False
    """Has CloudFront refused a domain of the current generation because another tenant has it?"""
    rivals: tuple[Rival, ...] = ()
    refusals: tuple[str, ...] = ()
    """What the limits of administrators do not allow in this spec, as messages."""

    tenant: TenantSummary | None = None
    """A `DistributionTenant`, with parameters and tags, if those were read."""
    leading: Mapping[str, str] = field(default_factory=dict)
    """Domains of a tenant being deleted that have records of other objects, and the names of those objects."""
    is_live: bool = False
    """Was the tenant read from CloudFront in this pass, so that it may be changed?"""
    taken: frozenset[str] = frozenset()
    """Domains of the spec that another tenant serves, by the last listing."""
    losses: tuple[str, ...] = ()
    """Reasons, as messages, why an untagged tenant must not become ours: its domains that others may claim."""
    certificate: ManagedCertificate | None = None
    """The certificate that CloudFront manages for the tenant."""
    managed_names: tuple[str, ...] | None = None
    """The names of that certificate; None if they are not known."""
    attached_is_managed: bool = False
    """Is the certificate that the spec names managed by CloudFront, so that its successor may replace it?"""
    attached_has_failed: bool = False
    """Has that certificate expired, been revoked or failed? CloudFront accepts no update that names it."""
    certificate_is_anothers: bool = False
    """Does the spec name a certificate that CloudFront manages for another tenant?"""
    distribution: Distribution | None = None
    distribution_known: bool = False
    """False if IAM denies reading it: its requirements are then checked by CloudFront only."""
    certificate_names: tuple[str, ...] | None = None
    """The names of the certificate that the tenant would use; None if they are not known."""
    group: ConnectionGroup | None = None
    """The connection group whose endpoint records point to: the spec's, the tenant's, or the account's default."""
    group_known: bool = False
    """False if the group was not looked up by its id, or IAM denies reading it: CloudFront alone checks it then."""
    records: RecordState = field(default_factory=RecordState)
    """The DNS records of the object."""

    @property
    def details(self) -> DistributionTenant | None:
        """The tenant with its parameters and tags; None if they were not read."""
        return self.tenant if isinstance(self.tenant, DistributionTenant) else None

    @property
    def exists(self) -> bool:
        return self.tenant is not None

    @property
    def sight(self) -> Sight:
        """How reliable the observation is. A tenant that existed counts as gone only after a live read."""
        if self.is_live:
            return Sight.LIVE
        is_certain = self.tenant is None or self.details is not None
        return Sight.READ if is_certain and not self.is_missed else Sight.CACHED

    @property
    def served(self) -> frozenset[str]:
        """The domains that the tenant serves."""
        return self.tenant.served if self.tenant else frozenset()

    @property
    def endpoint(self) -> str:
        """The target of records; empty if it is not known."""
        return normalise_name(self.group.routing_endpoint) if self.group else ""

    @property
    def is_refused(self) -> bool:
        """Does another object take precedence, or is the spec invalid or not allowed?"""
        return bool(self.rivals or self.refusals or spec_problems(self.tenant_name, self.spec))

    @property
    def is_disputed(self) -> bool:
        """Does a domain of the spec seem to belong to another tenant? Only CloudFront's answer to a call is certain."""
        return self.is_contested or bool(self.taken)

    @property
    def names_follow(self) -> bool:
        """Is the tenant created before its records? So it is if there is no target yet, or a domain is disputed."""
        return self.spec.dns is not None and (not self.endpoint or self.is_disputed)

    @property
    def is_missed(self) -> bool:
        """Is the tenant missing although a generation of this object was applied before?"""
        return self.tenant is None and self.status.observed_generation is not None

    @property
    def was_created(self) -> bool:
        """Does the status have the id of a tenant?"""
        return bool(self.status.id)
