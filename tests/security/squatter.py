"""Somebody with an account of their own who watches our names, and takes in CloudFront what nobody has there.

A name that leads to CloudFront brings its visitors to whoever has it. The squatter looks after every single call.
"""

from __future__ import annotations

from edgekeeper.local.aws.cloud import ACCOUNT
from tests.tenants.estate import Estate

_ACCOUNT = "999988887777"
_ID = "dt_squatter"


class Squatter:
    """Takes names that were ours before; a greedy one takes those as well that were about to be."""

    def __init__(self, estate: Estate, *, greedy: bool = False) -> None:
        self._estate = estate
        self._world = estate.cloud.world
        self._cloudfront = estate.cloud.account(_ACCOUNT).cloudfront
        self._greedy = greedy
        self._ours: set[str] = set()
        """Every domain that a tenant of our account ever had."""
        self.loot: list[str] = []
        estate.chronicle.listeners.append(self.look)

    def look(self) -> None:
        """Take what is there for the taking."""
        domains = self._world.edge_domains
        self._ours |= {name for name, owner in domains.items() if owner.account == ACCOUNT}
        for name in set(self._estate.chronicle.leading()) - set(domains):
            if self._greedy or name in self._ours:
                self.take(name)

    def take(self, name: str) -> None:
        self._cloudfront.claim((name,), "distribution-tenant", _ID)
        self.loot.append(name)

    def leave(self) -> None:
        """Give everything back, and want no more."""
        self._estate.chronicle.listeners.remove(self.look)
        self._cloudfront.release(self.loot)
        self.loot.clear()

    @property
    def visitors(self) -> list[str]:
        """The names whose visitors come to the squatter."""
        return sorted(set(self._estate.chronicle.leading()) & set(self.loot))
