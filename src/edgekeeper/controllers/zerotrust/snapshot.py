"""Everything that a decision about one task depends on, observed in one pass.

A field that is None means that the thing does not exist, or is not needed. What could not be found out has raised before
there is a snapshot: unknown is never treated as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from edgekeeper.api.zerotrust_task import InventoryItem, TaskSpec, TaskStatus
from edgekeeper.cloud.cloudflare.accounts import Account
from edgekeeper.cloud.cloudflare.models import (
    Application,
    DnsRecord,
    IdentityProvider,
    Policy,
    ServiceToken,
)
from edgekeeper.cloud.cloudflare.record_plan import RecordChange
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.cloud.cloudflare.tunnel_writer import Rules
from edgekeeper.cloud.outbox import News
from edgekeeper.controllers.zerotrust.owner import LostCluster, cluster_tag, lost_tags
from edgekeeper.core.drift import Policy as DriftPolicy
from edgekeeper.core.steps import Sight
from edgekeeper.kube.kinds import Key

Place = tuple[str, str, str]
"""Where a change is handed in: `tunnel` or `zone`, its id, and the hostname."""
Writes = News[Place, HostnameChange | RecordChange, Any]

NEVER_LOOKED_AT: Final = TaskStatus()
NOTHING_SUBMITTED: Final[Writes] = News()


@dataclass(frozen=True)
class Subject:
    """The task, or what stands for one."""

    key: Key
    uid: str
    generation: int
    spec: TaskSpec
    status: TaskStatus = NEVER_LOOKED_AT

    @property
    def is_withdrawal(self) -> bool:
        return self.spec.action == "delete"

    @cached_property
    def hostnames(self) -> tuple[str, ...]:
        """The hostnames that are wanted; none where everything is to be withdrawn."""
        if self.is_withdrawal:
            return ()
        return tuple(dict.fromkeys(self.spec.hostnames or [self.spec.hostname]))

    @property
    def route(self) -> str:
        return f"{self.spec.httproute_ref.namespace}/{self.spec.httproute_ref.name}"

    @property
    def is_complete(self) -> bool:
        """Was the present generation carried out?"""
        return self.status.phase == "Completed" and self.status.observed_generation == self.generation

    # Operations, as far as they are wanted

    @property
    def wants_tunnel(self) -> bool:
        return not self.is_withdrawal and self.spec.operations.tunnel_route.enabled

    @property
    def wants_records(self) -> bool:
        operations = self.spec.operations
        return not self.is_withdrawal and (operations.cname_dns.enabled or operations.dns_record.enabled)

    @property
    def wants_access(self) -> bool:
        return not self.is_withdrawal and bool(self.spec.operations.access_app.enabled)

    @property
    def shared_domain(self) -> str:
        """The domain of another route's application that protects this one; empty for one of its own."""
        return (self.spec.operations.access_app.application_domain or "") if self.wants_access else ""

    @property
    def wants_application(self) -> bool:
        """Is an application of the route's own wanted?"""
        return self.wants_access and not self.shared_domain

    @property
    def wants_token(self) -> bool:
        return self.wants_application and self.spec.operations.service_token.enabled

    @property
    def has_existing_policies(self) -> bool:
        """Are reusable policies of the account used in place of policies of the application's own?"""
        access = self.spec.operations.access_app
        return self.wants_application and bool(access.existing_policy_names or access.existing_policy_ids)


@dataclass(frozen=True, slots=True)
class ResolvedAccess:
    """The ids of what the settings name."""

    groups: Mapping[str, str] = field(default_factory=dict)
    policies: tuple[str, ...] = ()
    """Of existing policies, in the order in which they are evaluated."""
    allowed_idps: tuple[str, ...] = ()
    providers: Mapping[str, IdentityProvider] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenSecret:
    """The Secret with the credentials of a service token, without the secret in it."""

    key: Key
    resource_version: str
    uid: str
    owner: str
    """Our mark; empty where it has none."""
    client_id: str
    has_client_secret: bool
    rotation: str
    """The requested rotation that was carried out last."""
    rotating: bool
    """Was a rotation begun whose result may not be in here?"""
    rotated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One task: what is wanted, what is there, and what became of submitted changes."""

    subject: Subject
    account: Account
    cluster: str
    worker: str
    now: datetime
    sight: Sight = Sight.CACHED
    inventory: tuple[InventoryItem, ...] = ()
    writes: Writes = NOTHING_SUBMITTED
    zones: Mapping[str, str] = field(default_factory=dict)
    """The zone of each hostname that gets records."""
    team: str = ""
    """The team of the organisation, for the lock of tunnel rules; empty where it may not be read."""
    access: ResolvedAccess = ResolvedAccess()
    application: Application | None = None
    """The application of the route's own."""
    rivals: tuple[Application, ...] = ()
    """Applications that are in the way and not ours."""
    shared: Application | None = None
    """The application of another route that protects this one."""
    surplus: Mapping[str, Application | None] = field(default_factory=dict)
    """Applications in the inventory that are not wanted, by id; None where the mirror has none of that id."""
    token: ServiceToken | None = None
    inherits_token: bool = False
    """Has a lost cluster left the token, and is it not in the inventory yet?"""
    rival_tokens: tuple[ServiceToken, ...] = ()
    """Tokens of the wanted name that are not known to be ours."""
    surplus_tokens: Mapping[str, ServiceToken | None] = field(default_factory=dict)
    token_policy: Policy | None = None
    """The reusable policy that lets the token in, where the application has existing policies."""
    surplus_policies: Mapping[str, Policy | None] = field(default_factory=dict)
    secret: TokenSecret | None = None
    surplus_secrets: Mapping[str, TokenSecret] = field(default_factory=dict)
    """Secrets in the inventory that are not wanted and exist, by namespace/name."""
    rules: Mapping[tuple[str, str], Rules] = field(default_factory=dict)
    """The rules that are there, by tunnel and hostname: of all that are wanted or in the inventory."""
    records: Mapping[tuple[str, str], tuple[DnsRecord, ...]] = field(default_factory=dict)
    """The same of address records, by zone and hostname."""
    lost: tuple[LostCluster, ...] = ()
    """The clusters whose routes are replaced by ours of the same namespace and name."""

    @property
    def deleting(self) -> bool:
        """Tasks are withdrawn by an action, not by their deletion."""
        return False

    @property
    def policy(self) -> DriftPolicy:
        """A task is always carried out; what is done about drift is decided before there is one."""
        return DriftPolicy.ENFORCE

    @property
    def exists(self) -> bool:
        return True

    @property
    def tags(self) -> frozenset[str]:
        """The tags of applications that are ours: that of this cluster, and those of lost ones."""
        return frozenset({cluster_tag(self.cluster)}) | lost_tags(self.lost)

    @property
    def lost_marks(self) -> frozenset[str]:
        """The marks of this route in lost clusters."""
        route = self.subject.spec.httproute_ref
        return frozenset(cluster.mark_of(route.namespace, route.name) for cluster in self.lost)

    def items(self, kind: str) -> tuple[InventoryItem, ...]:
        """The inventory of one kind."""
        return tuple(item for item in self.inventory if item.kind == kind)
