"""Whether the operator may do with kinds what a definition asks of it, and the rule that is missing.

    missing = await rights.missing(needs_of(graph, kind))
    missing_rule("web-apps", missing)          # a ClusterRole, ready to be applied

Rights come from a ClusterRole that aggregates others by label, so an administrator adds kinds by applying one more of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import yaml

from edgekeeper.controllers.composition.checking import CompiledNode
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import dig
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import Kind

AGGREGATION_LABEL: Final = "rbac.kro.run/aggregate-to-controller"
READ: Final = ("get", "list", "watch")
MANAGE: Final = (*READ, "create", "patch", "delete")
OF_INSTANCES: Final = (*READ, "patch")
EVERY_VERB: Final = "*"
GRANTED_FOR: Final = timedelta(minutes=10)
"""How long an answer counts: one that permits, and one that does not."""
DENIED_FOR: Final = timedelta(seconds=30)

_REVIEW: Final = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)


@dataclass(frozen=True, slots=True)
class Need:
    """Verbs on a kind, or on a subresource of it such as `apps/status`."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    namespaced: bool = True


def needs_of(graph: Graph, instances: Kind) -> tuple[Need, ...]:
    """The rights that instances of a definition need: on their own kind, and on those of all resources."""
    needs = [
        Need(instances.group, instances.plural, OF_INSTANCES, instances.namespaced),
        Need(instances.group, f"{instances.plural}/status", ("patch",), instances.namespaced),
        *map(_need_of, graph.nodes.values()),
    ]
    return tuple(_merged(needs))


def _need_of(compiled: CompiledNode) -> Need:
    node = compiled.node
    plural = node.known.plural if node.known is not None else ""
    verbs = READ if node.kind.is_external else MANAGE
    return Need(node.api_version.rpartition("/")[0], plural, verbs, node.namespaced is not False)


def _merged(needs: Iterable[Need]) -> Iterator[Need]:
    """One need for each kind, with the verbs of all."""
    found: dict[tuple[str, str], Need] = {}
    for need in needs:
        name = (need.group, need.resource)
        known = found.setdefault(name, need)
        found[name] = replace(known, verbs=tuple(dict.fromkeys((*known.verbs, *need.verbs))))
    return iter(found.values())


def missing_rule(definition: str, missing: Sequence[Need]) -> str:
    """A ClusterRole that grants what is missing, as YAML."""
    rules = [
        {"apiGroups": [need.group], "resources": [need.resource], "verbs": list(need.verbs)}
        for need in missing
    ]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"edgekeeper-{definition}", "labels": {AGGREGATION_LABEL: "true"}},
        "rules": rules,
    }
    written: str = yaml.safe_dump(role, sort_keys=False, default_flow_style=None, width=110)
    return written


def missing_message(definition: str, missing: Sequence[Need]) -> str:
    """What is not permitted, and the remedy."""
    described = "; ".join(f"{', '.join(need.verbs)} {_name_of(need)}" for need in missing)
    return f"not permitted: {described}. Apply this to permit it:\n{missing_rule(definition, missing)}"


def _name_of(need: Need) -> str:
    return f"{need.resource}.{need.group}" if need.group else need.resource


class Rights:
    """Asks the server what we may do, and remembers the answers for a while."""

    def __init__(self, client: KubeClient, clock: Clock, namespaces: Sequence[str] = ()) -> None:
        """`namespaces` are those that the process is limited to; empty for all."""
        self._client = client
        self._clock = clock
        self._answers: dict[tuple[str, str, str], tuple[bool, float]] = {}
        """By group, resource and verb: whether it is permitted, and until when that counts."""
        self.set_namespaces(namespaces)

    def set_namespaces(self, namespaces: Sequence[str]) -> None:
        """Ask about these namespaces from now on; empty for all."""
        self._namespaces = tuple(namespaces) or ("",)
        self._answers.clear()

    async def missing(self, needs: Iterable[Need]) -> tuple[Need, ...]:
        """The needs that are not met, with the verbs that are missing."""
        found: list[Need] = []
        for need in needs:
            if await self._may(need, EVERY_VERB):
                continue  # one question in place of six
            lacking = tuple([verb for verb in need.verbs if not await self._may(need, verb)])
            if lacking:
                found.append(replace(need, verbs=lacking))
        return tuple(found)

    async def _may(self, need: Need, verb: str) -> bool:
        name = (need.group, need.resource, verb)
        known = self._answers.get(name)
        now = self._clock.monotonic()
        if known is not None and now < known[1]:
            return known[0]
        places = self._namespaces if need.namespaced else ("",)
        permitted = all([await self._ask(need, verb, namespace) for namespace in places])
        lifetime = GRANTED_FOR if permitted else DENIED_FOR
        self._answers[name] = (permitted, now + lifetime.total_seconds())
        return permitted

    async def _ask(self, need: Need, verb: str, namespace: str) -> bool:
        resource, _, subresource = need.resource.partition("/")
        attributes = {
            "group": need.group,
            "resource": resource,
            "subresource": subresource,
            "verb": verb,
            "namespace": namespace,
        }
        given = {field: value for field, value in attributes.items() if value}
        answer = await self._client.review(_REVIEW, {"spec": {"resourceAttributes": given}})
        return dig(answer, "status", "allowed") is True
