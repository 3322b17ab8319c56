"""Observe the DNS records of one tenant: its inventory, what other objects have, and the zone of its spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from edgekeeper.api.cloudfront import DnsChange
from edgekeeper.cloud.aws.dns.entries import bare_zone, places_for
from edgekeeper.controllers.cloudfront.account import CloudFrontAccount
from edgekeeper.controllers.cloudfront.claims import TenantClaims
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.ownership import own_tenant
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags
from edgekeeper.lifecycle.objects import KindObject
from edgekeeper.lifecycle.records import ObjectRecords


@dataclass(frozen=True)
class RecordObserver:
    """Adds what is known about records to a snapshot."""

    account: CloudFrontAccount
    claims: TenantClaims
    guards: Guards

    def with_results(self, snapshot: Snapshot, subject: KindObject, wake: Callable[[], None]) -> Snapshot:
        """Add the results of the zone writers. `wake` requeues the object when pending records have one."""
        dns = snapshot.spec.dns
        domains = (item.domain for item in snapshot.spec.domains)
        places = places_for(dns.hosted_zone_id, domains) if dns else ()
        changes = snapshot.status.dns_changes or _implied_change(snapshot)
        inventory = snapshot.records.inventory
        return replace(snapshot, records=self._records.collect(subject, inventory, changes, places, wake))

    async def without_others(self, snapshot: Snapshot, subject: KindObject) -> Snapshot:
        """Drop inventory entries that belong to other objects, and withhold those that tenants of others serve."""
        own = own_tenant(snapshot)

        async def is_served(name: str) -> bool:
            return await self._is_served_by_another(name, snapshot.owner, subject)

        served = own.served if own else frozenset[str]()
        records = await self._records.without_others(subject, snapshot.records, served, is_served)
        return replace(snapshot, records=records)

    def with_zone(self, snapshot: Snapshot) -> Snapshot:
        """Add the existing records of the zone of the spec, or the error that needs a person.

        A deletion does not depend on them: they are left out if the zone cannot be read, or the spec is refused.
        """
        dns, names = snapshot.spec.dns, [item.domain for item in snapshot.spec.domains]
        if dns is None or (snapshot.deleting and snapshot.is_refused):
            return snapshot
        observe = self.account.dns.with_view_if_listed if snapshot.deleting else self.account.dns.with_view
        records = observe(snapshot.records, dns.hosted_zone_id, dns.assume_role_arn, names)
        return replace(snapshot, records=records)

    @property
    def _records(self) -> ObjectRecords:
        return ObjectRecords(self.account.dns, self.claims.all_kinds.records, self.guards)

    async def _is_served_by_another(self, name: str, owner: Owner, subject: KindObject) -> bool:
        """Does the tenant of another object serve a name, and is that tenant not being deleted?

        A tenant that no object owns, for example one created by hand, does not count: we wrote the record, so we may
        remove it.
        """
        tenants = self.account.tenants
        holder = tenants.holder_of(name)
        # Listings may be outdated, so the tenant is read.
        live = await tenants.read(holder.id) if holder is not None else None
        if live is None or name not in live.served:
            return False
        if self.claims.is_being_deleted(subject, live.name):
            return False  # our record must be removed before that tenant is deleted
        whose = is_mine(parse_tags(live.tags), owner)
        is_known_to_another = any(key != subject.key for key in self.claims.with_tenant_name(live.name))
        return whose is Ownership.OTHERS or (whose is Ownership.UNMARKED and is_known_to_another)


def _implied_change(snapshot: Snapshot) -> Iterator[DnsChange]:
    """The change of a status that has only `dnsChangeId`, as cloudfront-tenant-operator writes it."""
    status, dns = snapshot.status, snapshot.spec.dns
    if not status.dns_change_id:
        return
    if dns is not None and not snapshot.is_refused:
        yield DnsChange(bare_zone(dns.hosted_zone_id), status.dns_change_id, dns.assume_role_arn)
    elif snapshot.records.inventory:
        entry = snapshot.records.inventory[0]
        yield DnsChange(entry.zone, status.dns_change_id, entry.role)
