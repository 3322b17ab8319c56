"""ACK's controllers, simulated: objects of its kinds become what they ask for in the simulated AWS.

    async with acting(plane, cloud, region) as controllers: …

They keep objects of a plane in this process, or of any other server that an `AckCluster` reaches.

As ACK does, an object that is found in AWS before it was ever managed is terminal ("Resource already exists"), unless it has
an adoption policy; AWS's BadRequestException is terminal as well, every other error is recoverable and tried again. The
deletion policy `retain` lets the thing in AWS stay. References are resolved from the status of the object that they name.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec

from edgekeeper.core.json import dig
from kubesim.ack.conditions import conditions
from kubesim.ack.definitions import KINDS, AckKind
from kubesim.ack.resources import RESOURCES, Aws, Tree
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.errors import AwsError
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event

RESYNC: Final = 10.0
"""Seconds between two looks at everything."""
DELETION_POLICY, ADOPTION_POLICY = "services.k8s.aws/deletion-policy", "services.k8s.aws/adoption-policy"
ADOPTION_FIELDS: Final = "services.k8s.aws/adoption-fields"
_REFERENCED: Final = {
    "apiRef": ("API", "apiID", ("apiID",)),
    "domainRef": ("DomainName", "domainName", ("domainName",)),
    "roleRef": ("Role", "role", ("ackResourceMetadata", "arn")),
}
"""The kind that a reference is to, the field that it stands for, and where that is in its status or spec."""
_TERMINAL: Final = ("BadRequestException", "ValidationException", "InvalidParameterValueException")


class AckCluster(Protocol):
    """Where the objects are."""

    def objects(self, kind: AckKind) -> list[Tree]:
        """All objects of a kind, as they were last seen."""

    async def merge(self, path: str, patch: Tree) -> None:
        """Send a merge patch. Raise StatusError if it is refused."""

    def now(self) -> datetime: ...


class _PlaneCluster:
    """A plane in this process."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def objects(self, kind: AckKind) -> list[Tree]:
        collection = self._plane.store.collection(GroupResource(kind.group, kind.plural))
        return [item.decode() for item in collection.ordered()]

    async def merge(self, path: str, patch: Tree) -> None:
        await self._plane.client.merge(path, patch)

    def now(self) -> datetime:
        return self._plane.config.now()


