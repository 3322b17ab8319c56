"""What the operators have to do: claim an object of 2 KB with a finalizer, and say in its status that it is ready.

The objects are those of the plane's measurements; the status has a few fields more, so that it can be written again.
"""

from __future__ import annotations

from benchmarks.plane import workload as plane_workload
from benchmarks.plane.workload import GROUP, PLURAL, VERSION
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind

SITE = Kind(GROUP, VERSION, "Site", PLURAL)
NAMESPACE = "bench"
FINALIZER = f"{GROUP}/operator"
STAMP = "stamp"
"""The tag that says when somebody changed the object: nanoseconds of the clock that all processes share."""

_STATUS_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}, "round": {"type": "integer"}},
    # What other operators want to remember there is theirs to say.
    "x-kubernetes-preserve-unknown-fields": True,
}


def definition() -> JsonObject:
    """The CustomResourceDefinition."""
    definition = plane_workload.definition()
    (version,) = definition["spec"]["versions"]
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = _STATUS_SCHEMA
    return definition


def key_of(number: int) -> Key:
    return Key(NAMESPACE, f"site-{number:05}")


def ready_status(round_number: int = 0) -> JsonObject:
    """The status of a site that is as it should be. Another round makes it another status."""
    return {"ready": True, "round": round_number}


def is_converged(body: bytes) -> bool:
    """Whether an object, as the server stores it, is claimed and ready. Called for every write, so it does not parse."""
    return b'"ready":true' in body and b'"finalizers":["' in body
