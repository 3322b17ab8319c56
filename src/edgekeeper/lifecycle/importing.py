"""Manifests for what exists in a cloud already, for `edgekeeper import`: the inverse of what a kind makes of its objects.

    results = await module.import_resources(process, values, request)
    result.manifests        what to apply; each has the annotation `edgekeeper.io/adopt: "true"`
    result.refusals         what the kind cannot express, by field
    result.owner            why a resource is left out: it has an owner

*Guarantees, which each kind gives*
 - Nothing is written, neither to a cloud nor to the cluster.
 - Applying a manifest without refusals changes nothing in the cloud but ownership marks.
 - Nothing is left out silently: what a manifest does not have is a refusal, or a note where it stays as it is.
 - The same resources result in the same manifests.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from itertools import count
from typing import Final, TypeAlias, TypeVar

import msgspec

from edgekeeper.core.annotations import ADOPT
from edgekeeper.core.errors import PassError, Retry, Wait
from edgekeeper.core.json import JsonObject
from edgekeeper.core.names import DNS_LABEL, HASH_LENGTH, fingerprint
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import Key, Kind

T = TypeVar("T")
S = TypeVar("S")

Progress: TypeAlias = Callable[[int, int], None]

CONCURRENCY: Final = 16
"""Resources that are read at the same time. The budget limits how many calls that makes."""
ATTEMPTS: Final = 5
LONGEST_PAUSE: Final = timedelta(seconds=30)
_LONGEST_NAME: Final = 63


@dataclass(frozen=True, slots=True)
class ImportRefusal:
    """Something about a resource that no manifest can express without a change in the cloud."""

    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


@dataclass(frozen=True)
class ImportResult:
    """What became of one resource."""

    resource: str
    """The resource in words, such as `tenant shop`."""
    manifests: tuple[JsonObject, ...] = ()
    """Objects that declare it. With refusals they declare only a part, and applying them may change something."""
    refusals: tuple[ImportRefusal, ...] = ()
    notes: tuple[str, ...] = ()
    """What stays as it is and is not managed."""
    owner: str = ""
    """Why there is nothing to import: who has the resource already."""

    @classmethod
    def unreadable(cls, resource: str, error: PassError) -> ImportResult:
        """A resource that could not be read."""
        return cls(resource, refusals=(ImportRefusal("(all)", f"it cannot be read: {error.message}"),))


def _ignored(done: int, total: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True)
class ImportRequest:
    """What to import, and where its objects shall be."""

    namespace: str = ""
    """The namespace of all objects; empty if the user named none."""
    default_namespace: str = "default"
    """The namespace of objects for which there is no better one."""
    patterns: tuple[str, ...] = ()
    """Globs of names and hostnames; none for everything."""
    progress: Progress = _ignored
    """Called whenever a resource was read, with how many were, and of how many."""

    @property
    def home(self) -> str:
        return self.namespace or self.default_namespace

    def selects(self, names: Iterable[str]) -> bool:
        """Does one of these names match a pattern? Everything does if there are no patterns."""
        given = [name.lower() for name in names]
        return not self.patterns or any(
            fnmatchcase(name, pattern.lower()) for name in given for pattern in self.patterns
        )


@dataclass(frozen=True)
class Findings:
    """What the import of one resource has found so far."""

    refusals: list[ImportRefusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, path: str, reason: str) -> None:
        self.refusals.append(ImportRefusal(path, reason))

    def result(self, resource: str, *manifests: JsonObject) -> ImportResult:
        return ImportResult(resource, manifests, tuple(dict.fromkeys(self.refusals)), tuple(self.notes))


def manifest(kind: Kind, namespace: str, name: str, spec: JsonObject, **annotations: str) -> JsonObject:
    """An object that may adopt what exists."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {ADOPT: "true", **annotations},
        },
        "spec": spec,
    }


def derived_names(sources: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """A valid name of an object (RFC 1123) for each source, such as a hostname; different for different sources.

    A name ends with a hash of its source if it would be ambiguous, too long, or is `taken`: whichever sources there are
    besides, a source has one of two names.
    """
    readable = {source: _readable(source) for source in dict.fromkeys(sources)}
    counts = Counter(readable.values())
    return {
        source: name
        if counts[name] == 1 and name not in taken and 0 < len(name) <= _LONGEST_NAME
        else _hashed(name, source)
        for source, name in readable.items()
    }


def _readable(source: str) -> str:
    return DNS_LABEL.readable(source.replace("*", "wildcard"))


def _hashed(name: str, source: str) -> str:
    stem = DNS_LABEL.trimmed(name[: _LONGEST_NAME - HASH_LENGTH - 1]) or "x"
    return f"{stem}-{fingerprint(source)}"


def tag_owner(kind: str, tags: Mapping[str, str]) -> str:
    """Who owns a resource by its ownership tags, in words; empty if it has none."""
    marks = {key.removeprefix(TAG_PREFIX): text for key, text in tags.items() if key.startswith(TAG_PREFIX)}
    if not marks:
        return ""
    name = "/".join(filter(None, (marks.get("namespace"), marks.get("name")))) or "?"
    return f"owned by {kind} {name} of cluster {marks.get('cluster', '?')}, by its tags"


# Reading


def key_of(obj: JsonObject) -> Key:
    return Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


async def listed(client: KubeClient, kind: Kind, namespace: str = "") -> list[JsonObject]:
    """All objects of a kind; none if the cluster does not serve it."""
    try:
        return [
            msgspec.json.decode(raw)
            async for page in client.pages(kind, namespace=namespace)
            for raw in page.items
        ]
    except NotFoundError:
        return []


async def patiently(read: Callable[[], Awaitable[T]]) -> T:
    """Read something, and again after a pause if the failure may be temporary. Raise PassError if it is not."""
    pause = timedelta(seconds=1)
    for attempt in range(ATTEMPTS):
        try:
            return await read()
        except (Retry, Wait) as error:
            if attempt == ATTEMPTS - 1:
                raise
            wanted = max(pause, error.after if isinstance(error, Wait) else pause)
            await asyncio.sleep(min(wanted, LONGEST_PAUSE).total_seconds())
            pause *= 2
    raise AssertionError("unreachable")


async def for_each(
    items: Sequence[S], work: Callable[[S], Awaitable[T]], progress: Progress = _ignored
) -> list[T]:
    """The results for all items, in their order, some at the same time."""
    turns, done = asyncio.Semaphore(CONCURRENCY), count(1)

    async def in_turn(item: S) -> T:
        async with turns:
            result = await work(item)
            progress(next(done), len(items))
            return result

    return list(await asyncio.gather(*(in_turn(item) for item in items)))
