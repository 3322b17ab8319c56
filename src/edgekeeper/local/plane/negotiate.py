"""The `Accept` header: objects, tables or metadata only, in JSON or YAML.

kubectl asks for a Table first and names plain JSON as the alternative; metadata informers ask for
PartialObjectMetadata. Protobuf is never produced: a client that accepts nothing else gets 406.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from edgekeeper.local.plane.errors import not_acceptable

Form: TypeAlias = Literal["object", "table", "partial"]

_FORMS: dict[str, Form] = {
    "Table": "table",
    "PartialObjectMetadata": "partial",
    "PartialObjectMetadataList": "partial",
}
_META_VERSIONS = ("v1", "v1beta1")
_OFFERED = (
    "application/json, application/yaml, application/json;as=Table, application/json;as=PartialObjectMetadata"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The representation a client asked for."""

    form: Form = "object"
    yaml: bool = False
    meta_version: str = "v1"


@lru_cache(maxsize=512)
def negotiate(accept: str) -> Wanted:
    """Choose the first acceptable representation that the server can produce."""
    if not accept:
        return Wanted()
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        options = dict(part.split("=", 1) for part in parameters if "=" in part)
        wanted = _produce(media, options)
        if wanted is not None:
            return wanted
    raise not_acceptable(f"only the following media types are accepted: {_OFFERED}")


def _produce(media: str, options: dict[str, str]) -> Wanted | None:
    if media in ("application/json", "*/*", "application/*"):
        yaml = False
    elif media == "application/yaml":
        yaml = True
    else:
        return None
    shape = options.get("as")
    if shape is None:
        return Wanted("object", yaml)
    version = options.get("v", "v1")
    if (
        shape not in _FORMS
        or options.get("g", "meta.k8s.io") != "meta.k8s.io"
        or version not in _META_VERSIONS
    ):
        return None
    return Wanted(_FORMS[shape], yaml, version)
