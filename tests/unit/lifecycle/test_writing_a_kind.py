"""The kind that docs/writing-a-kind.md builds does what the page says, on the embedded API server."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from kubesim.virtual import virtual_time
from tests.crash.stage import Stage, staged
from tests.crash.system import System

PAGE = Path(__file__).parents[3] / "docs" / "writing-a-kind.md"
KEY = Key("default", "welcome")


def _module() -> ModuleType:
    """The code of the page, all of it, as one module."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    module = ModuleType("writing_a_kind")
    sys.modules[module.__name__] = module  # dataclasses look their annotations up there
    exec(compile("\n".join(blocks), str(PAGE), "exec"), module.__dict__)  # noqa: S102 - our own page
    return module


page: Any = _module()


class Lobby:
    """The board as the harness sees the world outside."""

    def __init__(self, _: object) -> None:
        self.board = page.Board()

    @property
    def writes(self) -> int:
        return 0

    def state(self) -> JsonObject:
        return {name: notice.text for name, notice in self.board.notices.items()}

    def tally(self) -> dict[str, tuple[int, int]]:
        return {}

    def repeated(self) -> list[str]:
        return []

    def owners(self) -> dict[str, tuple[str, str]]:
        return {}


class _Uncounted:
    def error(self, error_type: str) -> None: ...

    def drift_detected(self) -> None: ...


SYSTEM: System[Lobby] = System(
    definitions=(page.NOTICE.definition(),),
    declarations={page.KIND: page.NoticeKind.declaration},
    outside=Lobby,
    controllers=lambda services, lobby, _: [page.notice_controller(services, lobby.board, _Uncounted())],
    lies=lambda obj, lobby: (
        "" if lobby.state().get(str(KEY)) == obj["spec"]["text"] else "the board says something else"
    ),
    canary="canary",
)


class Scene:
    """An operator that keeps notices, and what people do."""

    def __init__(self, stage: Stage[Lobby]) -> None:
        self.stage = stage
        self.board = stage.outside.board

    async def hang(self, text: str, **annotations: str) -> None:
        metadata = {"name": KEY.name, "namespace": KEY.namespace, "annotations": annotations}
        obj = {
            "apiVersion": page.KIND.api_version,
            "kind": "Notice",
            "metadata": metadata,
            "spec": {"text": text},
        }
        await self.stage.user.create(page.KIND, obj, namespace=KEY.namespace)
        await self.stage.settled()

    async def patch(self, patch: JsonObject) -> None:
        await self.stage.user.merge_patch(page.KIND, KEY, patch)
        await self.stage.settled()

    @property
    def text(self) -> str:
        notice = self.board.notices.get(str(KEY))
        return notice.text if notice else ""

    def condition(self, type_: str) -> tuple[str, str]:
        (obj,) = self.stage.objects()
        (found,) = [one for one in obj["status"]["conditions"] if one["type"] == type_]
        return found["status"], found["reason"]


@asynccontextmanager
async def keeping() -> AsyncIterator[Scene]:
    async with staged(SYSTEM) as stage:
        stage.start_operator()
        yield Scene(stage)


@virtual_time
async def test_notice_is_hung_changed_and_taken_down() -> None:
    async with keeping() as scene:
        await scene.hang("welcome")
        assert (scene.text, scene.condition("Ready")) == ("welcome", ("True", "Hung"))
        await scene.patch({"spec": {"text": "goodbye"}})
        assert scene.text == "goodbye"
        await scene.stage.user.delete(page.KIND, KEY)
        await scene.stage.elapse(seconds=60)
        assert scene.board.notices == {}
        assert list(scene.stage.objects()) == []


@virtual_time
async def test_drift_is_corrected_or_reported() -> None:
    async with keeping() as scene:
        await scene.hang("welcome")
        scene.board.notices[str(KEY)] = page.Notice("graffiti", scene.board.notices[str(KEY)].owner)
        await scene.stage.elapse(seconds=600)
        assert scene.text == "welcome"
        await scene.patch({"metadata": {"annotations": {"edgekeeper.io/drift-policy": "report"}}})
        scene.board.notices[str(KEY)] = page.Notice("graffiti", scene.board.notices[str(KEY)].owner)
        await scene.stage.elapse(seconds=600)
        assert scene.text == "graffiti"
        assert scene.condition("Synced") == ("False", "DriftDetected")


@virtual_time
async def test_notice_of_somebody_else_is_left_unless_it_may_be_adopted() -> None:
    async with keeping() as scene:
        scene.board.notices[str(KEY)] = page.Notice("lost cat", "a neighbour")
        await scene.stage.user.create(
            page.KIND,
            {
                "apiVersion": page.KIND.api_version,
                "kind": "Notice",
                "metadata": {"name": KEY.name, "namespace": KEY.namespace},
                "spec": {"text": "welcome"},
            },
            namespace=KEY.namespace,
        )
        await scene.stage.elapse(seconds=60)
        assert (scene.text, scene.condition("Ready")) == ("lost cat", ("False", "NameConflict"))
        await scene.patch({"metadata": {"annotations": {"edgekeeper.io/adopt": "true"}}})
        assert (scene.text, scene.condition("Ready")) == ("welcome", ("True", "Hung"))


@virtual_time
async def test_orphaned_notice_stays_without_our_mark() -> None:
    async with keeping() as scene:
        await scene.hang("welcome", **{"edgekeeper.io/deletion-policy": "Orphan"})
        await scene.stage.user.delete(page.KIND, KEY)
        await scene.stage.elapse(seconds=60)
        assert scene.board.notices[str(KEY)] == page.Notice("welcome", "")
        assert list(scene.stage.objects()) == []


@virtual_time
async def test_paused_notice_says_so_and_stays() -> None:
    async with keeping() as scene:
        await scene.hang("welcome")
        await scene.patch({"metadata": {"annotations": {"edgekeeper.io/paused": "true"}}})
        await scene.patch({"spec": {"text": "goodbye"}})
        await scene.stage.elapse(seconds=60)
        assert scene.text == "welcome"
        assert scene.condition("Paused") == ("True", "Paused")


def test_page_stays_a_short_read() -> None:
    assert len(PAGE.read_text().splitlines()) < 400
