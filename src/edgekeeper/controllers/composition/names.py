"""Names in a definition: of its kind, its resources and its iterators.

Resources and iterators are variables of expressions, so their names must be identifiers, must not be words of the
expression language, and must not be taken by what expressions mean by other names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from edgekeeper.controllers.composition.rejection import RejectedError, quoted
from kubecel.escaping import RESERVED as LANGUAGE_WORDS

SCHEMA: Final = "schema"
"""What expressions call the instance."""
EACH: Final = "each"
"""What readyWhen of a collection calls one of its objects."""
RUNTIME: Final = "runtime"
"""Where expressions of custom conditions find `newCondition` and `condition`."""

RESERVED: Final = LANGUAGE_WORDS | frozenset(
    {
        "apiVersion", "context", "dependency", "dependencies", EACH, "externalRef", "externalReference",
        "externalRefs", "externalReferences", "graph", "instance", "item", "items", "kind", "kro", "metadata",
        "namespace", "object", "resource", "resourcegraphdefinition", "resourceGraphDefinition", "resources",
        "root", RUNTIME, SCHEMA, "self", "serviceAccountName", "spec", "status", "this", "variables", "vars",
        "version",
    }
)  # fmt: skip

MOST_DIMENSIONS: Final = 10
"""Iterators that one resource may have."""

_LOWER_CAMEL: Final = re.compile(r"[a-z][a-zA-Z0-9]*")
_UPPER_CAMEL: Final = re.compile(r"[A-Z][a-zA-Z0-9]*")
_VERSION: Final = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?")
_VIOLATION: Final = "naming convention violation"


def check_kind(kind: str) -> None:
    if not _UPPER_CAMEL.fullmatch(kind):
        raise RejectedError(
            f"{_VIOLATION}: kind '{kind}' is not a valid KRO kind name: must be UpperCamelCase", "kind"
        )


def check_version(version: str) -> None:
    if not _VERSION.fullmatch(version):
        raise RejectedError(f"version {version} is not a valid Kubernetes version", "apiVersion")


def check_ids(ids: Sequence[str]) -> None:
    """Raise RejectedError for the first id that may not be used."""
    seen: set[str] = set()
    for index, name in enumerate(ids):
        if complaint := _complaint_about_id(name, seen):
            raise RejectedError(f"{_VIOLATION}: {complaint}", f"[{index}].id")
        seen.add(name)


def _complaint_about_id(name: str, seen: Collection[str]) -> str:
    if name in RESERVED:
        return f"id {name} is a reserved keyword in KRO"
    if not _LOWER_CAMEL.fullmatch(name):
        return f"id {name} is not a valid KRO resource id: must be lower camelCase"
    return f"found duplicate resource IDs {name}" if name in seen else ""


def check_iterators(
    resource: str, dimensions: Sequence[Mapping[str, str]], ids: Collection[str], most: int = MOST_DIMENSIONS
) -> None:
    """Raise RejectedError for the first iterator of a resource that may not be called so."""
    if len(dimensions) > most:
        found = f"forEach cannot have more than {most} dimensions, got {len(dimensions)}"
        raise RejectedError(f"resource {quoted(resource)}: {found}", "forEach")
    seen: set[str] = set()
    for index, dimension in enumerate(dimensions):
        for name in dimension:
            if complaint := _complaint_about_iterator(name, ids, seen):
                raise RejectedError(f"resource {quoted(resource)}: {complaint}", f"forEach[{index}]")
            seen.add(name)


def _complaint_about_iterator(name: str, ids: Collection[str], seen: Collection[str]) -> str:
    iterator = f"forEach iterator name {quoted(name)}"
    if not _LOWER_CAMEL.fullmatch(name):
        return f"{iterator} is not valid: must be lowerCamelCase"
    if name in RESERVED:
        return f"{iterator} is a reserved keyword"
    if name in ids:
        return f"{iterator} conflicts with resource ID"
    return f"duplicate {iterator}" if name in seen else ""
