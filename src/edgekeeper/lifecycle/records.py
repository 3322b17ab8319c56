"""The Route 53 records of an object, as a pass observes them: for every kind whose objects have records.

    state = records.collect(subject, inventory, changes, places, wake)   without a call, at the beginning of a pass
    state = await records.without_others(subject, state, …)              once the external object is known

The inventory is in the status, which others may write. So entries with zones or roles that are invalid or not allowed
are an error, and entries that belong to other objects are dropped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from edgekeeper.api.shared import DnsChange, InventoryRecord
from edgekeeper.cloud.aws.dns.entries import Place, place_of
from edgekeeper.cloud.aws.dns.service import Dns
from edgekeeper.cloud.aws.dns.state import DnsWork, RecordState
from edgekeeper.cloud.aws.dns.validation import inventory_problems, is_credible_change
from edgekeeper.cloud.aws.error_table import DNS_ERROR
from edgekeeper.cloud.outbox import Owner
from edgekeeper.core.errors import Stall
from edgekeeper.core.log import get_logger
from edgekeeper.lifecycle.guards import Limits
from edgekeeper.lifecycle.kind import Wake
from edgekeeper.lifecycle.objects import KindObject
from edgekeeper.lifecycle.record_claims import RecordClaims

log = get_logger(__name__)

ServedByAnother: TypeAlias = Callable[[str], Awaitable[bool]]
"""Does the external object of another object serve a name, so that its record must stay?"""


@dataclass(frozen=True)
class ObjectRecords:
    """Observes the records of objects."""

    dns: Dns
    claims: RecordClaims
    limits: Limits

    def collect(
        self,
        subject: KindObject,
        inventory: tuple[InventoryRecord, ...],
        changes: Iterable[DnsChange],
        places: Iterable[Place],
        wake: Wake,
        *,
        may_assume: bool = False,
    ) -> RecordState:
        """The results of the zone writers applied to the inventory, and what is still pending.

        `changes` are those in the status, `places` those that the spec may need. `wake` is called when there are news.
        With `may_assume` changes that IAM denies reading count as propagated.
        """
        problems = [*inventory_problems(inventory), *self.limits.inventory_refusals(inventory)]
        if problems:
            return RecordState(inventory, work=DnsWork(error=Stall(DNS_ERROR, "; ".join(problems))))
        followed = (change for change in changes if self._may_be_followed(change))
        owner = Owner(subject.uid, subject.generation)
        state = self.dns.collect(owner, inventory, followed, wake, may_assume=may_assume)
        return replace(state, recorded=self.claims.recorded(subject, places))

    async def without_others(
        self,
        subject: KindObject,
        state: RecordState,
        served: Collection[str],
        is_served_by_another: ServedByAnother,
    ) -> RecordState:
        """The state without inventory entries that belong to other objects. `served` are the names of our own one.

        Entries whose names the external object of another object serves are kept, but withheld from removal and
        replacement.
        """
        unserved = [entry for entry in state.inventory if entry.name not in served]
        foreign = {entry for entry in unserved if self._is_anothers(subject, entry)}
        if foreign:
            names = sorted(entry.name for entry in foreign)
            log.warning("Records in the status belong to another object and are left alone", names=names)
        kept = tuple(entry for entry in state.inventory if entry not in foreign)
        ours = [entry for entry in unserved if entry not in foreign]
        withheld = frozenset([entry for entry in ours if await is_served_by_another(entry.name)])
        return replace(state, inventory=kept, withheld=withheld)

    def _may_be_followed(self, change: DnsChange) -> bool:
        return is_credible_change(change) and self.limits.allow_zone(change.zone, change.role)

    def _is_anothers(self, subject: KindObject, entry: InventoryRecord) -> bool:
        """Is the record in the inventory of another object, or does the hostname policy forbid the namespace its name?"""
        is_ruled_out = not self.limits.hostname_policy.allows(subject.key.namespace, [entry.name])
        return is_ruled_out or self.claims.recorder(subject, place_of(entry), entry.state) is not None
