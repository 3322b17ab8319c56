"""Which definitions a change of a CustomResourceDefinition or of a revision concerns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

from edgekeeper.controllers.composition.labels import DEFINITION_NAME
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.controllers.composition.revision_objects import definition_of
from edgekeeper.controllers.composition.served_schemas import ServedSchemas
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from edgekeeper.kube.store import Change
from edgekeeper.runtime.sources import Scope, is_meaningful


@dataclass(slots=True)
class DefinitionIndex:
    """The definitions, by what they generate and by the groups of the kinds that they use."""

    _generated: dict[str, str] = field(default_factory=dict)
    """By definition, the name of the CustomResourceDefinition."""
    _groups: dict[str, frozenset[str]] = field(default_factory=dict)

    def note(self, definition: str, generated: str, groups: frozenset[str]) -> None:
        self._generated[definition] = generated
        self._groups[definition] = groups

    def forget(self, definition: str) -> None:
        self._generated.pop(definition, None)
        self._groups.pop(definition, None)

    def concerned(self, crd: str) -> set[str]:
        """The definitions that generate this CustomResourceDefinition, or use kinds of its group."""
        group = group_of(crd)
        generating = {name for name, generated in self._generated.items() if generated == crd}
        return generating | {name for name, groups in self._groups.items() if group in groups}


def group_of(crd: str) -> str:
    """The group of a CustomResourceDefinition, by its name."""
    return crd.partition(".")[2]


class _Labelled(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _LabelledObject(msgspec.Struct, gc=False):
    metadata: _Labelled = msgspec.field(default_factory=_Labelled)


_labelled = msgspec.json.Decoder(_LabelledObject).decode


@dataclass(frozen=True, slots=True)
class CrdSource:
    """All CustomResourceDefinitions: schemas have changed, kinds are served or not served any more."""

    index: DefinitionIndex
    schemas: ServedSchemas
    kind: ClassVar[Kind] = CUSTOM_RESOURCE_DEFINITION
    labels: ClassVar[str] = ""
    scope: ClassVar[Scope] = Scope(metadata_only=True)

    def concerned(self, change: Change) -> Iterable[Key]:
        if not change.initial:
            self.schemas.definition_changed(group_of(change.key.name))
        names = self.index.concerned(change.key.name)
        for raw in (change.old, change.new):
            marks = {} if raw is None else _labelled(raw).metadata.labels or {}
            names |= {marks[DEFINITION_NAME]} if DEFINITION_NAME in marks else set()
        return [Key("", name) for name in sorted(names)]


@dataclass(frozen=True, slots=True)
class RevisionSource:
    """All revisions: one was issued, or is gone."""

    kind: ClassVar[Kind] = REVISION
    labels: ClassVar[str] = ""

    def concerned(self, change: Change) -> Iterable[Key]:
        if not is_meaningful(change):
            return ()
        names = {definition_of(raw) for raw in (change.old, change.new) if raw is not None}
        return [Key("", name) for name in sorted(names) if name]
