"""What the simulated Cloudflare holds: accounts, zones and API tokens, and the makers of ids and times.

Objects are kept as the JSON that the API shows. They are replaced, never changed in place, so a list that was handed
out stays what it was, and a batch can be thrown away by forgetting a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from edgekeeper.core.clock import Clock, micro_timestamp
from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.wire import Refusal

PERMISSIONS = frozenset(
    {
        "Cloudflare Tunnel Write",
        "DNS Write",
        "Zone Read",
        "Access: Apps and Policies Write",
        "Access: Service Tokens Write",
        "Access: Organizations, Identity Providers, and Groups Write",
    }
)
"""All that the operator may be given, by the names of Cloudflare's permission groups. Writing includes reading."""


@dataclass(slots=True)
class Quotas:
    """How much an account may hold, as published for accounts without a contract."""

    applications: int = 500
    service_tokens: int = 50
    policies: int = 500
    groups: int = 300
    identity_providers: int = 50
    domains_per_application: int = 5
    tunnels: int = 1000


@dataclass(frozen=True, slots=True)
class Plan:
    """What a zone's plan allows."""

    name: str
    records: int
    batch: int
    comment: int
    tags: int


PLANS = {
    "free": Plan("Free Website", records=200, batch=200, comment=100, tags=0),
    "free-before-2024-09": Plan("Free Website", records=1000, batch=200, comment=100, tags=0),
    "pro": Plan("Pro Website", records=3500, batch=3500, comment=500, tags=20),
    "enterprise": Plan("Enterprise Website", records=100_000, batch=3500, comment=500, tags=20),
}


@dataclass(slots=True)
class Zone:
    """A zone and its records by id."""

    id: str
    name: str
    account: str
    plan: Plan
    status: str
    created: str
    records: dict[str, JsonObject] = field(default_factory=dict)


@dataclass(slots=True)
class ServiceSecret:
    """A secret of a service token, and until when it opens doors."""

    value: str
    until: datetime | None = None


@dataclass(slots=True)
class Account:
    """An account: its tunnels, and everything of Access."""

    id: str
    name: str
    team: str
    access_enabled: bool = True
    quotas: Quotas = field(default_factory=Quotas)
    tunnels: dict[str, JsonObject] = field(default_factory=dict)
    configurations: dict[str, JsonObject] = field(default_factory=dict)
    applications: dict[str, JsonObject] = field(default_factory=dict)
    """`policies` in them are references: `{"id", "precedence"}`. They are shown expanded."""
    policies: dict[str, JsonObject] = field(default_factory=dict)
    """Reusable ones and those of one application alike; `reusable` tells."""
    groups: dict[str, JsonObject] = field(default_factory=dict)
    service_tokens: dict[str, JsonObject] = field(default_factory=dict)
    secrets: dict[str, list[ServiceSecret]] = field(default_factory=dict)
    tags: dict[str, JsonObject] = field(default_factory=dict)
    identity_providers: dict[str, JsonObject] = field(default_factory=dict)


@dataclass(slots=True)
class ApiToken:
    """An API token: what it may do, and where."""

    id: str
    value: str
    permissions: frozenset[str] = PERMISSIONS
    accounts: frozenset[str] | None = None
    """Ids of the accounts that it is for; None means all of them."""
    zones: frozenset[str] | None = None
    owner: str = "user"
    """`user`, or the id of the account that owns it: that decides which `verify` knows it."""
    status: str = "active"
    expires: datetime | None = None

    def may(self, permission: str, *, writing: bool) -> bool:
        names = (f"{permission} Write",) if writing else (f"{permission} Write", f"{permission} Read")
        return any(name in self.permissions for name in names)

    def is_valid(self, now: datetime) -> bool:
        return self.status == "active" and (self.expires is None or now < self.expires)


class ShiftedClock:
    """The clock of the simulation: one that was handed in, and what was skipped since."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._skipped = timedelta()

    def now(self) -> datetime:
        return self._clock.now().astimezone(UTC) + self._skipped

    def monotonic(self) -> float:
        return self._clock.monotonic() + self._skipped.total_seconds()

    def advance(self, interval: timedelta) -> None:
        """Let time pass for the simulation alone."""
        self._skipped += interval


class Maker:
    """Makes ids, secrets and timestamps: the same ones in every run with the same seed."""

    def __init__(self, clock: ShiftedClock, seed: int) -> None:
        self.clock = clock
        self._random = Random(seed)

    def digits(self, count: int) -> str:
        """So many hexadecimal digits."""
        return f"{self._random.getrandbits(4 * count):0{count}x}"

    def uuid(self) -> str:
        text = self.digits(32)
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    def time(self) -> str:
        return micro_timestamp(self.clock.now())


@dataclass(slots=True)
class World:
    """All of it."""

    make: Maker
    accounts: dict[str, Account] = field(default_factory=dict)
    zones: dict[str, Zone] = field(default_factory=dict)
    tokens: dict[str, ApiToken] = field(default_factory=dict)
    """By their value, as requests carry them."""

    def account(self, id_: str) -> Account:
        found = self.accounts.get(id_)
        if found is None:
            raise unroutable(f"/accounts/{id_}")
        return found

    def zone(self, id_: str) -> Zone:
        found = self.zones.get(id_)
        if found is None:
            raise unroutable(f"/zones/{id_}")
        return found


def unroutable(path: str) -> Refusal:
    return Refusal(404, 7003, f"Could not route to {path}, perhaps your object identifier is invalid?")
