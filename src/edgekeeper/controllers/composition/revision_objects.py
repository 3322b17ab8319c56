"""GraphRevisions as the controllers read and write them. kro's belong to us as well, and ours to kro."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from edgekeeper.api.composition import (
    GRAPH_REVISION,
    GROUP,
    RESOURCE_GRAPH_DEFINITION,
    REVISION_HASH_LABEL,
    VERSION,
    DefinitionSpec,
)
from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.graph import read_definition
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.revision import revision_name, spec_hash
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.lifecycle.module import kind_of

KIND: Final = kind_of(GRAPH_REVISION)
DEFINITION_KIND: Final = kind_of(RESOURCE_GRAPH_DEFINITION)
_OWNER_VERSION: Final = f"{GROUP}/{VERSION}"


class _Named(msgspec.Struct, gc=False):
    name: str = ""


class _RevisionSpec(msgspec.Struct, gc=False):
    snapshot: _Named = msgspec.field(default_factory=_Named)


class _Revision(msgspec.Struct, gc=False):
    spec: _RevisionSpec = msgspec.field(default_factory=_RevisionSpec)


_decode_name = msgspec.json.Decoder(_Revision).decode


def definition_of(raw: bytes) -> str:
    """The name of the definition that a revision is of; empty if it does not say."""
    try:
        return _decode_name(raw).spec.snapshot.name
    except msgspec.ValidationError:
        return ""


@dataclass(frozen=True, slots=True)
class Revision:
    """A GraphRevision."""

    name: str
    uid: str
    number: int
    definition: str
    """The name of the definition it is of."""
    spec: DefinitionSpec | None
    """What the definition said; None where it cannot be read."""
    hash: str
    """Equal for revisions that say the same; computed, not read from the label. Empty where `spec` is None."""
    owner: str = ""
    """The UID of the definition that owns it; empty for an orphan."""
    deleting: bool = False
    owners: tuple[JsonObject, ...] = ()
    """All its owner references."""
    resource_version: str = ""

    @classmethod
    def of(cls, obj: JsonObject) -> Revision:
        metadata = dig_object(obj, "metadata")
        number = dig(obj, "spec", "revision")
        spec = _snapshot_in(obj)
        owners = tuple(owner for owner in dig_list(metadata, "ownerReferences") if isinstance(owner, dict))
        return cls(
            name=str(metadata.get("name", "")),
            uid=str(metadata.get("uid", "")),
            number=number if isinstance(number, int) else 0,
            definition=str(dig(obj, "spec", "snapshot", "name") or ""),
            spec=spec,
            hash=spec_hash(spec) if spec is not None else "",
            owner=next((str(dig(one, "uid")) for one in owners if _is_controller(one)), ""),
            deleting=metadata.get("deletionTimestamp") is not None,
            owners=owners,
            resource_version=str(metadata.get("resourceVersion", "")),
        )

    def adoption(self, definition: str, uid: str) -> JsonObject:
        """The merge patch that makes the definition its owner, in place of an earlier one of that name."""
        others = [dict(one) for one in self.owners if not _is_definition(one)]
        owners = [*others, owner_reference(definition, uid)]
        return {"metadata": {"resourceVersion": self.resource_version, "ownerReferences": owners}}


def _snapshot_in(obj: JsonObject) -> DefinitionSpec | None:
    try:
        return read_definition(dig_object(obj, "spec", "snapshot"))
    except RejectedError:
        return None


def newest(revisions: Iterable[Revision]) -> Revision | None:
    """The revision with the highest number that is not being deleted."""
    return max((one for one in revisions if not one.deleting), key=lambda one: one.number, default=None)


def new_revision(definition: JsonObject, number: int, spec_hash: str) -> JsonObject:
    """The GraphRevision with this number, of a ResourceGraphDefinition as it is now."""
    metadata = dig_object(definition, "metadata")
    name, uid = str(metadata["name"]), str(metadata["uid"])
    marks = {labels.DEFINITION_NAME: name, REVISION_HASH_LABEL: spec_hash, **ownership_labels()}
    return {
        "metadata": {
            "name": revision_name(name, number),
            "labels": marks,
            "ownerReferences": [owner_reference(name, uid)],
        },
        "spec": {
            "revision": number,
            "snapshot": {"name": name, "generation": metadata.get("generation"), "spec": definition["spec"]},
        },
    }


def ownership_labels() -> dict[str, str]:
    return {labels.OWNED: "true", labels.VERSION: labels.KRO_VERSION}


def owner_reference(definition: str, uid: str) -> JsonObject:
    return {
        "apiVersion": _OWNER_VERSION,
        "kind": DEFINITION_KIND.kind,
        "name": definition,
        "uid": uid,
        "controller": True,
    }


def _is_definition(owner: JsonObject) -> bool:
    group = str(owner.get("apiVersion", "")).rpartition("/")[0]
    return (group, owner.get("kind")) == (GROUP, DEFINITION_KIND.kind)


def _is_controller(owner: Any) -> bool:
    return isinstance(owner, dict) and owner.get("controller") is True and _is_definition(owner)
