"""Every example of docs/platform-apis.md does what the page says: files are written and commands run, from top to bottom.

Commands with files run as they are. What the page does with kubectl is done to an embedded cluster in which the operator
runs, with no more rights than the page gives it. (tests/docs follows the page with the real kubectl and all rights.)
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgekeeper.cli.graph import drawn
from edgekeeper.cli.main import run
from edgekeeper.controllers.composition.live_states import read_instance
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import Key
from kubesim.plane.plane import PlaneConfig
from kubesim.plane.request import User
from kubesim.virtual import LoopClock, virtual_time
from tests.composition.definitions.scene import DefinitionScene, scenery
from tests.composition.definitions.test_rights import BINDING, OWN_RULES, ROLE
from tests.docs.comparison import agrees
from tests.docs.page import Example, examples, read

PAGE = read("docs/platform-apis.md")
CONDITION = re.compile(r'\{\.status\.conditions\[\?\(@\.type=="(\w+)"\)\]\.(\w+)\}')
OPERATOR = "system:serviceaccount:edgekeeper:edgekeeper"
TOKEN = "of-the-operator"
RESOURCES = {"rgd": "resourcegraphdefinitions", "webapp": "webapps"}


class Reader:
    """Somebody who does what the page says."""

    def __init__(self, folder: Path, scene: DefinitionScene, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._scene = scene
        self._capsys = capsys
        self._applied: set[tuple[str, Key]] = set()
        self.done: list[str] = []

    async def follow(self, example: Example) -> None:
        if example.file:
            (self._folder / example.file).write_text(example.text)
            if example.file in ("collected.yaml", "rights.yaml"):
                await self._apply(example.file)
            return
        printed = await self._run(example.command)
        self.done.append(example.command)
        assert agrees(printed, example.text), f"$ {example.command}\n{printed}"

    async def _run(self, command: str) -> str:
        words = shlex.split(command)
        if words[:3] == ["kubectl", "apply", "-f"]:
            return await self._apply(words[3])
        if words[:2] == ["kubectl", "wait"]:
            return await self._wait(words[2], words[3])
        if words[:2] == ["kubectl", "get"]:
            resource, name, _, form = words[2:]
            return await self._get(resource, name, form)
        if words[:3] == ["edgekeeper", "graph", "--live"]:
            kind, _, name = words[3].partition("/")
            live = await read_instance(self._scene.user, self._scene.clock, kind, name, "default")
            return drawn(live, "text")
        if words[0] == "edgekeeper":
            return self._edgekeeper(command)
        return self._shell(command)

    def _edgekeeper(self, command: str) -> str:
        """Run it in this process; what it prints may go to a file, or to another command."""
        own, redirection, target = re.fullmatch(r"edgekeeper ([^>|]+)([>|]?)(.*)", command).groups()  # type: ignore[union-attr]
        run(shlex.split(own))
        printed = self._capsys.readouterr().out
        if redirection == "|":
            return self._shell(target, printed)
        if redirection == ">":
            (self._folder / target.strip()).write_text(printed)
            return ""
        return printed

    def _shell(self, command: str, given: str = "") -> str:
        done = subprocess.run(  # noqa: S602 - our own page
            command, shell=True, cwd=self._folder, input=given, capture_output=True, text=True, check=False
        )
        assert not done.stderr, done.stderr
        return done.stdout

    async def _apply(self, file: str) -> str:
        """Do what kubectl does, and say what it says."""
        discovery = Discovery(self._scene.user, self._scene.clock)
        told = []
        for body in yaml.safe_load_all((self._folder / file).read_text()):
            group, _, version = str(body["apiVersion"]).rpartition("/")
            served = await discovery.find(group, body["kind"], version)
            assert served is not None
            key = Key("default" if served.kind.namespaced else "", body["metadata"]["name"])
            verb = "configured" if (body["kind"], key) in self._applied else "created"
            self._applied.add((body["kind"], key))
            told.append(f"{body['kind'].lower()}.{group}/{key.name} {verb}")
            fields = {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}
            await self._scene.user.apply(served.kind, key, fields, manager="kubectl", force=True)
        await self._scene.settle(60)
        return "\n".join(told)

    async def _wait(self, subject: str, awaited: str) -> str:
        """The operator has come to rest: what is waited for has happened, or never does."""
        resource, name = subject.split("/")
        type_, _, status = awaited.removeprefix("--for=condition=").partition("=")
        form = f'jsonpath={{.status.conditions[?(@.type=="{type_}")].status}}'
        assert await self._get(resource, name, form) == (status or "True")
        return f"{RESOURCES[resource].removesuffix('s')}.kro.run/{name} condition met"

    async def _get(self, resource: str, name: str, form: str) -> str:
        discovery = Discovery(self._scene.user, self._scene.clock)
        served = await discovery.find_resource("kro.run", RESOURCES[resource])
        assert served is not None
        key = Key("default" if served.kind.namespaced else "", name)
        found = await self._scene.user.get(served.kind, key)
        return str(_value(found, form.removeprefix("jsonpath=")))


def _value(obj: JsonObject, path: str) -> Any:
    if condition := CONDITION.fullmatch(path):
        (found,) = [one for one in dig_list(obj, "status", "conditions") if one["type"] == condition[1]]
        return found[condition[2]]
    return dig(obj, *path.strip("{}.").split("."))


@asynccontextmanager
async def scene_with_own_rights() -> AsyncIterator[DefinitionScene]:
    """A cluster in which the operator has the rights that it needs for itself, and none on kinds that people define."""
    config = PlaneConfig(
        simulators=frozenset(),
        gateway_api=False,
        now=LoopClock().now,
        auth=True,
        tokens={TOKEN: User(OPERATOR, ())},
    )
    own = [
        {
            "apiGroups": ["kro.run"],
            "resources": ["resourcegraphdefinitions", "resourcegraphdefinitions/status"],
            "verbs": ["*"],
        },
        {"apiGroups": ["internal.kro.run"], "resources": ["*"], "verbs": ["*"]},
        *OWN_RULES[1:],
    ]
    subject = {"kind": "User", "apiGroup": ROLE.group, "name": OPERATOR}
    reference = {"apiGroup": ROLE.group, "kind": "ClusterRole", "name": "own"}
    binding = {"metadata": {"name": "own"}, "roleRef": reference, "subjects": [subject]}
    async with scenery(config) as scene:
        await scene.user.create(ROLE, {"metadata": {"name": "own"}, "rules": own})
        await scene.user.create(BINDING, binding)
        yield scene


def test_examples_of_the_page_do_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    @virtual_time
    async def scenario() -> list[str]:
        async with scene_with_own_rights() as scene, scene.operating(TOKEN):
            reader = Reader(tmp_path, scene, capsys)
            for example in examples(PAGE):
                await reader.follow(example)
            return reader.done

    assert len(scenario()) >= 15


@virtual_time
async def test_rights_of_the_page_are_those_that_the_definition_needs() -> None:
    """The operator itself prints them where it has none but its own."""
    files = {one.file: one.text for one in examples(PAGE) if one.file}
    async with scene_with_own_rights() as scene, scene.operating(TOKEN):
        body = yaml.safe_load(files["webapp.yaml"])
        await scene.create({"metadata": body["metadata"], "spec": body["spec"]})
        asked = yaml.safe_load((await scene.condition("ControllerReady"))[2].partition(":\n")[2])
        assert asked == yaml.safe_load(files["rights.yaml"])
