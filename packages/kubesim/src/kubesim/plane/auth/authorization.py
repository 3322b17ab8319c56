"""What a request needs permission for, and the words in which permission is refused.

An `Authorizer` answers questions about `Attributes`. `AlwaysAllow` is the one for a cluster that trusts everybody;
RBAC has a module of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError, forbidden
from kubesim.plane.request import User
from kubesim.plane.requestinfo import RequestInfo


@dataclass(frozen=True, slots=True)
class Attributes:
    """One question: may `user` do `verb` to this? Resource requests have a resource, others only a path."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""
    is_resource: bool = True

    @property
    def combined_resource(self) -> str:
        """`pods/log`, or plain `pods`: how rules and messages name what is asked for."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One rule of a role. It grants verbs on resources, or verbs on URLs, never both."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Authorizer(Protocol):
    def authorize(self, attributes: Attributes) -> Decision: ...

    def rules_for(self, user: User, namespace: str) -> tuple[Sequence[PolicyRule], Sequence[str]]:
        """Return all rules that hold for a user in a namespace, and what went wrong in finding them."""

    def rules_of(self, role_ref: JsonObject, namespace: str) -> Sequence[PolicyRule] | None:
        """Return the rules that a binding in `namespace` would grant; `None` if there is no such role."""


class AlwaysAllow:
    """Lets everybody do everything."""

    def authorize(self, attributes: Attributes) -> Decision:
        return Decision(allowed=True)

    def rules_for(self, user: User, namespace: str) -> tuple[Sequence[PolicyRule], Sequence[str]]:
        return FULL_AUTHORITY, ()

    def rules_of(self, role_ref: JsonObject, namespace: str) -> Sequence[PolicyRule] | None:
        return ()


FULL_AUTHORITY = (PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), urls=("*",)))


def attributes_of(user: User, info: RequestInfo) -> Attributes:
    return Attributes(
        user,
        info.verb,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        info.name,
        info.namespace,
        info.path,
        info.is_resource,
    )


def refusal(attributes: Attributes, reason: str = "") -> StatusError:
    """Return the 403 for something that nobody allowed."""
    sentence = _sanitised(_sentence(attributes))
    why = f"{sentence}: {reason}" if reason else sentence
    if not attributes.is_resource:
        return StatusError(403, "Forbidden", f"forbidden: {why}", details={})
    return forbidden(attributes.group, attributes.resource, attributes.name, why)


def _sentence(attributes: Attributes) -> str:
    who = f"User {quoted(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource:
        return f"{who} path {quoted(attributes.path)}"
    what = f"{who} resource {quoted(attributes.combined_resource)} in API group {quoted(attributes.group)}"
    if attributes.namespace:
        return f"{what} in the namespace {quoted(attributes.namespace)}"
    return f"{what} at the cluster scope"


def quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def quoted_list(texts: Iterable[str]) -> str:
    """`["a" "b"]`: how the server shows lists of words in its messages."""
    return f"[{' '.join(quoted(text) for text in texts)}]"


def _sanitised(text: str) -> str:
    """User names and paths are the caller's words: a browser must not mistake them for markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
