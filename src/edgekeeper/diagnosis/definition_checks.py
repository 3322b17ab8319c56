"""Whether the CustomResourceDefinitions of a cluster are those of this version. Pure, but for reading them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from edgekeeper.api.definition import CustomKind
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.diagnosis.checks import Result, failed, ok, warning
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION

NAME: Final = "definitions"
INSTALL: Final = "edgekeeper crds | kubectl apply -f -"
_SHOWN: Final = 3


async def check_definitions(reader: ClusterReader, kinds: Sequence[CustomKind]) -> list[Result]:
    """One result for each definition that is missing or differs, or one for all."""
    installed = {
        str(dig(one, "metadata", "name")): one for one in await reader.select(CUSTOM_RESOURCE_DEFINITION)
    }
    if reader.denial(CUSTOM_RESOURCE_DEFINITION, "") is not None:
        return []  # what may not be read is told by whoever reads
    found = [result for kind in kinds for result in judge_definition(kind, installed.get(kind.name))]
    count = len(kinds)
    return found or [
        ok(NAME, f"all {count} CustomResourceDefinitions are installed and as this version ships them")
    ]


def judge_definition(kind: CustomKind, installed: JsonObject | None) -> Iterator[Result]:
    """What is wrong with an installed definition."""
    if installed is None:
        yield failed(NAME, f"CustomResourceDefinition {kind.name} is not installed", INSTALL)
        return
    version = _version(installed, kind.version)
    if version is None or not version.get("served"):
        served = ", ".join(str(one.get("name")) for one in dig_list(installed, "spec", "versions"))
        yield failed(NAME, f"{kind.name} is not served in version {kind.version}, only in {served}", INSTALL)
        return
    yield from _field_results(kind, version)
    stored = [str(one) for one in dig_list(installed, "status", "storedVersions") if one != kind.version]
    if stored:
        remedy = "see docs/troubleshooting.md: objects stored in an old version must be written again before it goes"
        yield warning(NAME, f"{kind.name} has objects stored in version {', '.join(stored)}", remedy)


def _field_results(kind: CustomKind, version: JsonObject) -> Iterator[Result]:
    shipped = kind.definition()["spec"]["versions"][0]
    ours = set(field_paths(dig_object(shipped, "schema", "openAPIV3Schema")))
    theirs = set(field_paths(dig_object(version, "schema", "openAPIV3Schema")))
    if missing := sorted(ours - theirs):
        message = f"{kind.name} is older than this version: it lacks {_listed(missing)}, which the server drops from objects"
        yield failed(NAME, message, INSTALL)
    if unknown := sorted(theirs - ours):
        message = (
            f"{kind.name} is of another version: it has {_listed(unknown)}, which this version does not know"
        )
        yield warning(
            NAME,
            message,
            "run the version of edgekeeper that the definitions are of, or install those of this one",
        )
    if "status" in dig_object(shipped, "subresources") and "status" not in dig_object(
        version, "subresources"
    ):
        yield failed(NAME, f"{kind.name} has no status subresource", INSTALL)


def field_paths(schema: JsonObject, path: str = "") -> Iterator[str]:
    """The fields that a schema has, as `spec.dns.ttl`; elements of lists as `spec.domains[].domain`."""
    for name, below in dig_object(schema, "properties").items():
        inner = f"{path}.{name}" if path else str(name)
        yield inner
        if isinstance(below, dict):
            yield from field_paths(below, inner)
    items: Any = schema.get("items")
    if isinstance(items, dict):
        yield from field_paths(items, f"{path}[]")


def _version(installed: JsonObject, name: str) -> JsonObject | None:
    versions = dig_list(installed, "spec", "versions")
    return next((one for one in versions if dig(one, "name") == name), None)


def _listed(paths: Iterable[str]) -> str:
    tops = list(paths)
    more = f" and {len(tops) - _SHOWN} more" if len(tops) > _SHOWN else ""
    return ", ".join(tops[:_SHOWN]) + more
