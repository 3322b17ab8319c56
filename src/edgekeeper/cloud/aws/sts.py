"""Sessions of assumed roles: one per role, shared by all its clients, renewed before it expires.

    remaining lifetime    a call
    over 15 min           uses the session
    15 to 10 min          renews it, unless another call does; if that fails, the call uses the old session
    under 10 min          waits for the new session

Concurrent callers share one AssumeRole. Failures are cached briefly and refusals for some minutes, so that many objects
with the same invalid role do not cause as many calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeAlias

from aiobotocore.credentials import AioCredentials
from botocore.credentials import ReadOnlyCredentials

from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.aws.sessions import AssumedSession
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError, Stall, fresh
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

FAILURE_REMEMBERED: Final = timedelta(seconds=10)
REFUSAL_REMEMBERED: Final = timedelta(minutes=4)
"""No longer than a mirror pauses between two failed listings, so that each of them asks again."""
_RENEWED_FROM: Final = timedelta(minutes=15)
_RENEWED_AT_LATEST: Final = timedelta(minutes=10)


Assume: TypeAlias = Callable[[Role], Awaitable[AssumedSession]]


class RoleCredentials(AioCredentials):
    """Credentials of a role, as botocore's signers ask for them: at every call."""

    def __init__(self, role: Role, assume: Assume, clock: Clock) -> None:
        super().__init__("", "", method="assume-role", account_id=role.account)
        self._role = role
        self._assume = assume
        self._clock = clock
        self._session: AssumedSession | None = None
        self._failure: tuple[float, PassError] | None = None
        self._renewing = asyncio.Lock()

    async def get_frozen_credentials(  # type: ignore[override] # as all of aiobotocore differs from botocore
        self,
    ) -> ReadOnlyCredentials:
        session = await self._fresh_session()
        return ReadOnlyCredentials(session.key_id, session.secret_key, session.token, self._role.account)

    async def _fresh_session(self) -> AssumedSession:
        if self._session is not None and (
            self._lasts(_RENEWED_FROM) or (self._lasts(_RENEWED_AT_LATEST) and self._renewing.locked())
        ):
            return self._session
        async with self._renewing:
            if self._session is None or not self._lasts(_RENEWED_FROM):
                self._session = await self._renewed()
            return self._session

    def _lasts(self, margin: timedelta) -> bool:
        return self._session is not None and self._session.expires - self._clock.now() > margin

    async def _renewed(self) -> AssumedSession:
        try:
            return await self._attempt()
        except PassError as error:
            if self._session is None or not self._lasts(_RENEWED_AT_LATEST):
                raise
            if error.unavailable is None:  # an outage is logged by the transport
                log.warning(
                    "Session of a role cannot be renewed yet", role=self._role.arn, error=error.message
                )
            return self._session

    async def _attempt(self) -> AssumedSession:
        now = self._clock.monotonic()
        if self._failure is not None and now < self._failure[0]:
            raise fresh(self._failure[1])
        try:
            session = await self._assume(self._role)
        except PassError as error:
            lasting = REFUSAL_REMEMBERED if isinstance(error, Stall) else FAILURE_REMEMBERED
            self._failure = (self._clock.monotonic() + lasting.total_seconds(), fresh(error))
            raise
        self._failure = None
        return session


class Roles:
    """The sessions of all roles that are in use."""

    def __init__(self, assume: Assume, clock: Clock) -> None:
        self._assume = assume
        self._clock = clock
        self._credentials: dict[Role, RoleCredentials] = {}

    async def credentials(self, role: Role) -> RoleCredentials:
        """The credentials of a role, fresh enough for a call. They renew themselves afterwards."""
        if role not in self._credentials:
            self._credentials[role] = RoleCredentials(role, self._assume, self._clock)
        credentials = self._credentials[role]
        await credentials.get_frozen_credentials()
        return credentials

    def release(self, role: Role) -> None:
        """Forget a role, with its session or its failure."""
        self._credentials.pop(role, None)
