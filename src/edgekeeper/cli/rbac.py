"""The RBAC rules of a process: those of its kinds, and those that every process needs.

A role of the operator gets the rules of its own controllers only. `ALL` stands for one process that has all controllers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from edgekeeper.cli.kinds import MODULES, roles
from edgekeeper.cli.reaching import OLDEST_NAMESPACE
from edgekeeper.kube.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    EVENT,
    LEASE,
    NAMESPACE,
    SECRET,
    VALIDATING_WEBHOOKS,
    Kind,
)
from edgekeeper.lifecycle.module import ClaimingModule, KindModule, Role
from edgekeeper.lifecycle.rbac import READ, WATCH, WEBHOOKS, Place, Rule, on
from edgekeeper.runtime.metrics_auth import ACCESS_REVIEW, TOKEN_REVIEW

ALL: Final = "all"
_READERS: Final = ("metrics.enabled", "statusPage.enabled")
"""Values of the chart with which the operator asks who somebody is, and what they may read."""
_REVIEWS: Final = (TOKEN_REVIEW, ACCESS_REVIEW)
_WEBHOOKS: Final = "webhooks.enabled"
EVERYWHERE: Final = ""
"""The feature of rules that do not depend on the kinds that are enabled."""

PROCESS_RULES: Final[tuple[Rule, ...]] = (
    Rule("", (NAMESPACE.plural,), ("get",), Place.CLUSTER, (OLDEST_NAMESPACE.name,)),  # the id of the cluster
    on(CUSTOM_RESOURCE_DEFINITION, *WATCH, place=Place.CLUSTER),  # kinds that are installed later
    on(EVENT, "get", "create", "patch", place=Place.CLUSTER),
    on(LEASE, "get", "create", "update", place=Place.OWN, option="leaderElection.enabled"),
    *(on(kind, "create", place=Place.CLUSTER, option=each) for kind in _REVIEWS for each in _READERS),
)
WEBHOOK_RULES: Final[tuple[Rule, ...]] = (
    on(SECRET, "create", place=Place.OWN, option=_WEBHOOKS),
    on(SECRET, *READ, "patch", place=Place.OWN, option=_WEBHOOKS, names=(f"{WEBHOOKS}-cert",)),
    on(
        VALIDATING_WEBHOOKS,
        *READ,
        "patch",
        place=Place.CLUSTER,
        option=_WEBHOOKS,
        names=(WEBHOOKS,),
    ),
)
"""To serve admission webhooks with a certificate of our own. The manager serves all of them."""


def feature_of(module: KindModule) -> str:
    """The group of kinds that an installation enables together: the package of the module below `edgekeeper.controllers`."""
    return type(module).__module__.split(".")[2]


def features(modules: Sequence[KindModule] = MODULES) -> tuple[str, ...]:
    """All of them, without duplicates."""
    return tuple(dict.fromkeys(map(feature_of, modules)))


def process_roles(modules: Sequence[KindModule] = MODULES) -> tuple[str, ...]:
    """The roles that a process can have, and `ALL`."""
    return (ALL, *roles(modules))


def rules_of(role: str, modules: Sequence[KindModule] = MODULES) -> dict[str, list[Rule]]:
    """The rules of a process by feature, `EVERYWHERE` among them."""
    found: dict[str, list[Rule]] = {EVERYWHERE: list(PROCESS_RULES)}
    if role in (ALL, Role.MANAGER):
        found[EVERYWHERE] += WEBHOOK_RULES
    for module in modules:
        found.setdefault(feature_of(module), []).extend(_rules_in(module, role, modules))
    return {feature: rules for feature, rules in found.items() if rules}


def all_rules_of(role: str, modules: Sequence[KindModule] = MODULES) -> list[Rule]:
    """The rules of a process with all kinds."""
    return [rule for rules in rules_of(role, modules).values() for rule in rules]


def _rules_in(module: KindModule, role: str, modules: Iterable[KindModule]) -> Iterator[Rule]:
    """What a process of a role needs because of one module."""
    if role in (ALL, module.role):
        yield from module.rules
    elif isinstance(module, ClaimingModule) and _compares_claims(role, modules):
        yield from module.rules_elsewhere


def _compares_claims(role: str, modules: Iterable[KindModule]) -> bool:
    return any(isinstance(module, ClaimingModule) and module.role == role for module in modules)


def readable_kinds(modules: Sequence[KindModule] = MODULES) -> list[Kind]:
    """The kinds that people may look at: all that we define."""
    return list(dict.fromkeys(module.kind for module in modules if module.definition is not None))


def editable_kinds(modules: Sequence[KindModule] = MODULES) -> list[Kind]:
    """The kinds that people write in their own namespaces.

    Not those of the operator's namespace, nor definitions of composed kinds: what these create, the operator creates with
    its own rights.
    """
    return [
        kind
        for kind in readable_kinds(modules)
        if any(
            rule.place is Place.WATCHED and rule.group == kind.group and kind.plural in rule.resources
            for module in modules
            for rule in module.rules
        )
    ]
