"""Bring manifests into an API server and follow them until they are ready.

    load  →  apply what others build on, wait for it  →  apply the rest, wait for it

Namespaces and CustomResourceDefinitions go first: nothing can be put into a namespace, or be of a kind, that does not
exist yet. Everything is applied server-side under one field manager, so applying the same files again changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.manifest import Manifest
from edgekeeper.cli.readiness import assess
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.core.readiness import PENDING, Readiness

FIELD_MANAGER = "edgekeeper-up"
FOUNDATIONS = ("Namespace", "CustomResourceDefinition")
POLL_INTERVAL = 0.05


class ApiServer(Protocol):
    """What applying needs of an API server. A refusal is a `CommandError` in the server's words."""

    async def get(self, path: str) -> JsonObject: ...

    async def apply(self, path: str, body: JsonObject, manager: str) -> JsonObject: ...


@dataclass
class Tracked:
    """An applied object: what was asked for, what the server holds now, and whether that is ready."""

    manifest: Manifest
    path: str = ""
    body: JsonObject | None = None

    @property
    def readiness(self) -> Readiness:
        return PENDING if self.body is None else assess(self.body)

    @property
    def label(self) -> str:
        """Where the object lives; the server's copy knows the namespace that the manifest left out."""
        metadata = (self.body or self.manifest.body)["metadata"]
        namespace = metadata.get("namespace")
        return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])

    def __str__(self) -> str:
        return f"{self.manifest.kind} {self.label} ({self.readiness.reason})"


Observer = Callable[[Sequence[Tracked]], None]
"""Told whenever anything may have changed; draws the progress."""


class Applier:
    """Applies manifests to one server and watches over them."""

    def __init__(self, server: ApiServer, manifests: Sequence[Manifest], observe: Observer) -> None:
        self._server = server
        self._observe = observe
        self.tracked = [Tracked(manifest) for manifest in manifests]

    async def run(self) -> None:
        """Apply everything and return when all of it is ready."""
        foundations = [item for item in self.tracked if item.manifest.kind in FOUNDATIONS]
        others = [item for item in self.tracked if item.manifest.kind not in FOUNDATIONS]
        for stage in (foundations, others):
            for item in stage:
                await self._apply(item)
            await self._await_ready(stage)

    async def _apply(self, item: Tracked) -> None:
        manifest = item.manifest
        item.path = await self._path_of(manifest)
        try:
            item.body = await self._server.apply(item.path, manifest.body, FIELD_MANAGER)
        except CommandError as refusal:
            raise CommandError(
                f"cannot apply {manifest}: {refusal.message}", f"see {manifest.source}"
            ) from refusal
        self._observe(self.tracked)

    async def _path_of(self, manifest: Manifest) -> str:
        """Ask discovery where objects of this kind live."""
        group = "/apis/" if "/" in manifest.api_version else "/api/"
        base = group + manifest.api_version
        try:
            listing = await self._server.get(base)
        except CommandError:
            listing = {}  # an unknown group and an unknown kind have the same remedy
        for resource in dig_list(listing, "resources"):
            if resource["kind"] == manifest.kind and "/" not in resource["name"]:
                namespace = (
                    f"/namespaces/{quote(manifest.namespace or 'default')}" if resource["namespaced"] else ""
                )
                return f"{base}{namespace}/{resource['name']}/{quote(manifest.name)}"
        raise CommandError(
            f'cannot apply {manifest}: no kind "{manifest.kind}" in {manifest.api_version}',
            f"apply its CustomResourceDefinition as well (wanted by {manifest.source})",
        )

    async def _await_ready(self, stage: Sequence[Tracked]) -> None:
        while not all(item.readiness.ready for item in stage):
            await asyncio.sleep(POLL_INTERVAL)
            for item in stage:
                item.body = await self._server.get(item.path)
            self._observe(self.tracked)
