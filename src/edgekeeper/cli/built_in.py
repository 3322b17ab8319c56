"""The schemas of Kubernetes' own kinds, from the local kit."""

from __future__ import annotations

from functools import cache

from edgekeeper.controllers.composition.schemas import KindSchema
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.openapi import SchemaDocument
from kubesim.plane.kinds import builtin_resources, definitions


class BuiltInSchemas:
    """Kinds that every API server has."""

    def find(self, api_version: str, kind: str) -> KindSchema | None:
        return _found(api_version, kind) if (api_version, kind) in _kinds() else None


@cache
def _document() -> SchemaDocument:
    return SchemaDocument(dict(definitions()))


@cache
def _kinds() -> dict[tuple[str, str], Kind]:
    kinds = [
        Kind(one.group, one.version, one.kind, one.plural, one.namespaced) for one in builtin_resources()
    ]
    return {(kind.api_version, kind.kind): kind for kind in kinds}


@cache
def _found(api_version: str, kind: str) -> KindSchema:
    known = _kinds()[api_version, kind]
    return KindSchema(_document().schema_of(known), known.namespaced, known.plural)