class AckControllers:
    """The controllers of all kinds."""

    def __init__(self, plane: Plane | AckCluster, cloud: AwsCloud, region: str) -> None:
        """Changes in a plane are heard of; of another cluster, `look` is left to the caller."""
        self.aws = Aws(cloud, region)
        self.is_running = True
        """Whether anything is done at all: ACK may be down."""
        self._changed = asyncio.Event()
        self._resources = {GroupResource(kind.group, kind.plural) for kind in KINDS}
        if isinstance(plane, Plane):
            plane.store.listen(self._heard)
        self._cluster: AckCluster = _PlaneCluster(plane) if isinstance(plane, Plane) else plane

    async def run(self) -> None:
        """Look at everything when something changes, and from time to time."""
        while True:
            self._changed.clear()
            if self.is_running:
                await self.look()
            with suppress(TimeoutError):
                async with asyncio.timeout(RESYNC):
                    await self._changed.wait()

    async def look(self) -> None:
        """Bring every object one step further."""
        for kind in KINDS:
            for obj in self._cluster.objects(kind):
                with suppress(StatusError):  # somebody was quicker: it is looked at again
                    await self._reconcile(kind, obj)

    def _heard(self, resource: GroupResource, _: Event) -> None:
        if resource in self._resources:
            self._changed.set()

    async def _reconcile(self, kind: AckKind, obj: Tree) -> None:
        if "deletionTimestamp" in obj["metadata"]:
            await self._finalize(kind, obj)
            return
        try:
            status = await self._made(kind, obj, self._resolved(obj))
        except _TerminalError as error:
            await self._tell(kind, obj, {}, terminal=str(error))
        except AwsError as error:
            text = f"{error.code}: {error}"
            told = {"terminal": text} if error.code in _TERMINAL else {"recoverable": text}
            await self._tell(kind, obj, {}, **told)
        else:
            await self._tell(kind, obj, status)

    async def _made(self, kind: AckKind, obj: Tree, spec: Tree) -> Tree:
        """Find, adopt, create or change what an object stands for. Return its status."""
        annotations = obj["metadata"].get("annotations") or {}
        is_managed = kind.finalizer in obj["metadata"].get("finalizers", ())
        resource, status = RESOURCES[kind.kind], obj.get("status") or {}
        if not is_managed:
            status = {**msgspec.json.decode(annotations.get(ADOPTION_FIELDS, "{}")), **status}
        found = resource.find(self.aws, spec, status)
        if not is_managed:
            if found is not None and ADOPTION_POLICY not in annotations:
                raise _TerminalError("Resource already exists")
            await self._manage(kind, obj)
        if found is None:
            made = resource.create(self.aws, spec)
            self.aws.cloud.changed()
            return made
        resource.update(self.aws, spec, status)
        return found

    async def _finalize(self, kind: AckKind, obj: Tree) -> None:
        metadata = obj["metadata"]
        if kind.finalizer not in metadata.get("finalizers", ()):
            return
        if (metadata.get("annotations") or {}).get(DELETION_POLICY) != "retain":
            try:
                spec = self._resolved(obj, strict=False)
                RESOURCES[kind.kind].delete(self.aws, spec, obj.get("status") or {})
            except AwsError as error:
                await self._tell(kind, obj, {}, recoverable=f"{error.code}: {error}")
                return
            self.aws.cloud.changed()
        kept = [one for one in metadata["finalizers"] if one != kind.finalizer]
        patch = {"metadata": {"finalizers": kept, "resourceVersion": metadata["resourceVersion"]}}
        await self._cluster.merge(_path(kind, obj), patch)

    async def _manage(self, kind: AckKind, obj: Tree) -> None:
        metadata = obj["metadata"]
        finalizers = [*metadata.get("finalizers", ()), kind.finalizer]
        patch = {"metadata": {"finalizers": finalizers, "resourceVersion": metadata["resourceVersion"]}}
        await self._cluster.merge(_path(kind, obj), patch)

    async def _tell(
        self, kind: AckKind, obj: Tree, status: Tree, *, terminal: str = "", recoverable: str = ""
    ) -> None:
        before = obj.get("status") or {}
        owner = {"ownerAccountID": self.aws.account.id, "region": self.aws.region}
        owner |= (before.get("ackResourceMetadata") or {}) | (status.pop("ackResourceMetadata", None) or {})
        now = self._cluster.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        told = conditions(before.get("conditions") or [], now, terminal=terminal, recoverable=recoverable)
        after = {**before, **status, "ackResourceMetadata": owner, "conditions": told}
        if after != before:
            await self._cluster.merge(f"{_path(kind, obj)}/status", {"status": after})

    def _resolved(self, obj: Tree, *, strict: bool = True) -> Tree:
        """The spec with its references resolved. Raise AwsError if one is not ready and the object is not being deleted."""
        spec = dict(obj.get("spec") or {})
        for field, (kind, value, path) in _REFERENCED.items():
            if field in spec:
                found = self._value(obj, kind, spec[field]["from"], path)
                if found is None and strict:
                    key = f"{self._namespace(obj, spec[field]['from'])}/{spec[field]['from']['name']}"
                    raise AwsError("ReferenceNotReady", f"{kind} {key} is not ready")
                spec[value] = found
        return spec

    def _value(self, obj: Tree, kind: str, reference: Tree, path: tuple[str, ...]) -> Any:
        namespace = self._namespace(obj, reference)
        for found in self._objects(kind):
            metadata = found["metadata"]
            if (metadata["namespace"], metadata["name"]) == (namespace, reference["name"]):
                return dig(found.get("status"), *path) or dig(found.get("spec"), *path)
        return None

    def _namespace(self, obj: Tree, reference: Tree) -> str:
        return str(reference.get("namespace") or obj["metadata"]["namespace"])

    def _objects(self, name: str) -> Iterator[Tree]:
        for kind in KINDS:
            if kind.kind == name:
                yield from self._cluster.objects(kind)


class _TerminalError(Exception):
    """A person must act."""


@asynccontextmanager
async def acting(plane: Plane, cloud: AwsCloud, region: str) -> AsyncIterator[AckControllers]:
    """Run ACK's controllers. Their kinds must be installed."""
    controllers = AckControllers(plane, cloud, region)
    task = asyncio.create_task(controllers.run(), name="ACK")
    try:
        yield controllers
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _path(kind: AckKind, obj: Tree) -> str:
    metadata = obj["metadata"]
    return f"/apis/{kind.group}/v1alpha1/namespaces/{metadata['namespace']}/{kind.plural}/{metadata['name']}"
