"""The writer of a tunnel's configuration, with a mirror of its rules.

*Expected flow* of a batch
 1. Read the configuration, merge the changes, and compare: nothing is written if it is in effect already.
 2. Write the complete document. If the version in the response is not the next one, another client has written in
    between: read, merge and write again, a few times.
 3. If there was no response, do the same: the read shows whether the write took effect.

*Guarantees*
 - Writers of the same tunnel in this process, with any credential, write one at a time (`lock`).
 - A change is confirmed only by a write without a concurrent one, or by a read that contains it.

*Caveats*
 - A write of another client between our read and our write is lost, because the API has no preconditions. This is logged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import timedelta

from edgekeeper.cloud.cloudflare.errors import may_concern_one_change
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange, check_change, merge, rules_by_hostname
from edgekeeper.cloud.cloudflare.tunnels import Tunnels
from edgekeeper.cloud.coalescer import Coalescer, CoalescerOptions, Ticket
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.cloud.write_lock import WriteLock
from edgekeeper.core.errors import PassError, Retry, Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

WINDOW = timedelta(seconds=1)
"""How long a change waits for others."""
_HEAVIEST = 10_000
"""No limit: one write replaces the complete document anyway."""
_ATTEMPTS = 4

Rules = tuple[JsonObject, ...]


class TunnelWriter:
    """Writes the rules of one tunnel."""

    def __init__(
        self,
        tunnels: Tunnels,
        tunnel_id: str,
        mirror: Mirror[str, Rules],
        lock: WriteLock[TunnelWriter],
        *,
        window: timedelta = WINDOW,
        longest: timedelta = WINDOW,
    ) -> None:
        self.mirror = mirror
        self._tunnels = tunnels
        self._tunnel = tunnel_id
        self._lock = lock
        self._coalescer: Coalescer[HostnameChange, Rules] = Coalescer(
            f"tunnel {tunnel_id}",
            self._write,
            key=lambda change: change.hostname,
            options=CoalescerOptions(window, _HEAVIEST, longest),
        )
        self.run = self._coalescer.run

    @property
    def pending(self) -> int:
        """Changes without a result."""
        return self._coalescer.pending

    def submit(self, change: HostnameChange, *, wake: Callable[[], None] | None = None) -> Ticket[Rules]:
        """Submit the desired rules of a hostname. Raise Stall if cloudflared would refuse them.

        The result is the rules after the write.
        """
        check_change(change)
        return self._coalescer.submit(change, wake=wake)

    async def _write(self, changes: Sequence[HostnameChange]) -> Sequence[Rules | PassError]:
        try:
            async with self._lock.lock:
                config, refused = await self._settle(changes)
        except Stall as error:
            if may_concern_one_change(error):
                raise
            return [error] * len(changes)
        by_hostname = rules_by_hostname(config)
        outcomes: list[Rules | PassError] = []
        for change in changes:
            rules = by_hostname.get(change.hostname, ())
            self._reflect(change.hostname, rules)
            outcomes.append(refused.get(change.hostname, rules))
        return outcomes

    async def _settle(
        self, changes: Sequence[HostnameChange]
    ) -> tuple[JsonObject | None, Mapping[str, PassError]]:
        """Write the changes, and return the resulting configuration."""
        for _ in range(_ATTEMPTS):
            live = await self._tunnels.configuration(self._tunnel)
            merged = merge(live.config, changes)
            if merged.config is None or merged.config == live.config:
                return live.config, merged.refused
            try:
                stored = await self._tunnels.put_configuration(self._tunnel, merged.config)
            except Retry as error:
                log.info(
                    "No response to a write of the tunnel configuration: reading it",
                    tunnel=self._tunnel,
                    error=error.message,
                )
                continue
            if stored.version == live.version + 1:
                return stored.config, merged.refused
            log.warning(
                "The tunnel configuration was written by another client at the same time",
                tunnel=self._tunnel,
                expected=live.version + 1,
                version=stored.version,
            )
        raise Retry(
            f"the configuration of tunnel {self._tunnel} could not be written in {_ATTEMPTS} attempts, "
            "because other clients write it at the same time, or there was no response",
            "TunnelConfigContended",
        )

    def _reflect(self, hostname: str, rules: Rules) -> None:
        if rules:
            self.mirror.put(hostname, rules)
        else:
            self.mirror.remove(hostname)


def lister(tunnels: Tunnels, tunnel_id: str) -> Callable[[], AsyncIterator[Mapping[str, Rules]]]:
    """The lister of a mirror with the rules of a tunnel, by hostname."""

    async def pages() -> AsyncIterator[Mapping[str, Rules]]:
        yield rules_by_hostname((await tunnels.configuration(tunnel_id)).config)

    return pages
