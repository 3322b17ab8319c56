"""Whether the operator has the rights in the cluster that its kinds declare (`lifecycle.rbac`).

Each right is a review: of ourselves, as in a pod of the operator, or of a ServiceAccount that a person names.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.diagnosis.checks import Result, failed, ok
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.rbac import WEBHOOKS, Place, Right, Rule, rights_of
from edgekeeper.runtime.metrics_auth import ACCESS_REVIEW

NAME: Final = "rights"
SELF_REVIEW: Final = Kind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
REMEDY: Final = (
    "apply the roles of the chart, or the rules of docs/rbac.md, to the ServiceAccount of the operator"
)
_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What rights depend on in one installation."""

    namespace: str
    """The operator's own."""
    watched: tuple[str, ...] = ()
    """Empty for all namespaces."""
    options: frozenset[str] = frozenset()
    """The values of the chart that are true."""
    webhook_service: str = ""
    kro_namespace: str = ""
    subject: Key | None = None
    """The ServiceAccount whose rights are asked for; None for those of whoever asks."""


@dataclass(frozen=True, slots=True)
class Question:
    """One right in one namespace; an empty one stands for all."""

    group: str
    resource: str
    verb: str
    name: str
    namespace: str

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        name = f" {self.name}" if self.name else ""
        return f"{resource}{name} in {self.namespace or 'all namespaces'}"

    @property
    def attributes(self) -> JsonObject:
        resource, _, subresource = self.resource.partition("/")
        named = {"name": self.name, "namespace": self.namespace, "subresource": subresource}
        attributes = {"group": self.group, "resource": resource, "verb": self.verb}
        return {**attributes, **{name: value for name, value in named.items() if value}}


async def check_rights(client: KubeClient, rules: Iterable[Rule], around: Surroundings) -> list[Result]:
    """One result for each resource with missing verbs, or one for all."""
    questions = list(questions_of(rules, around))
    limit = asyncio.Semaphore(_AT_ONCE)

    async def ask(question: Question) -> bool:
        async with limit:
            return await is_allowed(client, question, around.subject)

    answers = await asyncio.gather(*map(ask, questions))
    missing: defaultdict[str, list[str]] = defaultdict(list)
    for question, allowed in zip(questions, answers, strict=True):
        if not allowed:
            missing[str(question)].append(question.verb)
    who = f"ServiceAccount {around.subject}" if around.subject else "this user"
    if not missing:
        return [ok(NAME, f"{who} has all {len(questions)} rights that the chosen controllers need")]
    return [
        failed(NAME, f"{who} may not {', '.join(sorted(verbs))} {what}", REMEDY)
        for what, verbs in sorted(missing.items())
    ]


async def is_allowed(client: KubeClient, question: Question, subject: Key | None) -> bool:
    """Ask the server. Raise ApiError if it does not answer, or we may not ask about others."""
    spec: JsonObject = {"resourceAttributes": question.attributes}
    if subject is None:
        answer = await client.review(SELF_REVIEW, {"spec": spec})
    else:
        account = f"system:serviceaccount:{subject.namespace}:{subject.name}"
        groups = [
            "system:serviceaccounts",
            f"system:serviceaccounts:{subject.namespace}",
            "system:authenticated",
        ]
        answer = await client.review(ACCESS_REVIEW, {"spec": {**spec, "user": account, "groups": groups}})
    return dig(answer, "status", "allowed") is True


def questions_of(rules: Iterable[Rule], around: Surroundings) -> Iterator[Question]:
    """What must be allowed, in a fixed order. Secrets of other namespaces are checked with the objects that name them."""
    rights = (right for right in rights_of(rules) if not right.option or right.option in around.options)
    for right in sorted({right._replace(option="") for right in rights}):
        if right.place is Place.SECRETS:
            continue
        name = right.name.replace(WEBHOOKS, around.webhook_service)
        for namespace in _namespaces(right, around):
            yield Question(right.group, right.resource, right.verb, name, namespace)


def _namespaces(right: Right, around: Surroundings) -> Sequence[str]:
    match right.place:
        case Place.OWN:
            return [around.namespace]
        case Place.WATCHED if around.watched:
            return list(dict.fromkeys((*around.watched, around.namespace)))
        case Place.KRO:
            return [around.kro_namespace]
        case _:
            return [""]
