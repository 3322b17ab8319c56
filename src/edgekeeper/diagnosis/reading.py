"""Reads objects for people: what does not exist or may not be read is absent, and remembered as such.

reader = ClusterReader(client)
obj = await reader.get(kind, key)         None if it does not exist
reader.denials                            what RBAC did not let us read
"""

from __future__ import annotations

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import Key, Kind


class ClusterReader:
    """Implements `lifecycle.relations.Reader`. Objects are read once."""

    def __init__(self, client: KubeClient) -> None:
        self.client = client
        self.denials: dict[str, str] = {}
        """What may not be read, as `secrets in edge`, with the message of the server."""
        self.unserved: set[Kind] = set()
        """Kinds that the cluster does not serve."""
        self._objects: dict[tuple[Kind, Key], JsonObject | None] = {}

    async def get(self, kind: Kind, key: Key) -> JsonObject | None:
        if (kind, key) not in self._objects:
            self._objects[kind, key] = await self._read(kind, key)
        return self._objects[kind, key]

    def denial(self, kind: Kind, namespace: str) -> str | None:
        """The message, if objects of a kind could not be read for lack of rights."""
        return self.denials.get(_place(kind, namespace))

    async def select(self, kind: Kind, namespace: str = "", labels: str = "") -> list[JsonObject]:
        found: list[JsonObject] = []
        try:
            async for page in self.client.pages(kind, namespace=namespace, labels=labels):
                found += [_complete(kind, msgspec.json.decode(raw)) for raw in page.items]
        except NotFoundError:
            self.unserved.add(kind)
            return []
        except ForbiddenError as error:
            self.denials[_place(kind, namespace)] = error.message
            return []
        return found

    async def _read(self, kind: Kind, key: Key) -> JsonObject | None:
        try:
            return await self.client.get(kind, key)
        except NotFoundError:
            return None
        except ForbiddenError as error:
            self.denials[_place(kind, key.namespace)] = error.message
            return None


def _complete(kind: Kind, item: JsonObject) -> JsonObject:
    """Items of lists of built-in kinds have neither apiVersion nor kind."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **item}


def _place(kind: Kind, namespace: str) -> str:
    return f"{kind.plural} in {namespace}" if namespace else kind.plural
