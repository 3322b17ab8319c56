"""What one account has at CloudFront, and the rules that hold between its resources.

Operations ask this class for resources and tell it what to keep. Domains are unique over all accounts and kinds, so
their index belongs to the world. ETags are remembered for ever: one that a resource had before is out of date, one that
it never had is not valid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from kubesim.aws.acm.certificate import ISSUED, Certificate
from kubesim.aws.acm.store import Certificates
from kubesim.aws.cloudfront.resources import (
    DEPLOYED,
    IN_PROGRESS,
    ConnectionGroup,
    Distribution,
    ParameterDefinition,
    Tenant,
)
from kubesim.aws.errors import AwsError
from kubesim.aws.shelf import Shelf
from kubesim.aws.world import DomainOwner, World

TENANT = "distribution-tenant"
DISTRIBUTION = "distribution"
CNAME_TAKEN = "One or more of the CNAMEs you provided are already associated with a different resource."
STALE = "The request failed because it didn't meet the preconditions in one or more request-header fields."
NO_VERSION = "The If-Match version is missing or not valid for the resource."


class SavedCloudFront(msgspec.Struct):
    """What an account has. Which names and domains are taken follows from it."""

    distributions: list[Distribution]
    groups: list[ConnectionGroup]
    tenants: list[Tenant]
    certified: dict[str, str]
    etags: dict[str, str]


class CloudFront:
    """See the module."""

    def __init__(
        self, world: World, account: str, certificates: Certificates, peers: Callable[[str], CloudFront]
    ) -> None:
        self.world = world
        self.peers = peers
        """CloudFront as another account sees it."""
        self.account = account
        self.certificates = certificates
        self.tenants: Shelf[str, Tenant] = Shelf(world.time, lambda: world.behaviour.read_lag)
        self.groups: Shelf[str, ConnectionGroup] = Shelf(world.time, lambda: world.behaviour.read_lag)
        self.distributions: dict[str, Distribution] = {}
        self._tenant_names: dict[str, str] = {}
        self._certified: dict[str, str] = {}
        """The tenant of each managed certificate."""
        self._etags: dict[str, str] = {}
        """Every ETag ever given, and whose it was."""
        certificates.token_served = self._token_served
        certificates.users.append(self._uses)
        certificates.changed.append(self._certificate_changed)

    # --- For scenarios ---

    def add_distribution(
        self,
        name: str | None = None,
        *,
        parameters: Iterable[ParameterDefinition] = (),
        covers: Sequence[str] = ("example.com", "*.example.com"),
        aliases: Sequence[str] = (),
        tenant_only: bool = True,
    ) -> Distribution:
        """A distribution that is there already, with an issued certificate for what it `covers`."""
        world = self.world
        id_ = name or "E" + world.ids.upper(13)
        certificate = self.certificates.add_issued(*covers).arn if covers else None
        distribution = Distribution(
            id=id_,
            arn=f"arn:aws:cloudfront::{self.account}:distribution/{id_}",
            endpoint=self.new_endpoint(),
            etag=self.new_etag(id_),
            modified=world.time.now(),
            deployed_at=world.time.monotonic(),
            tenant_only=tenant_only,
            aliases=tuple(aliases),
            parameters=tuple(parameters),
            certificate=certificate,
        )
        self.claim(aliases, DISTRIBUTION, id_)
        self.distributions[id_] = distribution
        return distribution

    def change_tenant(self, identifier: str, **changes: Any) -> Tenant:
        """Somebody else edits a tenant, in the console say: any field of it."""
        tenant = self.tenant(identifier)
        return self.keep_tenant(replace(tenant, **changes))

    def change_distribution(self, name: str, **changes: Any) -> Distribution:
        """Somebody edits a distribution: any field of it."""
        time = self.world.time
        self.distributions[name] = replace(
            self.distribution(name),
            etag=self.new_etag(name),
            modified=time.now(),
            deployed_at=time.after(self.world.timings.distribution_deployment),
            **changes,
        )
        return self.distributions[name]

    def remove_tenant(self, identifier: str) -> None:
        """Somebody else deletes a tenant, enabled or not."""
        self.drop_tenant(self.tenant(identifier))

    # --- Finding ---

    def tenant(self, identifier: str) -> Tenant:
        """The present state of a tenant, by its id, name or ARN."""
        found = self.tenants.get(self.tenant_id(identifier))
        if found is None:
            raise AwsError("EntityNotFound", "The specified distribution tenant does not exist.")
        return found

    def tenant_seen(self, identifier: str) -> Tenant:
        """A tenant as a reader sees it."""
        found = self.tenants.seen(self.tenant_id(identifier))
        if found is None:
            raise AwsError("EntityNotFound", "The specified distribution tenant does not exist.")
        return found

    def tenant_id(self, identifier: str) -> str:
        last = identifier.rpartition("/")[2] if identifier.startswith("arn:") else identifier
        return self._tenant_names.get(last, last)

    def group(self, identifier: str) -> ConnectionGroup:
        """The present state of a connection group, by its id, name or ARN."""
        for group in self.groups.values():
            if identifier in (group.id, group.name, group.arn):
                return group
        raise AwsError("EntityNotFound", "The specified connection group does not exist.")

    def default_group(self) -> ConnectionGroup:
        """The group of tenants that name none. It appears with the first of them."""
        for group in self.groups.values():
            if group.is_default:
                return group
        return self.keep_group(
            self.new_group(f"CreatedByCloudFront-{self.world.ids.mixed(7)}", is_default=True)
        )

    def distribution(self, name: str) -> Distribution:
        found = self.distributions.get(name)
        if found is None:
            raise AwsError("EntityNotFound", "The specified distribution does not exist.")
        return found

    def tenants_of(self, group: ConnectionGroup) -> Iterator[Tenant]:
        return (tenant for tenant in self.tenants.values() if tenant.group == group.id)

    def is_enabled(self, owner: DomainOwner) -> bool:
        resource = self.tenants.get(owner.id) or self.distributions.get(owner.id)
        return resource is not None and resource.enabled

    # --- Keeping ---

    def keep_tenant(self, tenant: Tenant) -> Tenant:
        """Store a new version of a tenant: a new ETag, a new deployment."""
        world = self.world
        before = self.tenants.get(tenant.id)
        kept = replace(
            tenant,
            etag=self.new_etag(tenant.id),
            modified=world.time.now(),
            deployed_at=world.time.after(world.timings.tenant_deployment),
            serving=self.active_domains(before) if before else frozenset(),
        )
        self.claim(tenant.domains, TENANT, tenant.id)
        self.release(set(before.domains) - set(tenant.domains) if before else ())
        self._tenant_names[tenant.name] = tenant.id
        if tenant.managed_certificate:
            self._certified[tenant.managed_certificate] = tenant.id
        self.tenants.put(tenant.id, kept)
        if kept.managed_certificate:
            # It may have been waiting for the tenant to get another connection group.
            self.certificates.look_at(kept.managed_certificate)
        return kept

    def give_up(self, domain: str) -> None:
        """Take a domain away from the resource that has it."""
        owner = self.world.edge_domains[domain]
        if owner.kind == TENANT:
            tenant = self.tenants[owner.id]
            self.keep_tenant(
                replace(tenant, domains=tuple(each for each in tenant.domains if each != domain))
            )
            return
        aliases = tuple(each for each in self.distributions[owner.id].aliases if each != domain)
        self.release((domain,))
        self.change_distribution(owner.id, aliases=aliases)

    def drop_tenant(self, tenant: Tenant) -> None:
        self.release(tenant.domains)
        del self._tenant_names[tenant.name]
        self.tenants.remove(tenant.id)

    def new_group(self, name: str, **details: Any) -> ConnectionGroup:
        world = self.world
        id_ = "cg_" + world.ids.mixed(27)
        group = ConnectionGroup(
            id=id_,
            name=name,
            arn=f"arn:aws:cloudfront::{self.account}:connection-group/{id_}",
            endpoint=self.new_endpoint(),
            etag="",
            created=world.time.now(),
            modified=world.time.now(),
            deployed_at=0.0,
        )
        return replace(group, **details)

    def keep_group(self, group: ConnectionGroup) -> ConnectionGroup:
        world = self.world
        kept = replace(
            group,
            etag=self.new_etag(group.id),
            modified=world.time.now(),
            deployed_at=world.time.after(world.timings.group_deployment),
        )
        self.groups.put(group.id, kept)
        return kept

    # --- Rules ---

    def status(self, resource: Tenant | ConnectionGroup | Distribution) -> str:
        return DEPLOYED if self.world.time.passed(resource.deployed_at) else IN_PROGRESS

    def match(self, resource: Tenant | ConnectionGroup, if_match: str | None) -> None:
        """Refuse a write that is based on another version than the present one."""
        if if_match == resource.etag:
            return
        if if_match is not None and self._etags.get(if_match) == resource.id:
            raise AwsError("PreconditionFailed", STALE)
        raise AwsError("InvalidIfMatchVersion", NO_VERSION)

    def claim(self, domains: Collection[str], kind: str, owner: str) -> None:
        """Take domains for a resource. Nothing is taken where one of them belongs to another."""
        self.check_free(domains, owner)
        self._own(domains, kind, owner)

    def check_free(self, domains: Collection[str], owner: str) -> None:
        """Refuse domains that belong to another resource than this one."""
        if any(self._taken(domain, owner) for domain in domains):
            raise AwsError("CNAMEAlreadyExists", CNAME_TAKEN)

    def release(self, domains: Iterable[str]) -> None:
        for domain in domains:
            self.world.edge_domains.pop(domain, None)

    def _own(self, domains: Iterable[str], kind: str, owner: str) -> None:
        for domain in domains:
            self.world.edge_domains[domain] = DomainOwner(self.account, kind, owner)

    def _taken(self, domain: str, owner: str) -> bool:
        """Whether another resource has a domain, or another account its wildcard."""
        holder = self.world.edge_domains.get(domain)
        if holder is not None:
            return holder.id != owner
        wildcard = self.world.edge_domains.get("*." + domain.partition(".")[2])
        return wildcard is not None and wildcard.account != self.account

    def covering(self, tenant: Tenant) -> list[Certificate]:
        """The issued certificates that a tenant's domains may use: its own one before the distribution's."""
        arns = (tenant.certificate, self.distribution(tenant.distribution).certificate)
        known = (self.certificates.shelf.get(arn) for arn in arns if arn)
        return [certificate for certificate in known if certificate and certificate.status == ISSUED]

    def active_domains(self, tenant: Tenant) -> frozenset[str]:
        """The domains that are served: covered by a certificate, and deployed."""
        certificates = self.covering(tenant)
        covered = {domain for domain in tenant.domains if any(each.covers(domain) for each in certificates)}
        return frozenset(covered if self.status(tenant) == DEPLOYED else covered & tenant.serving)

    # --- Certificates ---

    def _token_served(self, certificate: Certificate, domain: str) -> bool:
        if certificate.validation_host == "self-hosted":
            return domain in self.world.served_tokens
        tenant = self.tenants.get(self._certified.get(certificate.arn, ""))
        return tenant is not None and self.world.dns.leads_to(domain, self.groups[tenant.group].endpoint)

    def _certificate_changed(self, certificate: Certificate) -> None:
        """A managed certificate's new status shows in its tenant, whose ETag moves under everybody's hands."""
        tenant = self.tenants.get(self._certified.get(certificate.arn, ""))
        if tenant is None:
            return
        changed = replace(tenant, etag=self.new_etag(tenant.id), modified=self.world.time.now())
        if self.world.behaviour.attach_managed_certificate and self._may_attach(certificate, tenant):
            customizations = {**tenant.customizations, "Certificate": {"Arn": certificate.arn}}
            changed = replace(changed, customizations=customizations)
        self.tenants.put(tenant.id, changed)

    def _may_attach(self, certificate: Certificate, tenant: Tenant) -> bool:
        """Whether a tenant may get a certificate unasked: the one that it has requested last, in place of none, or of one
        that was requested before."""
        attached = self.certificates.shelf.get(tenant.certificate) if tenant.certificate else None
        is_free = attached is None or attached.managed_by == certificate.managed_by
        return certificate.status == ISSUED and certificate.arn == tenant.managed_certificate and is_free

    def _uses(self) -> Iterator[tuple[str, str]]:
        """Certificates in use, and what uses them."""
        resources: list[Tenant | Distribution] = [*self.tenants.values(), *self.distributions.values()]
        for resource in resources:
            if resource.certificate:
                yield resource.certificate, resource.arn

    # --- Over a restart ---

    def save(self) -> SavedCloudFront:
        return SavedCloudFront(
            list(self.distributions.values()),
            list(self.groups.values()),
            list(self.tenants.values()),
            self._certified,
            self._etags,
        )

    def restore(self, saved: SavedCloudFront) -> None:
        self._certified, self._etags = dict(saved.certified), dict(saved.etags)
        for distribution in saved.distributions:
            self.distributions[distribution.id] = distribution
            self._own(distribution.aliases, DISTRIBUTION, distribution.id)
        for group in saved.groups:
            self.groups.put(group.id, group)
        for tenant in saved.tenants:
            self.tenants.put(tenant.id, tenant)
            self._tenant_names[tenant.name] = tenant.id
            self._own(tenant.domains, TENANT, tenant.id)

    # --- New names ---

    def new_etag(self, resource: str) -> str:
        etag = self.world.ids.etag()
        self._etags[etag] = resource
        return etag

    def new_endpoint(self) -> str:
        return f"d{self.world.ids.lower(13)}.cloudfront.net"
