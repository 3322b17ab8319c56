"""Discovery: which kinds the server serves, with their scope, verbs and names.

    discovery = Discovery(client, clock)
    stop = discovery.follow(informers)                 # invalidated when a CustomResourceDefinition changes
    served = await discovery.find("example.com", "Widget")
    if served is not None and "watch" in served.verbs: …

All groups are read with two requests (aggregated discovery). From a server that does not support it, the kinds of a
group are read when they are needed.

Guarantees
    - None means that the server does not serve the kind. If that is unknown, because an aggregated API server does not
      respond, UnreachableError is raised.
    - Results are cached for `lifetime`, or until `invalidate`: call it after a 404 for a kind; `follow` calls it when a
      CustomResourceDefinition changes. If a kind is not in the cache, the server is asked again, at most every two
      seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError, UnreachableError
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from edgekeeper.kube.store import Change

LIFETIME = timedelta(minutes=10)
_LEAST_AGE = 2.0
_AGGREGATED = "APIGroupDiscoveryList"
_FORM = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
_ACCEPT = ",".join([_FORM.format("v2"), _FORM.format("v2beta1"), "application/json"])


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A kind in one version, as the server serves it."""

    kind: Kind
    verbs: frozenset[str]
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    """Their names, such as `status` and `scale`."""


@dataclass(slots=True)
class _Version:
    """A version of a group. `kinds` is None until they are read."""

    name: str
    kinds: tuple[ServedKind, ...] | None
    stale: bool = False
    """Whether the aggregated API server does not respond, so that the kinds may be out of date or missing."""


class Discovery:
    """A cache of the kinds that one server serves."""

    def __init__(self, client: KubeClient, clock: Clock, lifetime: timedelta = LIFETIME) -> None:
        self._client = client
        self._clock = clock
        self._lifetime = lifetime.total_seconds()
        self._groups: dict[str, list[_Version]] = {}
        """Versions by group, the preferred one first."""
        self._asked_at: float | None = None
        self._asking = asyncio.Lock()

    async def find(self, group: str, kind: str, version: str = "") -> ServedKind | None:
        """The kind of this name, in `version` or else in the first version that has it, the preferred one first."""
        return await self._find(group, version, lambda served: served.kind.kind == kind)

    async def find_resource(self, group: str, plural: str, version: str = "") -> ServedKind | None:
        """As `find`, by the plural name."""
        return await self._find(group, version, lambda served: served.kind.plural == plural)

    async def is_served(self, kind: Kind) -> bool:
        """Whether exactly this version of the kind is served."""
        return await self.find_resource(kind.group, kind.plural, kind.version) is not None

    async def kinds(self, group: str) -> list[ServedKind]:
        """The kinds of a group in all its versions."""
        async with self._asking:
            await self._refresh(self._lifetime)
            return [
                served for version in self._groups.get(group, ()) for served in await self._in(group, version)
            ]

    def invalidate(self) -> None:
        """Empty the cache: the next call reads from the server."""
        self._asked_at = None

    def follow(self, informers: Informers) -> Callable[[], None]:
        """Invalidate the cache whenever a CustomResourceDefinition changes, until the result is called."""
        definitions = informers.acquire(CUSTOM_RESOURCE_DEFINITION, metadata_only=True)

        def changed(change: Change) -> None:
            if not change.initial:
                self.invalidate()

        unsubscribe = definitions.subscribe(changed)

        def stop() -> None:
            unsubscribe()
            informers.release(definitions)

        return stop

    async def _find(self, group: str, version: str, fits: Callable[[ServedKind], bool]) -> ServedKind | None:
        async with self._asking:
            for oldest in (self._lifetime, _LEAST_AGE):
                await self._refresh(oldest)
                async for served in self._search(group, version):
                    if fits(served):
                        return served
        if any(each.stale for each in self._groups.get(group, ()) if version in ("", each.name)):
            raise UnreachableError(f"the API of group {group} does not answer the API server")
        return None

    async def _search(self, group: str, version: str) -> AsyncIterator[ServedKind]:
        for each in self._groups.get(group, ()):
            if version in ("", each.name):
                for served in await self._in(group, each):
                    yield served

    async def _in(self, group: str, version: _Version) -> tuple[ServedKind, ...]:
        """The kinds of a version, read from the server if it does not support aggregated discovery."""
        if version.kinds is None:
            path = f"/apis/{group}/{version.name}" if group else f"/api/{version.name}"
            try:
                version.kinds = tuple(_listed(group, version.name, await self._client.fetch(path)))
            except NotFoundError:
                version.kinds = ()  # removed between the two requests
        return version.kinds

    async def _refresh(self, oldest: float) -> None:
        """Read the groups from the server, unless the cache is younger than `oldest` seconds."""
        now = self._clock.monotonic()
        if self._asked_at is not None and now - self._asked_at < oldest:
            return
        core = await self._client.fetch("/api", accept=_ACCEPT)
        others = await self._client.fetch("/apis", accept=_ACCEPT)
        self._groups = {**_groups_in(core), **_groups_in(others)}
        self._asked_at = now


