"""Fill a server with as many objects as it takes, without a request for each.

One object goes the way of every other, through validation and defaulting; the rest are copies of what was stored, put
into the store under names of their own.
"""

from __future__ import annotations

import msgspec

from benchmarks.plane.workload import CRDS_PATH, NAMESPACES_PATH, site
from benchmarks.runtime.workload import FINALIZER, NAMESPACE, SITE, definition, key_of, ready_status
from edgekeeper.core.json import JsonObject
from kubesim.plane import Plane
from kubesim.plane.resource import GroupResource

SITES = GroupResource(SITE.group, SITE.plural)


async def fill(plane: Plane, count: int, *, converged: bool) -> None:
    """Define the kind and store `count` objects: new ones, or such as an operator has left them."""
    await plane.client.create(NAMESPACES_PATH, {"metadata": {"name": NAMESPACE}})
    await plane.client.create(CRDS_PATH, definition())
    await plane.settle()
    await _create_first(plane, converged=converged)
    first = plane.store.collection(SITES).items[key_of(0)]
    for number in range(1, count):
        plane.store.put(SITES, _copy(first.decode(), number))


async def _create_first(plane: Plane, *, converged: bool) -> None:
    body: JsonObject = msgspec.json.decode(site(key_of(0).name))
    if converged:
        body["metadata"]["finalizers"] = [FINALIZER]
    await plane.client.create(SITE.collection_path(NAMESPACE), body)
    if converged:
        await plane.client.merge(SITE.path(key_of(0), "status"), {"status": ready_status()})


def _copy(tree: JsonObject, number: int) -> JsonObject:
    """Another object in all respects that the server and its clients care about."""
    tree["metadata"]["name"] = key_of(number).name
    tree["metadata"]["uid"] = f"{tree['metadata']['uid'][:-12]}{number:012}"
    return tree
