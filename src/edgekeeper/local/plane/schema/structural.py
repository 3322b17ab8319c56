"""May this be the schema of a CustomResourceDefinition?"""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane.errors import FieldError


def check_structural(source: JsonObject, path: str) -> list[FieldError]:
    return []
