"""Takes settings of the OperatorConfig over into the running process: log level, poll interval, watched namespaces.

Every process of the operator does this, whatever its role, while it leads. A field that is not set has the value that the
process was started with. Where there is no OperatorConfig, or it is deleted, settings stay as they are, as the Deployment
does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol

import msgspec

from edgekeeper.controllers.zerotrust.operator_config import (
    KIND,
    ProcessSettings,
    config_in_use,
    process_settings,
    read_config,
)
from edgekeeper.core.errors import Stall
from edgekeeper.core.log import get_logger
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.store import Store

log = get_logger(__name__)


class Adjustable(Protocol):
    """A process whose settings can change while it runs: `runtime.manager.Manager`."""

    def set_namespaces(self, namespaces: Iterable[str]) -> None: ...

    def set_resync(self, interval: timedelta | None) -> None: ...

    def set_log_level(self, level: str) -> None: ...


class SettingsFollower:
    """Follows the OperatorConfig of the operator's namespace."""

    def __init__(
        self, informers: Informers, namespace: str, process: Adjustable, start: ProcessSettings
    ) -> None:
        """`start` are the settings that the process was started with."""
        self._informers = informers
        self._namespace = namespace
        self._process = process
        self._start = start
        self._present = start

    async def run(self) -> None:
        """Follow it until cancelled."""
        informer = self._informers.acquire(KIND, namespace=self._namespace)
        stops = (
            informer.subscribe(lambda _: self._take_over(informer.store)),
            informer.subscribe_state(lambda: self._take_over(informer.store)),
        )
        self._take_over(informer.store)
        try:
            await asyncio.Event().wait()
        finally:
            for stop in stops:
                stop()
            self._informers.release(informer)

    def _take_over(self, store: Store) -> None:
        wanted = self._wanted(store)
        if wanted is None or wanted == self._present:
            return
        before, self._present = self._present, wanted
        log.info("Taking over settings of the OperatorConfig")
        if wanted.log_level != before.log_level:
            self._process.set_log_level(wanted.log_level)
        if wanted.namespaces != before.namespaces:
            self._process.set_namespaces(wanted.namespaces)
        if wanted.resync != before.resync:
            self._process.set_resync(wanted.resync)

    def _wanted(self, store: Store) -> ProcessSettings | None:
        """The settings to have; None where nothing is known, or what is known makes no sense."""
        if not store.synced:
            return None
        found = (store.get(key) for key in store.keys())  # noqa: SIM118 - a store is no dict
        config = config_in_use(obj for obj in found if obj is not None)
        if config is None:
            return None
        try:
            return process_settings(read_config(config).spec, self._start)
        except (Stall, msgspec.ValidationError) as error:
            log.warning(
                "OperatorConfig cannot be taken over", name=config["metadata"]["name"], why=str(error)
            )
            return None
