"""The resources a server starts with: the built-in kinds, with the rules that need the server around them."""

from __future__ import annotations

from dataclasses import replace

from kubesim.plane.call import NAMESPACES
from kubesim.plane.controllers.namespace import mark_namespace_deleted
from kubesim.plane.crd import DEFINITIONS, RuleSource, definition_strategy, mark_deleted
from kubesim.plane.kinds import builtin_resources
from kubesim.plane.resource import Resource, Strategy

_CREATED_BY_REPLACING = frozenset(
    {
        "clusterrolebindings",
        "clusterroles",
        "endpoints",
        "events",
        "leases",
        "limitranges",
        "rolebindings",
        "roles",
        "services",
    }
)
_NEVER_OVERWRITTEN = frozenset(
    {
        "customresourcedefinitions",
        "leases",
        "mutatingwebhookconfigurations",
        "poddisruptionbudgets",
        "validatingwebhookconfigurations",
    }
)
_SHOWN_WHEN_DELETED = frozenset(
    {
        "namespaces",
        "persistentvolumeclaims",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "storageclasses",
    }
)


def served_resources(rules: RuleSource = lambda: None) -> list[Resource]:
    """The built-in kinds. `rules` gives what checks the validation rules in definitions."""
    return [
        replace(
            resource,
            strategy=_strategy(resource, rules),
            create_on_update=resource.plural in _CREATED_BY_REPLACING,
            unconditional_update=resource.plural not in _NEVER_OVERWRITTEN,
            shows_deleted=resource.plural in _SHOWN_WHEN_DELETED,
        )
        for resource in builtin_resources()
    ]


def _strategy(resource: Resource, rules: RuleSource) -> Strategy:
    if resource.group_resource == DEFINITIONS:
        return replace(definition_strategy(rules), prepare_delete=mark_deleted)
    if resource.group_resource == NAMESPACES:
        return replace(resource.strategy, prepare_delete=mark_namespace_deleted)
    return resource.strategy
