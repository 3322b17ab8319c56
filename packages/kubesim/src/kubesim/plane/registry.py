"""Which resources the server knows right now: the built-in kinds, and those that CustomResourceDefinitions add.

Routing looks a resource up by group, version and plural; discovery and OpenAPI walk the groups. `changes` counts
every addition and removal, so that published documents are rebuilt only when something changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from edgekeeper.core.json import JsonObject
from kubesim.plane.apply import FieldTypes
from kubesim.plane.resource import GroupResource, Resource

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


def version_rank(version: str) -> tuple[int, int, int, tuple[int, ...]]:
    """Sort key of API versions, best last: v1alpha1 < v1beta1 < v1 < v2.

    Other spellings come before all, and among themselves the alphabetically first is the best.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0, (*(-ord(letter) for letter in version), 0))
    major, stage, minor = match.groups()
    return (_STABILITY[stage], int(major), int(minor or 0), ())


@dataclass(slots=True)
class Registry:
    """The resources in service, by group, version and plural."""

    definitions: Mapping[str, JsonObject]
    """Named schemas that built-in kinds refer to."""
    changes: int = 0
    _resources: dict[tuple[str, str, str], Resource] = field(default_factory=dict)
    _field_types: dict[tuple[str, str, str], FieldTypes] = field(default_factory=dict)

    def add(self, resources: Iterable[Resource]) -> None:
        for resource in resources:
            identity = (resource.group, resource.version, resource.plural)
            self._resources[identity] = resource
            self._field_types.pop(identity, None)
        self.changes += 1

    def remove(self, target: GroupResource) -> None:
        """Take every version of a resource out of service."""
        gone = [identity for identity, one in self._resources.items() if one.group_resource == target]
        for identity in gone:
            del self._resources[identity]
            self._field_types.pop(identity, None)
        self.changes += 1

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version, plural))

    def find_kind(self, api_version: str, kind: str) -> Resource | None:
        """Look a resource up by what an owner reference or a manifest names."""
        for resource in self._resources.values():
            if resource.kind == kind and resource.api_version == api_version:
                return resource
        return None

    def any_version(self, target: GroupResource) -> Resource | None:
        """The best version of a resource, or None if it is not served."""
        found = [one for one in self._resources.values() if one.group_resource == target]
        return max(found, key=lambda one: version_rank(one.version), default=None)

    def of_group(self, group: str) -> list[Resource]:
        return [resource for resource in self._resources.values() if resource.group == group]

    def all(self) -> list[Resource]:
        return list(self._resources.values())

    def groups(self) -> dict[str, list[str]]:
        """Groups with their versions, the preferred one first. The core group is the empty name."""
        versions: dict[str, set[str]] = {}
        for group, version, _ in self._resources:
            versions.setdefault(group, set()).add(version)
        return {
            group: sorted(versions[group], key=version_rank, reverse=True)
            for group in sorted(versions, key=_group_order)
        }

    def field_types(self, resource: Resource) -> FieldTypes:
        """The merge types of a resource, derived from its schema once."""
        identity = (resource.group, resource.version, resource.plural)
        types = self._field_types.get(identity)
        if types is None:
            definitions = {} if resource.custom else self.definitions
            types = self._field_types[identity] = FieldTypes.of(resource.schema.source, definitions)
        return types


def _group_order(group: str) -> tuple[int, str]:
    """The core group first, then Kubernetes' own groups, then everyone else's, as discovery lists them."""
    if not group:
        return (0, "")
    return (1 if "." not in group or group.endswith(".k8s.io") else 2, group)
