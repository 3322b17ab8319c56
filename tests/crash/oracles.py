"""Who judges a run. Each oracle says in words what is wrong; silence means that all is well.

while it runs    the ten laws at every write of a status; Ready only where it is true; no secret in any object
after it         the same end as without faults, outside as well as inside; as many creations and deletions; no orphan,
                 no duplicate; a day without a single write; no secret in logs and metrics
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from edgekeeper.core.conditions import status_violations
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Kind
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.crash.faults import TracedCall
from tests.crash.stage import Stage
from tests.crash.system import Outside, Scenario, W

_SECRETS = GroupResource("", "secrets")
_KEPT = ("name", "namespace", "generation", "labels", "annotations", "finalizers")


@dataclass(frozen=True)
class Record:
    """What is left of a run."""

    calls: tuple[TracedCall, ...]
    """Until everything had settled."""
    trace: tuple[TracedCall, ...]
    cluster: JsonObject
    outside: JsonObject
    tally: Mapping[str, tuple[int, int]]
    repeated: tuple[str, ...]
    faults: tuple[str, ...]
    """What is wrong with this run by itself."""
    begun: int = 0
    """How many of the calls came before the scenario began."""


class Watchman:
    """Judges every commit of the server, at the moment when it happens."""

    def __init__(self, stage: Stage[W]) -> None:
        self.faults: list[str] = []
        self._stage: Stage[Any] = stage
        kinds = (*stage.system.declarations, *stage.system.compared)
        self._kinds = {GroupResource(kind.group, kind.plural): kind for kind in kinds}
        stage.plane.store.listen(self._observe)

    def _observe(self, resource: GroupResource, event: Event) -> None:
        if any(secret in event.item.body for secret in self._hidden(resource)):
            self.faults.append(f"the secret is in {resource} {event.item.key}")
        kind = self._kinds.get(resource)
        if kind is not None and event.type != "DELETED":
            before = event.previous.decode() if event.previous is not None else None
            self._judge(kind, {"kind": kind.kind, **event.item.decode()}, before)

    def _hidden(self, resource: GroupResource) -> Iterator[bytes]:
        """What may not be in an object. Secrets hold theirs encoded."""
        for secret in secrets(self._stage):
            yield secret.encode()
            if resource != _SECRETS:
                yield b64encode(secret.encode())

    def _judge(self, kind: Kind, obj: JsonObject, before: JsonObject | None) -> None:
        system, now = self._stage.system, self._stage.clock.now()
        laws: Iterable[str] = ()
        if kind in system.declarations:
            if before is not None and before.get("status") == obj.get("status"):
                return
            laws = status_violations(obj, before, declaration=system.declarations[kind], now=now)
        elif before is not None and system.is_ready(before):
            return
        lies = system.lies(obj, self._stage.outside) if system.is_ready(obj) else ""
        self.faults += [f"{kind.kind} {obj['metadata']['name']}: {one}" for one in (*laws, lies) if one]


def orphans(stage: Stage[W]) -> Iterator[str]:
    """What bears the mark of an owner that is not there."""
    living = {obj["metadata"]["uid"] for obj in stage.objects()}
    for name, (uid, _) in stage.outside.owners().items():
        if uid not in living:
            yield f"orphan: {name} belongs to {uid}, which does not exist"


def duplicates(outside: Outside) -> Iterator[str]:
    """Two things for one purpose of one owner."""
    for (uid, role), count in Counter(outside.owners().values()).items():
        if count > 1:
            yield f"duplicate: {count} objects are {role} of {uid}"


async def unrest(stage: Stage[W], interval: timedelta) -> list[str]:
    """What still changes after everything has settled."""
    seen, writes = len(stage.trace.calls), stage.outside.writes
    before = cluster_state(stage), stage.outside.state()
    await stage.elapse(seconds=interval.total_seconds())
    late = [call for call in stage.trace.calls[seen:] if call.mutating]
    faults = [f"not quiet: {call}" for call in late[:3]]
    if stage.outside.writes > writes:
        faults.append(f"not quiet: {stage.outside.writes - writes} changes outside")
    if (cluster_state(stage), stage.outside.state()) != before:
        faults.append("not quiet: something is different after a while")
    return faults


def leaks(stage: Stage[W], logs: str, metrics: str) -> Iterator[str]:
    for where, text in (("logs", logs), ("metrics", metrics)):
        if any(secret in text for secret in secrets(stage)):
            yield f"the secret is in the {where}"


def secrets(stage: Stage[W]) -> Iterator[str]:
    """All that nobody may see."""
    yield stage.system.canary
    yield from stage.system.secrets(stage.outside)


_GENERATIONS = frozenset({"generation", "observedGeneration"})


def differences(record: Record, clean: Record, scenario: Scenario[W]) -> Iterator[str]:
    """What a run with a fault ended in, against one without.

    In a race it depends on time how often the operator writes into a spec, and so the number of generations.
    """
    ignored = frozenset[str]() if scenario.exact else _GENERATIONS
    for what, one, other in (
        ("cluster", record.cluster, clean.cluster),
        ("outside", record.outside, clean.outside),
    ):
        if _without(one, ignored) != _without(other, ignored):
            yield f"the {what} ends as {one}, without the fault as {other}"
    if scenario.exact and record.tally != clean.tally:
        yield f"created and deleted: {record.tally}, without the fault {clean.tally}"
    if not scenario.exact and record.repeated:
        yield f"created more than once for one owner: {', '.join(record.repeated)}"


def cluster_state(stage: Stage[W]) -> JsonObject:
    """The objects as users know them, without what differs from run to run."""
    return {_name(obj): _comparable(obj, stage) for obj in stage.objects()}


def _comparable(obj: JsonObject, stage: Stage[W]) -> JsonObject:
    system = stage.system
    metadata = {name: obj["metadata"].get(name) for name in _KEPT}
    rest = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
    body = system.comparable({"metadata": metadata, "spec": None, "status": None, **rest}, stage.outside)
    masked: JsonObject = _without(body, system.masked)
    return masked


def _without(tree: Any, fields: frozenset[str]) -> Any:
    if isinstance(tree, dict):
        return {name: _without(value, fields) for name, value in tree.items() if name not in fields}
    return [_without(one, fields) for one in tree] if isinstance(tree, list) else tree


def _name(obj: JsonObject) -> str:
    metadata = obj["metadata"]
    return f"{obj['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
