"""The kinds whose objects people look at: those of the modules, and those that ResourceGraphDefinitions define.

    catalog = Catalog(modules, await composed_kinds(reader))
    catalog.find("dt")            → DistributionTenant
    catalog.find("webapps")       → WebApp, which a definition defines

Names are those that kubectl accepts: kind, plural, short names, and any of them with the group.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Final

import msgspec

from edgekeeper.api.composition import DefinitionSpec
from edgekeeper.controllers.bridge.remedies import REMEDIES as BRIDGE_REMEDIES
from edgekeeper.controllers.cloudfront.remedies import REMEDIES as TENANT_REMEDIES
from edgekeeper.controllers.composition.definition_observe import instance_kind
from edgekeeper.controllers.composition.phrases import SAYS
from edgekeeper.controllers.composition.remedies import REMEDIES as COMPOSITION_REMEDIES
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.controllers.zerotrust.remedies import REMEDIES as ZERO_TRUST_REMEDIES
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.readiness import Readiness, condition_readiness
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.kube.kinds import Kind
from edgekeeper.lifecycle.module import KindModule, PlannableModule
from edgekeeper.lifecycle.relations import Details, Reader
from edgekeeper.lifecycle.remedies import Remedies, Remedy

ALL = ("all", "edge")
"""Names that stand for all kinds: kubectl's, and the category of our kinds."""
TERMINATING = "Terminating"


@dataclass(frozen=True)
class KnownKind:
    """A kind, and what is known about its objects."""

    kind: Kind
    names: frozenset[str]
    """What people may call it, in lower case."""
    remedies: Remedies
    module: KindModule | None = None
    """None for a kind that a ResourceGraphDefinition defines."""
    definition: str = ""
    """The name of that definition."""

    def shows(self, obj: JsonObject) -> bool:
        return self.module is None or self.module.concerns(obj)

    def details(self, obj: JsonObject) -> Details:
        return Details() if self.module is None else self.module.details(obj)

    def readiness(self, obj: JsonObject) -> Readiness:
        """Whether an object is ready. One that is being deleted, or whose spec was not looked at yet, is not."""
        found = condition_readiness(obj, "Ready") if self.module is None else self.module.readiness(obj)
        if dig(obj, "metadata", "deletionTimestamp"):
            return Readiness(False, TERMINATING if found.ready else found.reason, found.message)
        observed, generation = dig(obj, "status", "observedGeneration"), dig(obj, "metadata", "generation")
        is_old = isinstance(observed, int) and isinstance(generation, int) and observed < generation
        if found.ready and is_old:
            return Readiness(False, "Pending", f"generation {generation} has not been observed yet")
        return found


def known_kinds(modules: Iterable[KindModule]) -> list[KnownKind]:
    """The kinds of modules whose objects people write or look at."""
    found: dict[Kind, KnownKind] = {}
    for module in modules:
        if module.definition is not None or isinstance(module, PlannableModule):
            names = frozenset(_names(module))
            found.setdefault(module.kind, KnownKind(module.kind, names, Remedies(module.remedies), module))
    return list(found.values())


def _names(module: KindModule) -> Iterator[str]:
    short = module.definition.short_names if module.definition is not None else ()
    yield from _spelled(module.kind, (*short, *module.aliases))


def _spelled(kind: Kind, short: Iterable[str]) -> Iterator[str]:
    for name in (kind.kind.lower(), kind.plural, *short):
        yield name
        yield f"{name}.{kind.group}"
        yield f"{name}.{kind.version}.{kind.group}"


async def composed_kinds(reader: Reader) -> list[KnownKind]:
    """The kinds that definitions of the cluster define. A definition that cannot be read has none."""
    definitions = await reader.select(DEFINITION_KIND)
    return [known for one in definitions if (known := composed_kind(one)) is not None]


def composed_kind(definition: JsonObject) -> KnownKind | None:
    """The kind of one definition; None if that cannot be told."""
    try:
        spec = msgspec.convert(definition.get("spec"), DefinitionSpec)
        kind = instance_kind(spec.schema)
    except (msgspec.ValidationError, ValueError):
        return None
    short = [str(name) for name in dig_list(definition, "spec", "schema", "shortNames")]
    name = str(dig(definition, "metadata", "name") or "")
    names = frozenset(_spelled(kind, short))
    return KnownKind(kind, names, _InstanceRemedies(COMPOSITION_REMEDIES), definition=name)


_OF_CHILDREN: Final = Remedies((*TENANT_REMEDIES, *BRIDGE_REMEDIES, *ZERO_TRUST_REMEDIES))
_SAID: Final = re.compile(rf"; {SAYS} (?P<reason>[A-Za-z]+)(?:: (?P<message>.*))?", re.DOTALL)


class _InstanceRemedies(Remedies):
    """Those of an instance. It waits for a person if a resource of ours that it waits for does."""

    def find(self, reason: str, message: str = "") -> Remedy | None:
        found, said = super().find(reason, message), _SAID.search(message)
        if found is None or not found.waits_for or said is None:
            return found
        of_child = _OF_CHILDREN.find(said["reason"], said["message"] or "")
        if of_child is None or of_child.waits_for:
            return found
        return replace(found, waits_for="", within=None)


class UnknownKindError(Exception):
    """There is no kind of this name among ours."""


@dataclass(frozen=True)
class Catalog:
    """All kinds that people may ask for."""

    kinds: tuple[KnownKind, ...]
    note: str = ""
    """Why kinds may be missing; empty if all are known."""

    def find(self, names: str) -> list[KnownKind]:
        """The kinds of a comma-separated list of names. Raise UnknownKindError for a name that is none."""
        found: dict[Kind, KnownKind] = {}
        for name in (part.strip().lower() for part in names.split(",")):
            chosen = [one for one in self.kinds if name in ALL or name in one.names]
            if not chosen:
                note = f"; {self.note}" if self.note else ""
                raise UnknownKindError(
                    f"there is no kind {name!r} among those of edgekeeper: {', '.join(self.spoken)}{note}"
                )
            found |= {one.kind: one for one in chosen}
        return list(found.values())

    def of(self, kind: Kind) -> KnownKind | None:
        """What is known about a kind, in whatever version."""
        return self._by_name.get((kind.group, kind.kind))

    @property
    def spoken(self) -> Sequence[str]:
        """The kinds as messages list them."""
        return [one.kind.plural for one in self.kinds]

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], KnownKind]:
        return {(one.kind.group, one.kind.kind): one for one in self.kinds}


async def read_catalog(modules: Iterable[KindModule], reader: ClusterReader) -> Catalog:
    """The kinds of these modules and of the definitions in the cluster."""
    kinds = (*known_kinds(modules), *await composed_kinds(reader))
    is_denied = reader.denial(DEFINITION_KIND, "") is not None
    note = "kinds of compositions are not known, because you may not list ResourceGraphDefinitions"
    return Catalog(kinds, note if is_denied else "")


def created(obj: JsonObject) -> datetime | None:
    """When an object was created."""
    moment = dig(obj, "metadata", "creationTimestamp")
    return datetime.fromisoformat(moment) if isinstance(moment, str) else None
