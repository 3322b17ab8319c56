"""The certificates of one account in one region, and the slow walk of each from pending to issued.

Nothing runs in the background. When DNS changes, it is noted which certificates are validated from then on. Whoever
looks at certificates calls `settle`, which moves each to where it would be by now. That is cheap: until the next
deadline there is nothing to do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from math import inf
from typing import Any

from kubesim.aws.acm.certificate import ISSUED, PENDING, TIMED_OUT, Certificate, validation_record
from kubesim.aws.shelf import Shelf
from kubesim.aws.world import World

HttpCheck = Callable[[Certificate, str], bool]


class Certificates:
    """See the module."""

    def __init__(self, world: World, account: str, region: str) -> None:
        self.world = world
        self.account = account
        self.region = region
        self.shelf: Shelf[str, Certificate] = Shelf(world.time, lambda: world.behaviour.read_lag)
        self.token_served: HttpCheck = lambda _certificate, _domain: False
        """Whether a domain serves a managed certificate's token: CloudFront knows."""
        self.users: list[Callable[[], Iterable[tuple[str, str]]]] = []
        """Who can tell which certificates are in use, and by what."""
        self.changed: list[Callable[[Certificate], None]] = []
        self._pending: dict[str, float] = {}
        """Certificates that wait, and when to look at each again if nothing happens before."""
        self._next_look = inf
        world.dns.watch(self._look_at_all)

    def request(self, names: Sequence[str], method: str, **details: Any) -> Certificate:
        """A new certificate that waits for its validation."""
        time = self.world.time
        unique = tuple(dict.fromkeys(name.lower() for name in names))
        certificate = Certificate(self._new_arn(), unique, method, time.now(), time.monotonic(), **details)
        self._pending[certificate.arn] = inf
        self.shelf.put(certificate.arn, certificate)
        self.look_at(certificate.arn)
        return certificate

    def add_issued(self, *names: str, arn: str | None = None) -> Certificate:
        """A certificate that somebody imported."""
        time = self.world.time
        certificate = Certificate(
            arn or self._new_arn(), names, "DNS", time.now(), time.monotonic(), imported=True
        )
        certificate = replace(certificate, status=ISSUED, issued=time.now())
        self.shelf.put(certificate.arn, certificate)
        return certificate

    def fail(self, arn: str, status: str = "FAILED", reason: str | None = None) -> None:
        """Let a certificate end otherwise than issued: FAILED, REVOKED, EXPIRED, VALIDATION_TIMED_OUT."""
        self._pending.pop(arn, None)
        self._replace(replace(self.shelf[arn], status=status, failure_reason=reason))

    def approve(self, arn: str) -> None:
        """Issue now, whatever DNS says: somebody followed the link in an e-mail."""
        self._issue(self.shelf[arn])

    def delete(self, arn: str) -> None:
        self._pending.pop(arn, None)
        self.shelf.remove(arn)

    def usage(self) -> Mapping[str, list[str]]:
        """What uses each certificate, by ARN."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for uses in self.users:
            for certificate, user in uses():
                found[certificate].append(user)
        return found

    def age(self, certificate: Certificate) -> timedelta:
        return timedelta(seconds=self.world.time.monotonic() - certificate.requested_at)

    def look_at(self, arn: str) -> None:
        """Something may have changed that one certificate waits for."""
        if arn in self._pending:
            self._look((arn,))

    def settle(self) -> None:
        """Bring every certificate to the state in which it would be by now."""
        if self.world.time.passed(self._next_look):
            self._look([arn for arn, moment in self._pending.items() if self.world.time.passed(moment)])

    def _look_at_all(self) -> None:
        self._look(tuple(self._pending))

    def _look(self, arns: Sequence[str]) -> None:
        now = self.world.time.monotonic()
        for arn in arns:
            moment = self._settle(self.shelf[arn], now)
            if arn in self._pending:
                self._pending[arn] = moment
        self._next_look = min(self._pending.values(), default=inf)

    def validated(self, certificate: Certificate, domain: str) -> bool:
        """Whether one of a certificate's domains is proven to be under the control of whoever asked."""
        if certificate.method == "DNS":
            record = validation_record(self.account, domain)
            return self.world.dns.target(record.name) == record.value
        return certificate.method == "HTTP" and self.token_served(certificate, domain)

    def _settle(self, certificate: Certificate, now: float) -> float:
        """Move one certificate on; return the moment at which to look again."""
        issuance = self.world.timings.certificate_issuance.total_seconds()
        since = certificate.validated_since
        # Every change of DNS is looked at, so what was validated then has been so ever since, whatever DNS says now.
        if since is not None and now >= since + issuance:
            self._issue(certificate, timedelta(seconds=now - since - issuance))
            return inf
        if not all(self.validated(certificate, name) for name in certificate.names):
            return self._wait(certificate, now)
        if since is None:
            self.shelf.put(certificate.arn, replace(certificate, validated_since=now))
        return (now if since is None else since) + issuance

    def _wait(self, certificate: Certificate, now: float) -> float:
        """A certificate is not validated, or no longer; some day that is too late."""
        timeout = certificate.requested_at + self.world.timings.certificate_timeout.total_seconds()
        if now >= timeout:
            self.fail(certificate.arn, TIMED_OUT)
            return inf
        if certificate.validated_since is not None:
            self.shelf.put(certificate.arn, replace(certificate, validated_since=None))
        return timeout

    # --- Over a restart ---

    def save(self) -> list[Certificate]:
        return list(self.shelf.values())

    def restore(self, saved: Iterable[Certificate]) -> None:
        """Those that wait are looked at with the next change of DNS, which the whole cloud reports in the end."""
        for certificate in saved:
            self.shelf.put(certificate.arn, certificate)
            if certificate.status == PENDING:
                self._pending[certificate.arn] = inf

    def _issue(self, certificate: Certificate, ago: timedelta = timedelta()) -> None:
        self._pending.pop(certificate.arn, None)
        issued = self.world.time.now() - ago
        self._replace(replace(certificate, status=ISSUED, issued=issued, validated_since=None))

    def _replace(self, certificate: Certificate) -> None:
        self.shelf.put(certificate.arn, certificate)
        for told in self.changed:
            told(certificate)

    def _new_arn(self) -> str:
        return f"arn:aws:acm:{self.region}:{self.account}:certificate/{self.world.ids.uuid()}"
