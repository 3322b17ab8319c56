"""Settings of the OperatorConfig are taken over by processes that run, whatever their role."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import ClassVar

import pytest

from edgekeeper.cli.assembly import Operator
from edgekeeper.controllers.zerotrust.operator_config import KIND
from edgekeeper.core.log import ROOT
from edgekeeper.core.outcome import Outcome, done
from edgekeeper.kube.kinds import CONFIG_MAP, Kind
from edgekeeper.lifecycle.module import Cloud, FlagValues, KindModule, Process
from edgekeeper.runtime.contract import ControllerOptions, Request
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.options import LogOptions, RuntimeOptions
from kubesim.virtual import virtual_time
from tests.logs import capture_logs, log_as_it_was
from tests.zerotrust.operator_scene import CONFIG, HOME, MODULES, UNHEARD, scenery


@pytest.fixture(autouse=True)
def level_as_before() -> Iterator[None]:
    with log_as_it_was():
        yield


class Watching(KindModule):
    """A controller of some kind, which remembers its passes."""

    name: ClassVar = "watching"
    foreign_kind: ClassVar[Kind | None] = CONFIG_MAP
    clouds: ClassVar = frozenset[Cloud]()

    def __init__(self) -> None:
        self.seen: list[str] = []

    def build(self, process: Process, values: FlagValues) -> Controller:
        return Controller(ControllerOptions(self.name, CONFIG_MAP), self, process.services)

    async def reconcile(self, request: Request) -> Outcome:
        self.seen.append(request.key.namespace)
        return done()


def namespaces(operator: Operator) -> set[str]:
    """The namespaces in which the controller of ConfigMaps watches; an empty name for all."""
    controller = next(each for each in operator.manager.controllers if each.options.name == "watching")
    return {informer.selection.namespace for informer in controller.informers}


@virtual_time
async def test_level_namespaces_and_interval_are_taken_over_while_running() -> None:
    watching = Watching()
    runtime = RuntimeOptions(
        server=UNHEARD, namespaces=("default",), resync=timedelta(hours=5), log=LogOptions(level="warning")
    )
    async with scenery() as scene:
        config_map = {"metadata": {"name": "x", "namespace": HOME}}
        await scene.user.create(CONFIG_MAP, config_map)
        async with scene.operating(runtime=runtime, modules=(*MODULES, watching)) as operator:
            await scene.settle()
            assert namespaces(operator) == {"default"}
            await scene.configure(
                environmentVariables={
                    "logLevel": "DEBUG",
                    "watchNamespaces": f"{HOME}, default",
                    "pollIntervalSeconds": 60,
                }
            )
            await scene.settle()
            assert namespaces(operator) == {HOME, "default"}
            assert ROOT.level == logging.DEBUG
            before = watching.seen.count(HOME)
            await scene.settle(600)
            assert 8 <= watching.seen.count(HOME) - before <= 13, "about once a minute"
            await scene.edit(environmentVariables={"watchNamespaces": ""})
            await scene.settle()
            assert namespaces(operator) == {""}


@virtual_time
async def test_fields_that_are_unset_are_as_at_the_start() -> None:
    runtime = RuntimeOptions(server=UNHEARD, namespaces=("default",), log=LogOptions(level="error"))
    async with (
        scenery() as scene,
        scene.operating(runtime=runtime, modules=(*MODULES, Watching())) as operator,
    ):
        await scene.configure(environmentVariables={"logLevel": "DEBUG", "watchNamespaces": HOME})
        await scene.settle()
        assert namespaces(operator) == {HOME}
        await scene.edit(environmentVariables=None)
        await scene.settle()
        assert namespaces(operator) == {"default"}
        assert ROOT.level == logging.ERROR


@virtual_time
async def test_settings_stay_when_the_configuration_is_deleted() -> None:
    async with scenery() as scene, scene.operating(modules=(*MODULES, Watching())) as operator:
        await scene.configure(environmentVariables={"watchNamespaces": HOME})
        await scene.settle()
        await scene.user.delete(KIND, CONFIG)
        await scene.settle()
        assert namespaces(operator) == {HOME}


@virtual_time
async def test_settings_that_make_no_sense_are_told_and_change_nothing() -> None:
    with capture_logs() as lines:
        async with scenery() as scene, scene.operating(modules=(*MODULES, Watching())) as operator:
            await scene.configure(environmentVariables={"watchNamespaces": "Team A", "logLevel": "ERROR"})
            await scene.settle()
            assert namespaces(operator) == {""}
    told = [line for line in lines if line["event"] == "OperatorConfig cannot be taken over"]
    assert told
    assert "'Team A' is not the name of a namespace" in told[0]["why"]


@virtual_time
async def test_process_of_any_role_takes_settings_over() -> None:
    """The worker has no controller of OperatorConfigs, which are the manager's."""
    async with (
        scenery() as scene,
        scene.operating(role="kube-worker", modules=(*MODULES[1:], Watching())) as operator,
    ):
        await scene.configure(environmentVariables={"watchNamespaces": HOME})
        await scene.settle()
        assert namespaces(operator) == {HOME}
        assert "status" not in await scene.config()
