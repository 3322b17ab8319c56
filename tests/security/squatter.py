"""Somebody with an account of their own who watches our names, and takes in CloudFront what nobody has there.

A name that leads to CloudFront brings its visitors to whoever has it. The squatter looks after every single call.
"""

from __future__ import annotations

from kubesim.aws.cloud import ACCOUNT
from tests.tenants.estate import Estate

_ACCOUNT = "999988887777"
_ID = "dt_squatter"


class Squatter:
    """Takes names that have lost their tenant; a greedy one takes those as well that have none yet."""

    def __init__(self, estate: Estate, *, greedy: bool = False) -> None:
        self._estate = estate
        self._cloudfront = estate.cloud.account(_ACCOUNT).cloudfront
        self._greedy = greedy
        self._served: set[str] = set()
        """Names that led to a tenant of ours at the last look."""
        self.loot: list[str] = []
        estate.chronicle.listeners.append(self.look)

    def look(self) -> None:
        """Take what is there for the taking."""
        domains = self._estate.cloud.world.edge_domains
        leading = set(self._estate.chronicle.leading())
        for name in (leading if self._greedy else leading & self._served) - set(domains):
            self.take(name)
        self._served = {name for name in leading if name in domains and domains[name].account == ACCOUNT}

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
