"""What carrying out a task would take: the same observation and decision, from mirrors alone, and nothing is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Final, TypeVar

from edgekeeper.api.zerotrust_task import TaskSpec
from edgekeeper.cloud.cloudflare.accounts import Cloudflare
from edgekeeper.cloud.outbox import News
from edgekeeper.controllers.zerotrust.credentials import TokenUsers
from edgekeeper.controllers.zerotrust.decide import work
from edgekeeper.controllers.zerotrust.observe import Base, Observer
from edgekeeper.controllers.zerotrust.snapshot import Subject
from edgekeeper.core.errors import Cause, Wait
from edgekeeper.core.steps import Step
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import NotSyncedError

T = TypeVar("T")

PATIENCE: Final = timedelta(seconds=30)
_POLL_SECONDS: Final = 0.05
_LISTING: Final = frozenset({Cause.UNLISTED, Cause.CREDENTIALS})
_PENDING: Final = frozenset({"MirrorNotSynced", "CredentialPending"})


class TaskPreviews:
    """Looks at Cloudflare for tasks that do not exist yet."""

    def __init__(self, cloudflare: Cloudflare, credentials: TokenUsers, observer: Observer) -> None:
        self._cloudflare = cloudflare
        self._credentials = credentials
        self._observer = observer

    async def steps(self, route: Key, spec: TaskSpec) -> Sequence[Step]:
        """The steps that would carry out a spec. Raise PassError where Cloudflare cannot be looked at, or refuses it."""

        async def look() -> Sequence[Step]:
            credential = self._credentials.credential(route, spec.credential_secret_ref)
            account = self._cloudflare.account(credential, spec.account_id)
            base = Base(Subject(route, spec.httproute_ref.uid, 0, spec), account, News())
            return list(work(await self._observer.observe(base, live=False)))

        return await once_listed(look)


async def once_listed(look: Callable[[], Awaitable[T]]) -> T:
    """Repeat `look` until what it depends on was listed, for `PATIENCE` at most."""
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE.total_seconds()
    while True:
        try:
            return await look()
        except Wait as wait:
            is_listing = wait.reason in _PENDING and wait.unavailable in _LISTING
            if not is_listing or loop.time() >= until:
                raise
        except NotSyncedError as error:
            if loop.time() >= until:
                raise Wait(PATIENCE, "NotSynced", str(error)) from error
        await asyncio.sleep(_POLL_SECONDS)
