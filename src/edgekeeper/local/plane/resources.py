"""The resources a server starts with: the built-in kinds, with the rules that need the server around them."""

from __future__ import annotations

from dataclasses import replace

from edgekeeper.local.plane.call import NAMESPACES
from edgekeeper.local.plane.controllers.namespace import mark_namespace_deleted
from edgekeeper.local.plane.crd.controller import mark_deleted
from edgekeeper.local.plane.crd.define import DEFINITIONS
from edgekeeper.local.plane.crd.strategy import definition_strategy
from edgekeeper.local.plane.kinds import builtin_resources
from edgekeeper.local.plane.resource import Resource


def served_resources() -> list[Resource]:
    return [_completed(resource) for resource in builtin_resources()]


def _completed(resource: Resource) -> Resource:
    if resource.group_resource == DEFINITIONS:
        return replace(resource, strategy=replace(definition_strategy(), prepare_delete=mark_deleted))
    if resource.group_resource == NAMESPACES:
        return replace(resource, strategy=replace(resource.strategy, prepare_delete=mark_namespace_deleted))
    return resource
