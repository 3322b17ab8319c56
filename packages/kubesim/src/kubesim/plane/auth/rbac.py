"""Role-based access control: roles and bindings, compiled into an index and asked about requests.

The index is made anew when the source's version changes, and answers are found by subject:

    user name, groups ──▶ grants at cluster scope   (ClusterRoleBinding → ClusterRole)
                     └──▶ grants in the namespace   (RoleBinding → Role or ClusterRole)

Rules only ever add rights; the first one that allows a request settles it. A binding whose role is gone grants
nothing, and its absence is told in the reason of a refusal, since that is what people then look for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeAlias

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.auth.authorization import Attributes, Decision, PolicyRule
from kubesim.plane.auth.tokens import ServiceAccount
from kubesim.plane.request import User
from kubesim.plane.selector import label_selector_of

RBAC_GROUP = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
_REMEMBERED_USERS = 4096

Subject: TypeAlias = tuple[str, str]
"""`("User", name)` or `("Group", name)`; a service account is a user."""


class RoleSource(Protocol):
    """Where roles and bindings are read. The version changes whenever any of them does."""

    def version(self) -> int: ...

    def roles(self) -> Iterable[JsonObject]: ...

    def cluster_roles(self) -> Iterable[JsonObject]: ...

    def role_bindings(self) -> Iterable[JsonObject]: ...

    def cluster_role_bindings(self) -> Iterable[JsonObject]: ...


@dataclass(frozen=True, slots=True)
class _Grant:
    """What one binding gives to one subject: rules, or the reason why there are none."""

    binding: str
    source: str
    rules: tuple[PolicyRule, ...] = ()
    problem: str = ""


_Grants: TypeAlias = defaultdict[Subject, list[_Grant]]


@dataclass(frozen=True, slots=True)
class _Policy:
    """All roles and bindings of one version, indexed."""

    version: int
    cluster_roles: dict[str, tuple[PolicyRule, ...]]
    roles: dict[tuple[str, str], tuple[PolicyRule, ...]]
    everywhere: _Grants = field(default_factory=lambda: defaultdict(list))
    within: dict[str, _Grants] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    def rules_of(self, role_ref: JsonObject, namespace: str) -> tuple[PolicyRule, ...] | None:
        name = role_ref.get("name", "")
        if role_ref.get("kind") == "Role":
            return self.roles.get((namespace, name))
        return self.cluster_roles.get(name)

    def grants_for(self, user_name: str, groups: tuple[str, ...], namespace: str) -> tuple[_Grant, ...]:
        """Return the grants of all bindings that name the user, each binding once."""
        subjects = [("User", user_name), *(("Group", group) for group in groups)]
        indexes = [self.everywhere]
        if namespace in self.within:
            indexes.append(self.within[namespace])
        found: dict[str, _Grant] = {}
        for index in indexes:
            for subject in subjects:
                for grant in index.get(subject, ()):
                    found.setdefault(grant.binding, grant)
        return tuple(found.values())


class RbacAuthorizer:
    """Decides by the roles and bindings of a cluster; members of `system:masters` may do everything."""

    def __init__(self, source: RoleSource) -> None:
        self._source = source
        self._load(source.version())

    def authorize(self, attributes: Attributes) -> Decision:
        user = attributes.user
        if MASTERS in user.groups:
            return Decision(allowed=True)
        problems = []
        for grant in self._grants(user, attributes.namespace):
            if any(rule_allows(rule, attributes) for rule in grant.rules):
                return Decision(True, f"RBAC: allowed by {grant.source}")
            if grant.problem:
                problems.append(grant.problem)
        return Decision(False, f"RBAC: {aggregated(problems)}" if problems else "")

    def rules_for(self, user: User, namespace: str) -> tuple[Sequence[PolicyRule], Sequence[str]]:
        grants = self._grants(user, namespace)
        rules = [rule for grant in grants for rule in grant.rules]
        return rules, [grant.problem for grant in grants if grant.problem]

    def rules_of(self, role_ref: JsonObject, namespace: str) -> Sequence[PolicyRule] | None:
        self._refresh()
        return self._policy.rules_of(role_ref, namespace)

    def _grants(self, user: User, namespace: str) -> tuple[_Grant, ...]:
        self._refresh()
        return self._grants_for(user.name, user.groups, namespace)

    def _refresh(self) -> None:
        version = self._source.version()
        if version != self._policy.version:
            self._load(version)

    def _load(self, version: int) -> None:
        self._policy = _compile(self._source, version)
        self._grants_for = lru_cache(_REMEMBERED_USERS)(self._policy.grants_for)


def _compile(source: RoleSource, version: int) -> _Policy:
    policy = _Policy(
        version,
        {dig(role, "metadata", "name"): rules_in(role) for role in source.cluster_roles()},
        {_key(role): rules_in(role) for role in source.roles()},
    )
    for binding in source.cluster_role_bindings():
        for subject, grant in _grants_by(policy, binding, ""):
            policy.everywhere[subject].append(grant)
    for binding in source.role_bindings():
        namespace = dig(binding, "metadata", "namespace")
        for subject, grant in _grants_by(policy, binding, namespace):
            policy.within[namespace][subject].append(grant)
    return policy


def _key(role: JsonObject) -> tuple[str, str]:
    return dig(role, "metadata", "namespace"), dig(role, "metadata", "name")


def _grants_by(policy: _Policy, binding: JsonObject, namespace: str) -> Iterator[tuple[Subject, _Grant]]:
    role_ref = dig_object(binding, "roleRef")
    rules = policy.rules_of(role_ref, namespace)
    name = dig(binding, "metadata", "name")
    title = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
    for subject in dig_list(binding, "subjects"):
        identity = _identity_of(subject, namespace)
        if identity is None:
            continue
        if rules is None:
            missing = f'{role_ref.get("kind", "").lower()}.{RBAC_GROUP} "{role_ref.get("name")}" not found'
            yield identity, _Grant(title, "", problem=missing)
        else:
            role = f'{role_ref.get("kind")} "{role_ref.get("name")}"'
            yield identity, _Grant(title, f"{title} of {role} to {_title_of(subject, namespace)}", rules)


def _identity_of(subject: JsonObject, namespace: str) -> Subject | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind != "ServiceAccount":
        return (kind, name) if kind in {"User", "Group"} else None
    home = subject.get("namespace") or namespace
    return ("User", ServiceAccount(home, name).user_name) if home else None


def _title_of(subject: JsonObject, namespace: str) -> str:
    name = subject.get("name", "")
    if subject.get("kind") == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f'{subject.get("kind")} "{name}"'


def rules_in(role: JsonObject) -> tuple[PolicyRule, ...]:
    """Return the rules of a Role or ClusterRole object."""
    return tuple(
        PolicyRule(
            tuple(rule.get("verbs") or ()),
            tuple(rule.get("apiGroups") or ()),
            tuple(rule.get("resources") or ()),
            tuple(rule.get("resourceNames") or ()),
            tuple(rule.get("nonResourceURLs") or ()),
        )
        for rule in dig_list(role, "rules")
    )


def rule_allows(rule: PolicyRule, attributes: Attributes) -> bool:
    if attributes.verb not in rule.verbs and "*" not in rule.verbs:
        return False
    if not attributes.is_resource:
        return any(url_covers(url, attributes.path) for url in rule.urls)
    return (
        (attributes.group in rule.groups or "*" in rule.groups)
        and _names_resource(rule.resources, attributes)
        and (not rule.names or attributes.name in rule.names)
    )


def _names_resource(resources: tuple[str, ...], attributes: Attributes) -> bool:
    """`*` names everything, `*/scale` that subresource of everything. `pods/*` is no pattern in RBAC."""
    if "*" in resources or attributes.combined_resource in resources:
        return True
    return bool(attributes.subresource) and f"*/{attributes.subresource}" in resources


def url_covers(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def aggregated(problems: Iterable[str]) -> str:
    """Join problems as Go joins errors: one as it is, several in brackets, each once."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def aggregate(cluster_roles: Iterable[JsonObject]) -> dict[str, list[JsonObject]]:
    """Return the rules that every ClusterRole with an `aggregationRule` ought to have, by its name.

    Aggregated roles may gather one another, so this goes on until nothing changes. Each round carries rules one role
    further, so as many rounds as there are roles suffice.
    """
    roles = sorted(cluster_roles, key=lambda role: str(dig(role, "metadata", "name")))
    rules = {dig(role, "metadata", "name"): dig_list(role, "rules") for role in roles}
    gathering = {
        dig(role, "metadata", "name"): _gathered(role, roles)
        for role in roles
        if dig(role, "aggregationRule")
    }
    for _ in roles:
        before = {name: rules[name] for name in gathering}
        for name, sources in gathering.items():
            rules[name] = _distinct(rule for source in sources for rule in rules[source])
        if all(rules[name] == before[name] for name in gathering):
            break
    return {name: rules[name] for name in gathering}


def _gathered(aggregating: JsonObject, roles: Sequence[JsonObject]) -> list[str]:
    """Return the names of the roles that an aggregating role selects, itself left out."""
    own_name = dig(aggregating, "metadata", "name")
    selectors = dig_list(aggregating, "aggregationRule", "clusterRoleSelectors")
    return [
        name
        for selector in map(label_selector_of, selectors)
        for role in roles
        if (name := dig(role, "metadata", "name")) != own_name
        and selector.matches(dig_object(role, "metadata", "labels"))
    ]


def _distinct(rules: Iterable[JsonObject]) -> list[JsonObject]:
    kept: list[JsonObject] = []
    for rule in rules:
        if rule not in kept:
            kept.append(rule)
    return kept
