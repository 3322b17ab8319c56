"""What calls without an answer may have created. Memory only: after a restart everything is listed anew.

Applications, tunnel rules and records need no such memory: Cloudflare refuses a second application of a hostname, and the
writers of tunnels and zones look before they write again.
"""

from __future__ import annotations

from typing import Literal

from edgekeeper.cloud.cloudflare.accounts import Account

What = Literal["applications", "policies", "tokens"]


class Doubts:
    """By account, what has to be listed before anything of its kind is created."""

    def __init__(self) -> None:
        self._doubts: set[tuple[str, str, What]] = set()

    def note(self, account: Account, what: What) -> None:
        """A call that creates something had no answer."""
        self._doubts.add((*_name(account), what))

    def of(self, account: Account) -> list[What]:
        name = _name(account)
        return sorted(what for (id_, credential, what) in self._doubts if (id_, credential) == name)

    def settle(self, account: Account, what: What) -> None:
        """It was listed."""
        self._doubts.discard((*_name(account), what))


def _name(account: Account) -> tuple[str, str]:
    return account.id, account.client.credential.name
