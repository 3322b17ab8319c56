"""What the operator may do in a cluster, as data: each kind declares the RBAC rules that its controller needs.

    class WidgetModule(KindModule):
        rules = (*reconciled(WIDGET), Rule("", ("services",), READ))

The roles of the chart and docs/rbac.md are generated from these rules (tools/chart.py), so a kind declares them and nothing else.
Rules say which verbs are used, not where they come from: a test runs the operator with exactly these rights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from edgekeeper.kube.kinds import Kind

WATCH: Final = ("list", "watch")
READ: Final = ("get", "list", "watch")
SECRETS: Final = "secrets"
WEBHOOKS: Final = "{webhooks}"
"""In names of objects: the name of the Service of the admission webhooks, which the installation chooses."""


class Place(StrEnum):
    """Where a rule applies."""

    CLUSTER = "cluster"
    """Objects of the cluster, and all namespaces."""
    WATCHED = "watched"
    """The namespaces that the operator watches, and its own: all, unless the installation lists some."""
    OWN = "own"
    """The operator's namespace."""
    SECRETS = "secrets"
    """The namespaces whose Secrets the installation lets the operator use."""
    KRO = "kro"
    """The namespace of kro: all, unless the installation names it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources of one API group."""

    group: str
    resources: tuple[str, ...]
    """Plurals, and subresources such as `widgets/status`."""
    verbs: tuple[str, ...]
    place: Place = Place.WATCHED
    names: tuple[str, ...] = ()
    """The objects that the rule is limited to; empty for all. `{webhooks}` in them stands for a name of the installation."""
    option: str = ""
    """The value of the chart that must be true for the rule to be granted; empty where it always is."""

    def __post_init__(self) -> None:
        if "*" in {self.group, *self.resources, *self.verbs}:
            raise ValueError(
                f"{self} grants more than a controller can need: name groups, resources and verbs"
            )
        if SECRETS in self.resources and self.place in (Place.CLUSTER, Place.WATCHED, Place.KRO):
            raise ValueError(f"{self} would reach Secrets of all namespaces: use Place.SECRETS or Place.OWN")


class Right(NamedTuple):
    """One verb on one resource: what rules are compared by."""

    place: Place
    group: str
    resource: str
    name: str
    """The only object; empty for all."""
    verb: str
    option: str = ""
    """The value of the chart that must be true for it."""


def on(
    kind: Kind,
    *verbs: str,
    place: Place = Place.WATCHED,
    names: tuple[str, ...] = (),
    option: str = "",
) -> Rule:
    """A rule about a kind."""
    return Rule(kind.group, (kind.plural,), verbs, place, names, option)


def reconciled(kind: Kind, place: Place = Place.WATCHED) -> tuple[Rule, Rule]:
    """What the controller of one of our kinds needs: to watch its objects, and to write finalizers and status."""
    return (
        Rule(kind.group, (kind.plural,), (*WATCH, "patch"), place),
        Rule(kind.group, (f"{kind.plural}/status",), ("patch",), place),
    )


def rights_of(rules: Iterable[Rule]) -> frozenset[Right]:
    """Every verb that the rules grant. What is granted for all objects, or always, is not repeated for less."""
    every = frozenset(_spread(rules))
    return frozenset(right for right in every if not any(wider in every for wider in _wider(right)))


def _wider(right: Right) -> Iterator[Right]:
    """The same for all objects, and without a condition."""
    candidates = {right._replace(name=""), right._replace(option=""), right._replace(name="", option="")}
    yield from candidates - {right}


def merged(rules: Iterable[Rule]) -> list[Rule]:
    """The fewest rules that grant the same, in a fixed order."""
    verbs: dict[tuple[Place, str, str, str, str], set[str]] = {}
    for right in rights_of(rules):
        whence = (right.place, right.group, right.resource, right.name, right.option)
        verbs.setdefault(whence, set()).add(right.verb)
    resources: dict[tuple[Place, str, str, str, tuple[str, ...]], list[str]] = {}
    for (place, group, resource, name, option), found in verbs.items():
        resources.setdefault((place, group, name, option, _ordered(found)), []).append(resource)
    return sorted(
        (
            Rule(group, tuple(sorted(found)), order, place, (name,) if name else (), option)
            for (place, group, name, option, order), found in resources.items()
        ),
        key=_position,
    )


def _position(rule: Rule) -> tuple[object, ...]:
    place = list(Place).index(rule.place)
    return (place, rule.option, rule.group, rule.resources, rule.names, rule.verbs)


def _spread(rules: Iterable[Rule]) -> Iterator[Right]:
    for rule in rules:
        for resource in rule.resources:
            for name in rule.names or ("",):
                for verb in rule.verbs:
                    yield Right(rule.place, rule.group, resource, name, verb, rule.option)


_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete")


def _ordered(verbs: Iterable[str]) -> tuple[str, ...]:
    """Reading verbs first, as people write them."""
    return tuple(
        sorted(verbs, key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb))
    )
