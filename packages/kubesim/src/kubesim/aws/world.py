"""What all services of the simulated cloud share: its time, its numbers, its names, its people."""

from __future__ import annotations

from dataclasses import dataclass, field

from kubesim.aws.cloudtime import CloudTime
from kubesim.aws.dns import PublicDns
from kubesim.aws.identity import Identities
from kubesim.aws.ids import Ids
from kubesim.aws.settings import Behaviour, Quotas, Timings


@dataclass(frozen=True)
class DomainOwner:
    """A CloudFront resource that answers for a domain. Domains are unique over all accounts."""

    account: str
    kind: str
    """`distribution` or `distribution-tenant`."""
    id: str


@dataclass
class World:
    """Shared by all accounts."""

    time: CloudTime
    ids: Ids
    identities: Identities
    timings: Timings = field(default_factory=Timings)
    quotas: Quotas = field(default_factory=Quotas)
    behaviour: Behaviour = field(default_factory=Behaviour)
    dns: PublicDns = field(default_factory=PublicDns)
    edge_domains: dict[str, DomainOwner] = field(default_factory=dict)
    served_tokens: set[str] = field(default_factory=set)
    """Domains whose web server answers with the validation token of a managed certificate."""
