"""Nobody grants rights that they do not hold: the check before a role or binding is written.

Two verbs lift it: `escalate` on roles, and `bind` on the role that a binding refers to. Rules are compared in their
smallest pieces (one verb on one resource), so that the refusal can list exactly what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.auth.authorization import (
    FULL_AUTHORITY,
    Attributes,
    Authorizer,
    PolicyRule,
    quoted,
    quoted_list,
)
from kubesim.plane.auth.rbac import MASTERS, RBAC_GROUP, aggregated, rules_in, url_covers
from kubesim.plane.errors import StatusError, forbidden, not_found
from kubesim.plane.request import User
from kubesim.plane.requestinfo import RequestInfo

_ROLES = frozenset({"roles", "clusterroles"})
_BINDINGS = frozenset({"rolebindings", "clusterrolebindings"})
_COLLECTOR_FIELDS = frozenset({"ownerReferences", "finalizers", "managedFields"})


def confirm_no_escalation(
    authorizer: Authorizer, user: User, info: RequestInfo, new: JsonObject, old: JsonObject | None = None
) -> None:
    """Refuse (403) a role or binding that would grant more than `user` holds. Other resources always pass."""
    if info.group != RBAC_GROUP or MASTERS in user.groups or _only_collected(new, old):
        return
    check = _Check(authorizer, user, info)
    if info.resource in _ROLES:
        check.role(new, old)
    elif info.resource in _BINDINGS:
        check.binding(new)


@dataclass(frozen=True, slots=True)
class _Check:
    authorizer: Authorizer
    user: User
    info: RequestInfo

    def role(self, new: JsonObject, old: JsonObject | None) -> None:
        if self._may("escalate", self.info.resource, self.info.name):
            return
        missing = self._missing(rules_in(new))
        if missing:
            raise self._refused(new, missing)
        # An aggregated role gathers whatever others put into it later, so only those who hold everything may make one.
        if (_aggregates(new) or _aggregates(old)) and self._missing(FULL_AUTHORITY):
            raise self._refused(new, "must have cluster-admin privileges to use the aggregationRule")

    def binding(self, new: JsonObject) -> None:
        role_ref = dig_object(new, "roleRef")
        resource = "roles" if role_ref.get("kind") == "Role" else "clusterroles"
        if self._may("bind", resource, role_ref.get("name", "")):
            return
        granted = self.authorizer.rules_of(role_ref, self.info.namespace)
        if granted is None:
            # The real server, too, names the resource of the request here, not that of the role.
            raise not_found(RBAC_GROUP, self.info.resource, role_ref.get("name", ""))
        missing = self._missing(granted)
        if missing:
            raise self._refused(new, missing)

    def _may(self, verb: str, resource: str, name: str) -> bool:
        asked = Attributes(self.user, verb, RBAC_GROUP, "*", resource, "", name, self.info.namespace)
        return self.authorizer.authorize(asked).allowed

    def _missing(self, rules: Iterable[PolicyRule]) -> str:
        """Return a sentence about the rights that the user does not hold; empty if all are held."""
        held, problems = self.authorizer.rules_for(self.user, self.info.namespace)
        missing = uncovered(held, rules)
        if not missing:
            return ""
        shown = "\n".join(sorted({_show(rule) for rule in compacted(missing)}))
        sentence = (
            f"user {quoted(self.user.name)} (groups={quoted_list(self.user.groups)}) "
            f"is attempting to grant RBAC permissions not currently held:\n{shown}"
        )
        return f"{sentence}; resolution errors: [{aggregated(problems)}]" if problems else sentence

    def _refused(self, new: JsonObject, why: str) -> StatusError:
        return forbidden(RBAC_GROUP, self.info.resource, dig(new, "metadata", "name") or "", why)


def _only_collected(new: JsonObject, old: JsonObject | None) -> bool:
    """The garbage collector may let go of objects whose rights it does not hold."""
    if old is None:
        return False
    return _without_collector_fields(new) == _without_collector_fields(old)


def _without_collector_fields(role: JsonObject) -> JsonObject:
    kept: dict[str, Any] = {
        name: value for name, value in dig_object(role, "metadata").items() if name not in _COLLECTOR_FIELDS
    }
    return {**role, "metadata": kept}


def _aggregates(role: JsonObject | None) -> bool:
    return bool(dig_list(role, "aggregationRule", "clusterRoleSelectors"))


def uncovered(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the smallest pieces of `wanted` that no single rule in `held` covers."""
    pieces = [piece for rule in wanted for piece in _pieces(rule)]
    return [piece for piece in pieces if not any(_covers(rule, piece) for rule in held)]


def _pieces(rule: PolicyRule) -> list[PolicyRule]:
    """Break a rule into pieces with one verb, and one resource and name or one URL."""
    names: list[tuple[str, ...]] = [(name,) for name in rule.names] or [()]
    on_resources = [
        PolicyRule((verb,), (group,), (resource,), name)
        for group, resource, verb, name in product(rule.groups, rule.resources, rule.verbs, names)
    ]
    on_urls = [PolicyRule((verb,), urls=(url,)) for url, verb in product(rule.urls, rule.verbs)]
    return on_resources + on_urls


def _covers(rule: PolicyRule, piece: PolicyRule) -> bool:
    (verb,) = piece.verbs
    if verb not in rule.verbs and "*" not in rule.verbs:
        return False
    if piece.urls:
        return any(url_covers(url, piece.urls[0]) for url in rule.urls)
    (group,), (resource,) = piece.groups, piece.resources
    _, slash, subresource = resource.partition("/")
    return (
        (group in rule.groups or "*" in rule.groups)
        and not {"*", resource, f"*/{subresource}" if slash else resource}.isdisjoint(rule.resources)
        and (not rule.names or (bool(piece.names) and piece.names[0] in rule.names))
    )


def compacted(pieces: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Put pieces that differ only by their verb together again."""
    verbs: dict[PolicyRule, tuple[str, ...]] = {}
    for piece in pieces:
        # URLs stay apart, as in the real server's message
        without_verb = PolicyRule((), piece.groups, piece.resources, piece.names, piece.urls)
        key = piece if piece.urls else without_verb
        verbs[key] = (*verbs.get(key, ()), *piece.verbs)
    return [
        PolicyRule(listed, key.groups, key.resources, key.names, key.urls) for key, listed in verbs.items()
    ]


def _show(rule: PolicyRule) -> str:
    parts = {
        "APIGroups": rule.groups,
        "Resources": rule.resources,
        "NonResourceURLs": rule.urls,
        "ResourceNames": rule.names,
        "Verbs": rule.verbs,
    }
    return "{" + ", ".join(f"{name}:{quoted_list(words)}" for name, words in parts.items() if words) + "}"
