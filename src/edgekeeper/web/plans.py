"""Plans of single objects, computed when somebody asks for one: what `edgekeeper plan` prints.

Reads the clouds as `edgekeeper plan` does, with clients that refuse every change. One plan is computed at a time, and kept
for a few seconds, so that a page that is loaded again and again costs no calls.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.cloud.call_context import sweeping
from edgekeeper.core.clock import Clock, timestamp
from edgekeeper.core.delta import ChangedField, changed_fields
from edgekeeper.core.errors import PassError
from edgekeeper.core.json import JsonObject
from edgekeeper.core.redaction import redact_text
from edgekeeper.core.steps import Effect
from edgekeeper.diagnosis.catalog import KnownKind
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.module import FlagValues, PlannableModule, Process
from edgekeeper.lifecycle.preview import Preview, Verdict, cause_of, in_turns
from edgekeeper.web.directory import Directory
from edgekeeper.web.graphs import Graphs
from edgekeeper.web.journal import MOST_FIELDS
from edgekeeper.web.rows import object_id

KEPT: Final = timedelta(seconds=10)
LIMIT: Final = timedelta(seconds=60)
MOST_KEPT: Final = 100

WORDS: Final = {
    Verdict.CHANGES: "to be changed",
    Verdict.WAITING: "waiting",
    Verdict.SETTLED: "as declared: nothing is to be done",
    Verdict.DRIFTED: "changed outside the operator, and not corrected",
    Verdict.PAUSED: "paused: nothing is done",
    Verdict.ORPHANED: "being deleted, and what it has made is kept",
    Verdict.REFUSED: "to be fixed by a person first",
    Verdict.FAILED: "not known",
}


class PlannedStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step that is left."""

    what: str
    why: str
    waits: bool = False
    fields: list[ChangedField] = []


class PlanView(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is left to do for an object."""

    at: str
    verdict: str
    words: str
    steps: list[PlannedStep] = []
    drift: list[ChangedField] = []
    error: str = ""
    cause: str = ""
    """Why the verdict is so: a reason, the drift policy, what is kept."""


class Plans:
    """Computes plans, one at a time."""

    def __init__(
        self,
        directory: Directory,
        process: Callable[[], Process],
        values: FlagValues,
        clock: Clock,
        graphs: Graphs | None = None,
    ) -> None:
        """`process` makes the services for one plan, with clients that refuse changes; `graphs` preview instances."""
        self._graphs = graphs
        self._directory = directory
        self._process = process
        self._values = values
        self._clock = clock
        self._turn = asyncio.Lock()
        self._kept: OrderedDict[str, tuple[float, PlanView]] = OrderedDict()

    def is_possible(self, known: KnownKind) -> bool:
        is_composed = self._graphs is not None and self._graphs.graph_of(known.kind) is not None
        return isinstance(known.module, PlannableModule) or is_composed

    async def plan(self, known: KnownKind, key: Key) -> PlanView:
        """The plan of an object that exists. Raise TimeoutError if it takes too long."""
        id_ = object_id(known.kind, key)
        async with asyncio.timeout(LIMIT.total_seconds()), self._turn:
            made_at, kept = self._kept.get(id_, (float("-inf"), None))
            if kept is not None and self._clock.monotonic() - made_at < KEPT.total_seconds():
                return kept
            view = await self._compute(known, key)
        self._kept[id_] = (self._clock.monotonic(), view)
        self._kept.move_to_end(id_)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return view

    async def _compute(self, known: KnownKind, key: Key) -> PlanView:
        at = timestamp(self._clock.now())
        try:
            with sweeping():  # what users change goes first
                preview = await self._preview(known, key)
        except PassError as error:
            return PlanView(at, Verdict.FAILED, WORDS[Verdict.FAILED], error=redact_text(error.message))
        if preview is None:
            return PlanView(at, Verdict.SETTLED, "not the operator's business: nothing is to be done")
        return plan_view(preview, at)

    async def _preview(self, known: KnownKind, key: Key) -> Preview | None:
        """What would be done for an object; None if it is nobody's business here, or gone."""
        module, obj = known.module, self._directory.get(known, key)
        if obj is None:
            return None
        if isinstance(module, PlannableModule):
            objects = await self._objects(known)
            previews = await module.preview(self._process(), self._values, objects, [key])
            return previews[0] if previews else None
        if self._graphs is None:
            raise TypeError(f"{known.kind.kind} has no plans")
        return await self._graphs.preview(known.kind, key, obj)

    async def _objects(self, known: KnownKind) -> list[JsonObject]:
        """All objects of a kind, since a plan depends on what others claim."""
        raws = [raw for store in self._directory.stores(known.kind) for _, raw in store.snapshot()]
        return [msgspec.json.decode(raw) async for raw in in_turns(raws)]


def plan_view(preview: Preview, at: str) -> PlanView:
    """A preview as it is shown."""
    is_deletion = preview.deleting and preview.verdict is Verdict.CHANGES
    return PlanView(
        at,
        preview.verdict,
        "to be deleted" if is_deletion else WORDS[preview.verdict],
        [
            PlannedStep(
                redact_text(str(step)),
                redact_text(step.reason),
                step.effect is Effect.WAIT,
                changed_fields(step.changes(), MOST_FIELDS),
            )
            for step in preview.steps
        ],
        changed_fields(preview.differences, MOST_FIELDS),
        redact_text(preview.error.message) if preview.error is not None else "",
        redact_text(cause_of(preview)),
    )
