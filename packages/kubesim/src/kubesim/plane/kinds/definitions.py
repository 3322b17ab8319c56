"""The types of the built-in kinds, as Kubernetes publishes them, read once from the packaged data.

The data file is written by `tools/builtin_schemas.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from edgekeeper.core.json import JsonObject

_DATA = Path(__file__).parent.parent / "data" / "builtin.json"


@cache
def _published() -> dict[str, JsonObject]:
    tree: dict[str, JsonObject] = msgspec.json.decode(_DATA.read_bytes())
    return tree


def definitions() -> Mapping[str, JsonObject]:
    """Return every definition by its published name, such as `io.k8s.api.apps.v1.Deployment`."""
    return _published()["definitions"]


def omitted_when_zero(name: str) -> frozenset[str]:
    """Return the scalar fields of a definition that the server leaves out while they are zero."""
    return frozenset(_published()["encoding"].get(name, {}).get("omitted", ()))


def null_when_unset(name: str) -> frozenset[str]:
    """Return the fields of a definition that the server writes as null while they are unset."""
    return frozenset(_published()["encoding"].get(name, {}).get("null", ()))
