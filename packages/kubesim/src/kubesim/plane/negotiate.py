"""The `Accept` header: objects, tables or metadata only, in JSON, YAML or protobuf.

kubectl asks for a Table first and names plain JSON as the alternative; metadata informers ask for
PartialObjectMetadata; client-go prefers protobuf for built-in kinds. Custom resources have no protobuf form, save for
their metadata, and tables have none at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from kubesim.plane.body import JSON, PROTOBUF, SUPPORTED
from kubesim.plane.errors import not_acceptable

Form: TypeAlias = Literal["object", "table", "partial"]

_FORMS: dict[str, Form] = {
    "Table": "table",
    "PartialObjectMetadata": "partial",
    "PartialObjectMetadataList": "partial",
}
_META_VERSIONS = ("v1", "v1beta1")
_ANYTHING = ("*/*", "application/*")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The representation a client asked for."""

    form: Form = "object"
    media_type: str = JSON
    meta_version: str = "v1"


@lru_cache(maxsize=512)
def negotiate(accept: str, *, protobuf: bool = True) -> Wanted:
    """Choose the first acceptable representation that the server can produce; `protobuf` where the kind has that form."""
    if not accept:
        return Wanted()
    for media, options in _clauses(accept):
        wanted = _produce(media, options)
        if wanted is not None and (protobuf or wanted.media_type != PROTOBUF or wanted.form == "partial"):
            return wanted
    raise not_acceptable(SUPPORTED)


@lru_cache(maxsize=512)
def negotiate_status(accept: str) -> str:
    """Choose the media type of a refusal. It has no other forms, and where nothing is acceptable it is JSON."""
    for media, options in _clauses(accept):
        if "as" not in options and (chosen := _media_type(media)):
            return chosen
    return JSON


def _clauses(accept: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the media types that a client accepts with their parameters, best first."""
    clauses = []
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        clauses.append((media, dict(part.split("=", 1) for part in parameters if "=" in part)))
    yield from sorted(clauses, key=lambda one: (-_quality(one[1]), one[0] in _ANYTHING))


def _quality(options: dict[str, str]) -> float:
    try:
        return float(options.get("q", "1"))
    except ValueError:
        return 0.0


def _media_type(media: str) -> str:
    if media in _ANYTHING:
        return JSON
    return media if media in SUPPORTED else ""


def _produce(media: str, options: dict[str, str]) -> Wanted | None:
    media_type = _media_type(media)
    if not media_type:
        return None
    shape = options.get("as")
    if shape is None:
        return Wanted("object", media_type)
    version = options.get("v", "v1")
    if (
        shape not in _FORMS
        or options.get("g", "meta.k8s.io") != "meta.k8s.io"
        or version not in _META_VERSIONS
        or (shape == "Table" and media_type == PROTOBUF)
    ):
        return None
    return Wanted(_FORMS[shape], media_type, version)
