"""Namespaces whose objects cannot be listed: they hold nobody back for ever, and nobody waits without saying why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.calls import CallRecord
from edgekeeper.kube.errors import ApiError, ForbiddenError
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

OTHER = "other"
FORBIDDEN = ForbiddenError(403, "Forbidden", "not yours")
FAILING = ApiError(500, "InternalError", "try later")


class Unlistable:
    """Refuses to list the objects of one namespace, with one error after the other; the last one stays."""

    def __init__(self, errors: Sequence[ApiError]) -> None:
        self._errors = list(errors)
        self.refused = 0

    async def before(self, call: CallRecord) -> None:
        is_listing = (call.operation, call.subject) == (f"LIST {KIND.plural}", OTHER)
        if is_listing and self._errors:
            self.refused += 1
            raise self._errors.pop(0) if len(self._errors) > 1 else self._errors[0]

    async def after(self, call: CallRecord) -> None: ...

    def end(self) -> None:
        self._errors.clear()


@asynccontextmanager
async def _watching(*errors: ApiError) -> AsyncIterator[tuple[Scene, Unlistable]]:
    """A scene whose operator was just told to watch another namespace, too."""
    unlistable = Unlistable(errors)
    async with playing() as scene:
        operator = scene.stage.operator
        operator.calls.hooks.append(unlistable)
        await scene.elapse(seconds=10)
        operator.controllers[0].set_namespaces((KEY.namespace, OTHER))
        await scene.elapse(seconds=10)
        assert unlistable.refused > 0
        yield scene, unlistable


@pytest.mark.parametrize(
    "errors",
    [
        pytest.param([FORBIDDEN], id="for good"),
        pytest.param([FORBIDDEN, FAILING], id="and the server fails afterwards"),
    ],
)
@virtual_time
async def test_namespace_that_may_not_be_listed_holds_no_tenant_back(errors: list[ApiError]) -> None:
    async with _watching(*errors) as (scene, unlistable):
        await scene.elapse(minutes=2)
        assert unlistable.refused > 1
        await scene.create(tenant())
        await scene.elapse(seconds=10)
        assert scene.names == [KEY.name]


@virtual_time
async def test_tenant_that_waits_for_a_namespace_to_be_listed_says_so_within_a_minute() -> None:
    async with _watching(FAILING) as (scene, unlistable):
        await scene.create(tenant())
        await scene.elapse(seconds=60)
        synced = scene.fact("Synced")
        assert synced[:2] == ("False", "CloudUnavailable")
        assert synced.message.startswith("it is not known yet which other objects want the same: ")
        assert scene.fact("Ready").status == "Unknown"
        assert scene.names == []
        unlistable.end()
        await scene.ready()
        assert scene.fact("Synced").status == "True"
        assert len(scene.events("CloudUnavailable")) == 1
