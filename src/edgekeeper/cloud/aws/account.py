"""One AWS account, as all kinds of a process share it: who we are, what we may do, and one writer per hosted zone.

What only one kind looks at, such as the tenants of CloudFront, that kind mirrors itself, on the same access.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.dns.service import Dns
from edgekeeper.cloud.aws.regional_certificates import RegionalCertificates
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import DEFAULT_OPTIONS, MirrorOptions
from edgekeeper.cloud.shared_run import SharedRun
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Stall
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

DENIAL_REMEMBERED: Final = timedelta(minutes=30)
"""How long it takes at most until a right that was granted later is used."""


class Rights:
    """What AWS does not let us do, as far as we have found out lately. After a while it is tried again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._denied: dict[str, float] = {}
        self._logged: set[str] = set()

    @property
    def denied(self) -> frozenset[str]:
        now = self._clock.monotonic()
        return frozenset(what for what, until in self._denied.items() if now < until)

    def note(self, what: str, refusal: Stall) -> None:
        """AWS has just refused it. That is logged once."""
        if what not in self._logged:
            log.warning("AWS does not allow it, so we do without", what=what, error=refusal.message)
            self._logged.add(what)
        self._denied[what] = self._clock.monotonic() + DENIAL_REMEMBERED.total_seconds()

    def do_without(self, what: str, refusal: Stall) -> None:
        """The same for a right that is not essential. Raise the refusal if it is about something else."""
        if refusal.error_type != "access_denied":
            raise refusal
        self.note(what, refusal)


class AwsAccount:
    """What all kinds of a process share of one account."""

    def __init__(
        self,
        access: AwsAccess,
        clock: Clock,
        metrics: CloudMetrics,
        *,
        options: MirrorOptions = DEFAULT_OPTIONS,
    ) -> None:
        """`options.fast` is how often mirrors look while something is in progress, `options.slow` how often at all."""
        self.access = access
        self.clock = clock
        self.metrics = metrics
        self.options = options
        self.rights = Rights(clock)
        self.dns = Dns(access, clock, metrics, options=options)
        self.certificates = RegionalCertificates(access, clock)
        self._work = SharedRun("AWS account", self._keep)

    async def run(self) -> None:
        """Keep zones fresh and write what is handed in, until cancelled. Each kind that uses the account calls this."""
        await self._work.run()

    async def _keep(self) -> None:
        await self.dns.run()