def _groups_in(answer: JsonObject) -> dict[str, list[_Version]]:
    """The groups of a response, aggregated or not."""
    if answer.get("kind") == _AGGREGATED:
        return {
            _text(group, "metadata", "name"): list(_aggregated(group)) for group in dig_list(answer, "items")
        }
    if answer.get("kind") == "APIVersions":
        return {"": [_Version(str(name), None) for name in dig_list(answer, "versions")]}
    return {_text(group, "name"): _in_order(group) for group in dig_list(answer, "groups")}


def _in_order(group: JsonObject) -> list[_Version]:
    """The versions of a group that is not aggregated, the preferred one first."""
    preferred = dig(group, "preferredVersion", "version")
    names = [_text(each, "version") for each in dig_list(group, "versions")]
    return [_Version(name, None) for name in sorted(names, key=lambda name: name != preferred)]


def _aggregated(group: JsonObject) -> Iterator[_Version]:
    name = _text(group, "metadata", "name")
    for version in dig_list(group, "versions"):
        served = tuple(_aggregated_kinds(name, _text(version, "version"), dig_list(version, "resources")))
        yield _Version(_text(version, "version"), served, version.get("freshness") == "Stale")


def _aggregated_kinds(group: str, version: str, resources: Iterable[JsonObject]) -> Iterator[ServedKind]:
    for each in resources:
        kind = _text(each, "responseKind", "kind")
        namespaced = each.get("scope") == "Namespaced"
        yield ServedKind(
            Kind(group, version, kind, _text(each, "resource"), namespaced),
            frozenset(dig_list(each, "verbs")),
            _text(each, "singularResource"),
            tuple(dig_list(each, "shortNames")),
            tuple(dig_list(each, "categories")),
            frozenset(_text(sub, "subresource") for sub in dig_list(each, "subresources")),
        )


def _listed(group: str, version: str, answer: JsonObject) -> Iterator[ServedKind]:
    """The kinds of an APIResourceList, which lists subresources beside them as `plural/name`."""
    entries = dig_list(answer, "resources")
    for each in entries:
        plural = _text(each, "name")
        if "/" in plural:
            continue
        parts = [_text(other, "name").partition("/") for other in entries]
        yield ServedKind(
            Kind(group, version, _text(each, "kind"), plural, each.get("namespaced") is True),
            frozenset(dig_list(each, "verbs")),
            _text(each, "singularName"),
            tuple(dig_list(each, "shortNames")),
            tuple(dig_list(each, "categories")),
            frozenset(name for resource, _, name in parts if resource == plural and name),
        )


def _text(tree: Any, *path: str) -> str:
    value = dig(tree, *path)
    return value if isinstance(value, str) else ""
