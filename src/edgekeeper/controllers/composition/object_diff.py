"""What would change in the objects of an instance: rendered objects compared with each other, or with live ones. Pure.

Of a live object only what the template sets is compared: the server, and other controllers, may add to it. So entries of
lists are paired, and values are the same, as in `comparison`. Values that are not known without evaluating against the
cluster are taken to be as they are.
"""

from __future__ import annotations

import difflib
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import yaml

from edgekeeper.controllers.composition.comparison import list_key, paired, value_covers
from edgekeeper.controllers.composition.rendering import NodeState, RenderedNode, Rendering
from edgekeeper.controllers.composition.template import Steps, spell
from edgekeeper.core.delta import ABSENT
from edgekeeper.core.json import JsonObject, dig, dig_object

_MASKED: Final = ("data", "stringData")
_SERVER_FIELDS: Final = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp")
"""Metadata that only the server sets."""


class Identity(NamedTuple):
    """Which object it is, in whatever version."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Child:
    """A rendered object."""

    body: JsonObject
    pending: frozenset[str] = frozenset()
    """Paths of values that are not known."""


@dataclass(frozen=True, slots=True)
class Children:
    """The objects of an instance, as far as it is known which there are."""

    known: Mapping[Identity, Child]
    unknown: Mapping[str, str]
    """By node: why it is not known which objects it has."""


def children_of(rendering: Rendering) -> Children:
    """The objects that an instance would have. Nodes that are only read have none."""
    known: dict[Identity, Child] = {}
    unknown: dict[str, str] = {}
    for node in rendering.nodes:
        if why := _uncertainty(node):
            unknown[node.id] = why
        elif node.state in (NodeState.RENDERED, NodeState.PENDING):
            pending = frozenset(one.path for one in node.pending)
            known.update({identity_of(body): Child(body, pending) for body in node.objects})
    return Children(known, unknown)


def _uncertainty(node: RenderedNode) -> str:
    """Why it is not known which objects a node has; empty if it is."""
    if node.state is NodeState.FAILED:
        return node.message
    for one in node.pending:
        if one.path.startswith(("includeWhen", "forEach")) or one.path in (
            "metadata.name",
            "metadata.namespace",
        ):
            return f"{one.path} waits for {', '.join(one.waits_for)}"
    return ""


def identity_of(body: JsonObject) -> Identity:
    metadata = dig_object(body, "metadata")
    group = str(body.get("apiVersion", "")).rpartition("/")[0]
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    return Identity(group, str(body.get("kind", "")), str(namespace), str(name))


def as_declared(live: JsonObject, child: Child) -> JsonObject:
    """A live object, with only what the template sets, in the order of the template."""
    declared: JsonObject = _without_absent(aligned(live, child))
    return declared


def aligned(live: JsonObject, child: Child) -> JsonObject:
    """The same with ABSENT for entries of lists that it does not have, to be compared with the template place by place."""
    projected: JsonObject = _project(_with_texts(live, child.body), child.body, (), child.pending)
    return {**projected, "apiVersion": child.body["apiVersion"], "kind": child.body["kind"]}


def as_expected(live: JsonObject, child: Child) -> JsonObject:
    """A rendered object, with live values in place of those that are not known."""
    expected: JsonObject = _fill_in(child.body, live, (), child.pending)
    return expected


def _with_texts(live: JsonObject, wanted: JsonObject) -> JsonObject:
    """A live Secret in the form of a template that sets `stringData`, which the server stores as `data`."""
    if live.get("kind") != "Secret" or "stringData" not in wanted:
        return live
    stored = dig_object(live, "data").items()
    return {**live, "stringData": {key: b64decode(value).decode(errors="replace") for key, value in stored}}


def _project(live: Any, wanted: Any, steps: Steps, pending: frozenset[str]) -> Any:
    if isinstance(live, dict) and isinstance(wanted, dict):
        return {
            key: _project(live.get(key), inner, (*steps, key), pending)
            for key, inner in wanted.items()
            if key in live or _is_met(None, inner, (*steps, key), pending)
        }
    if isinstance(live, list) and isinstance(wanted, list) and wanted:
        found = _counterparts(live, wanted, steps, pending)
        if found is not None:
            pairs = enumerate(zip(found, wanted, strict=True))
            return [_project(one, inner, (*steps, index), pending) for index, (one, inner) in pairs]
    return wanted if _is_met(live, wanted, steps, pending) else live


def _is_met(live: Any, wanted: Any, steps: Steps, pending: frozenset[str]) -> bool:
    """Whether a live value is known to be as the template says, however the server writes it."""
    return spell(steps) not in pending and value_covers(live, wanted)


def _counterparts(
    live: list[Any], wanted: list[Any], steps: Steps, pending: frozenset[str]
) -> list[Any] | None:
    """`paired`, by places if a key is not known."""
    key = list_key(live, wanted)
    is_known = all(spell((*steps, index, key)) not in pending for index in range(len(wanted)))
    return paired(live, wanted, key if is_known else "")


def _without_absent(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_absent(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_absent(one) for one in value if one is not ABSENT]
    return value


def _fill_in(wanted: Any, live: Any, steps: Steps, pending: frozenset[str]) -> Any:
    if spell(steps) in pending:
        return None if live is ABSENT else live
    if isinstance(wanted, dict):
        found = {
            key: _fill_in(inner, dig(live, key), (*steps, key), pending) for key, inner in wanted.items()
        }
        return {key: value for key, value in found.items() if spell((*steps, key)) not in pending or value}
    if isinstance(wanted, list):
        there = live if isinstance(live, list) else []
        entries = _counterparts(there, wanted, steps, pending) or there
        return [
            _fill_in(inner, dig(entries, index), (*steps, index), pending)
            for index, inner in enumerate(wanted)
        ]
    return wanted


def difference(
    identity: Identity, before: JsonObject | None, after: JsonObject | None, names: tuple[str, str]
) -> list[str]:
    """The lines of a unified diff; none if both are equal. `names` say where each of them comes from."""
    before, after = _masked(before, after)
    old, new = (_lines(one) for one in (before, after))
    places = [f"{name}: {identity}" for name in names]
    lines = difflib.unified_diff(old, new, places[0], places[1], lineterm="", n=3)
    return list(lines)


def changed(
    before: Mapping[Identity, JsonObject], after: Mapping[Identity, JsonObject], names: tuple[str, str]
) -> Iterator[str]:
    """The differences between two sets of objects."""
    for identity in dict.fromkeys((*after, *before)):
        yield from difference(identity, before.get(identity), after.get(identity), names)


def _masked(before: JsonObject | None, after: JsonObject | None) -> tuple[JsonObject | None, ...]:
    """Both objects, without the values of Secrets: only whether they differ is shown."""
    if "Secret" not in (dig(before, "kind"), dig(after, "kind")):
        return before, after
    return _mask(before, after, "before"), _mask(after, before, "after")


def _mask(obj: JsonObject | None, other: JsonObject | None, side: str) -> JsonObject | None:
    if obj is None:
        return None
    masked = dict(obj)
    for field in _MASKED:
        if isinstance(obj.get(field), dict):
            theirs = dig_object(other, field)
            masked[field] = {
                key: "***" if theirs.get(key, value) == value else f"*** ({side})"
                for key, value in obj[field].items()
            }
    return masked


def _lines(obj: JsonObject | None) -> list[str]:
    if obj is None:
        return []
    text: str = yaml.safe_dump(_sorted(obj), sort_keys=False, width=110, allow_unicode=True)
    return text.splitlines()


def _sorted(obj: JsonObject) -> JsonObject:
    """With apiVersion, kind and metadata first, and everything else by name."""
    first = ("apiVersion", "kind", "metadata")
    keys = [*(key for key in first if key in obj), *sorted(key for key in obj if key not in first)]
    return {key: _by_name(obj[key]) for key in keys}


def _by_name(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _by_name(value[key]) for key in sorted(value)}
    return [_by_name(one) for one in value] if isinstance(value, list) else value


def without_server_fields(obj: JsonObject) -> JsonObject:
    """A live object that is to be removed, as it is shown."""
    metadata = {key: value for key, value in dig_object(obj, "metadata").items() if key not in _SERVER_FIELDS}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}
