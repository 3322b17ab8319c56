"""Sessions of assumed roles: one per role, shared by all its clients, renewed before it ends.

A session lasts an hour and is renewed in its last quarter by the first call that comes along; in its last ten minutes
calls wait for the new one. All who wait share one AssumeRole. A refusal is remembered for a moment, because a thousand
objects that name the same wrong role would otherwise ask a thousand times.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from aiobotocore.credentials import AioDeferredRefreshableCredentials

from edgekeeper.cloud.aws.roles import Role
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError, Stall

SESSION_LENGTH: Final = timedelta(hours=1)
"""The longest that AWS allows where one role assumes another."""
REFUSAL_REMEMBERED: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class AssumedSession:
    """What AssumeRole gives. Its text must not appear anywhere."""

    key_id: str
    secret_key: str
    token: str
    expires: datetime

    def __repr__(self) -> str:
        return f"AssumedSession(expires={self.expires.isoformat()})"


Assume: TypeAlias = Callable[[Role], Awaitable[AssumedSession]]


class Roles:
    """The sessions of all roles that are in use."""

    def __init__(self, assume: Assume, clock: Clock) -> None:
        self._assume = assume
        self._clock = clock
        self._sessions: dict[Role, AioDeferredRefreshableCredentials] = {}
        self._refusals: dict[Role, tuple[float, PassError]] = {}

    async def credentials(self, role: Role) -> AioDeferredRefreshableCredentials:
        """The credentials of a role, fresh enough for a call. They renew themselves afterwards."""
        session = self._sessions.get(role) or self._sessions.setdefault(role, self._new_session(role))
        await session.get_frozen_credentials()
        return session

    def _new_session(self, role: Role) -> AioDeferredRefreshableCredentials:
        async def renew() -> dict[str, str]:
            return await self._renew(role)

        return AioDeferredRefreshableCredentials(
            refresh_using=renew, method="assume-role", time_fetcher=self._clock.now
        )

    async def _renew(self, role: Role) -> dict[str, str]:
        """Assume the role, in the words that botocore understands."""
        until, refusal = self._refusals.get(role, (0.0, None))
        if refusal is not None and self._clock.monotonic() < until:
            raise refusal
        try:
            session = await self._assume(role)
        except Stall as refused:
            until = self._clock.monotonic() + REFUSAL_REMEMBERED.total_seconds()
            self._refusals[role] = (until, refused)
            raise
        self._refusals.pop(role, None)
        return {
            "access_key": session.key_id,
            "secret_key": session.secret_key,
            "token": session.token,
            "expiry_time": session.expires.isoformat(),
            "account_id": role.account,
        }
