"""Applies manifests to an API server and waits until the objects are ready.

    load  →  apply namespaces and CustomResourceDefinitions, wait  →  apply ResourceGraphDefinitions, wait  →  apply the rest, wait

What other objects depend on comes first: their namespaces, and what defines their kinds. Objects are applied
server-side under one field manager, so applying the same files again changes nothing.
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
from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.core.readiness import PENDING, Readiness

FIELD_MANAGER = "edgekeeper-up"
STAGES = (("Namespace", "CustomResourceDefinition"), ("ResourceGraphDefinition",))
"""The kinds that are applied before all others, and when."""
POLL_INTERVAL = 0.05


class ApiServer(Protocol):
    """The requests that `Applier` makes. A refusal raises `CommandError` with the server's message."""

    async def get(self, path: str) -> JsonObject: ...

    async def apply(self, path: str, body: JsonObject, manager: str) -> JsonObject: ...


@dataclass
class Tracked:
    """An applied object: its manifest and its current state on the server."""

    manifest: Manifest
    path: str = ""
    body: JsonObject | None = None
    composed: bool = False
    """Whether a ResourceGraphDefinition defines its kind: then it is not ready before it has a status."""

    @property
    def readiness(self) -> Readiness:
        is_untold = self.composed and not dig_list(self.body, "status", "conditions")
        return PENDING if self.body is None or is_untold else assess(self.body)

    @property
    def label(self) -> str:
        """`namespace/name`. The server's copy has the namespace even if the manifest has none."""
        metadata = (self.body or self.manifest.body)["metadata"]
        namespace = metadata.get("namespace")
        return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])

    def __str__(self) -> str:
        return f"{self.manifest.kind} {self.label} ({self.readiness.reason})"


Observer = Callable[[Sequence[Tracked]], None]
"""Called with all objects after every request; shows the progress."""


class Applier:
    """Applies manifests to a server and waits until the objects are ready."""

    def __init__(self, server: ApiServer, manifests: Sequence[Manifest], observe: Observer) -> None:
        self._server = server
        self._observe = observe
        composed = {_defined(one.body) for one in manifests if one.kind == "ResourceGraphDefinition"}
        self.tracked = [Tracked(one, composed=(one.api_version, one.kind) in composed) for one in manifests]

    async def run(self) -> None:
        """Apply everything and return when all of it is ready."""
        early = {kind for kinds in STAGES for kind in kinds}
        stages = [[item for item in self.tracked if item.manifest.kind in kinds] for kinds in STAGES]
        for stage in (*stages, [item for item in self.tracked if item.manifest.kind not in early]):
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
        """The path of the object, by discovery. Raise CommandError if its kind is not served."""
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


def _defined(definition: JsonObject) -> tuple[str, str]:
    """API version and kind of the instances of a ResourceGraphDefinition."""
    schema = dig_object(definition, "spec", "schema")
    return f"{schema.get('group') or 'kro.run'}/{schema.get('apiVersion')}", str(schema.get("kind"))
