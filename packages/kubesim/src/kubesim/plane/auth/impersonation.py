"""Acting as somebody else: `kubectl --as alice --as-group devs`.

Every part of the borrowed identity (user, uid, each group, each extra value) is a resource of its own, and the caller
needs leave for each. There are two ways to be given it, tried in this order:

    constrained   `impersonate-on:<mode>:<verb>` on the request itself, and `impersonate:<mode>` on each part, where the
                  mode tells what is impersonated: a node, a service account or any other user
    legacy        `impersonate` on each part, good for all requests

The refusal tells what the first way was missing. A header given several times arrives as one value with a line per
occurrence, which no header value can contain by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote

from kubesim.plane.auth.authentication import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED
from kubesim.plane.auth.authorization import (
    Attributes,
    Authorizer,
    attributes_of,
    quoted,
    refusal,
)
from kubesim.plane.auth.rbac import MASTERS
from kubesim.plane.auth.tokens import account_of_user
from kubesim.plane.errors import StatusError, bad_request
from kubesim.plane.request import Request, User
from kubesim.plane.requestinfo import RequestInfo

_PREFIX = "impersonate-"
_EXTRA_PREFIX = "impersonate-extra-"
_AUTHENTICATION_GROUP = "authentication.k8s.io"
_NODE_PREFIX = "system:node:"
_NODES = "system:nodes"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NODE_USER = re.compile(rf"{_NODE_PREFIX}{_LABEL}(\.{_LABEL})*")
_EXTRA_KEY = re.compile(rf"{_LABEL}(\.{_LABEL})*/[^/].*")


def impersonate(authorizer: Authorizer, caller: User, request: Request, info: RequestInfo) -> User:
    """Return the user that `caller` wants to act as, or `caller`. Raise 403 where that is not allowed."""
    wanted = _wanted_user(request)
    if wanted is None:
        return caller
    attempts = [_impersonate_legacy]
    if _mode_of(wanted):
        attempts.insert(0, _impersonate_constrained)
    refusals = []
    for attempt in attempts:
        try:
            return _settled(attempt(authorizer, wanted, attributes_of(caller, info)))
        except StatusError as error:
            refusals.append(error)
    raise refusals[0]


def _wanted_user(request: Request) -> User | None:
    headers = {name: value for name, value in request.headers.items() if name.startswith(_PREFIX)}
    if not headers:
        return None
    extra = {
        unquote(name.removeprefix(_EXTRA_PREFIX)): tuple(value.split("\n"))
        for name, value in headers.items()
        if name.startswith(_EXTRA_PREFIX)
    }
    groups = tuple(headers["impersonate-group"].split("\n")) if "impersonate-group" in headers else ()
    wanted = User(headers.get("impersonate-user", ""), groups, headers.get("impersonate-uid", ""), extra)
    if not wanted.name and (groups or wanted.uid or extra):
        raise bad_request(f"requested {_shown(wanted)} without impersonating a user name")
    return wanted if wanted.name else None


def _mode_of(wanted: User) -> str:
    """Return the mode of constrained impersonation; none covers nodes or accounts that bring anything of their own."""
    is_node = _NODE_USER.fullmatch(wanted.name)
    if not is_node and account_of_user(wanted.name) is None:
        return "user-info"
    if wanted.groups or wanted.uid or wanted.extra:
        return ""
    return "arbitrary-node" if is_node else "serviceaccount"


def _impersonate_constrained(authorizer: Authorizer, wanted: User, asked: Attributes) -> User:
    mode = _mode_of(wanted)
    _require(authorizer, replace(asked, verb=f"impersonate-on:{mode}:{asked.verb}"))
    for part in _parts(asked.user, wanted, f"impersonate:{mode}", _AUTHENTICATION_GROUP):
        problem = _never_allowed(part)
        if problem:
            raise refusal(part, problem)
        _require(authorizer, part)
    return replace(wanted, groups=(_NODES,)) if mode == "arbitrary-node" else wanted


def _impersonate_legacy(authorizer: Authorizer, wanted: User, asked: Attributes) -> User:
    for part in _parts(asked.user, wanted, "impersonate", ""):
        _require(authorizer, part)
    return wanted


def _require(authorizer: Authorizer, needed: Attributes) -> None:
    decision = authorizer.authorize(needed)
    if not decision.allowed:
        raise refusal(needed, decision.reason)


def _parts(caller: User, wanted: User, verb: str, group: str) -> Iterator[Attributes]:
    """Yield what the caller needs leave for. `group` is the API group of users and groups, which has changed."""
    account = account_of_user(wanted.name)
    if account is not None:
        yield Attributes(caller, verb, group, "v1", "serviceaccounts", "", account.name, account.namespace)
    elif group and _NODE_USER.fullmatch(wanted.name):
        yield Attributes(caller, verb, group, "v1", "nodes", name=wanted.name.removeprefix(_NODE_PREFIX))
    else:
        yield Attributes(caller, verb, group, "v1", "users", name=wanted.name)
    if wanted.uid:
        yield Attributes(caller, verb, _AUTHENTICATION_GROUP, "v1", "uids", name=wanted.uid)
    for name in wanted.groups:
        yield Attributes(caller, verb, group, "v1", "groups", name=name)
    for key, values in wanted.extra.items():
        for value in values:
            yield Attributes(caller, verb, _AUTHENTICATION_GROUP, "v1", "userextras", key, value)


def _never_allowed(part: Attributes) -> str:
    """Tell what constrained impersonation rules out for everybody; the legacy way has no such scruples."""
    if part.resource == "groups" and not part.name:
        return "impersonating the empty string group is not allowed"
    if part.resource == "groups" and part.name == MASTERS:
        return "impersonating the system:masters group is not allowed"
    if part.resource == "userextras" and not part.name:
        return "impersonating the empty string value in extra is not allowed"
    if part.resource == "userextras" and not _EXTRA_KEY.fullmatch(part.subresource):
        return f"impersonating an invalid key in extra is not allowed: {quoted(part.subresource)}"
    return ""


def _settled(user: User) -> User:
    """Add the group that tells whether the identity is proven; a service account also brings its own groups."""
    account = account_of_user(user.name)
    groups = user.groups or (account.groups if account else ())
    if user.name == ANONYMOUS.name:
        needed = UNAUTHENTICATED
    elif UNAUTHENTICATED in groups:
        return user
    else:
        needed = AUTHENTICATED
    return replace(user, groups=groups if needed in groups else (*groups, needed))


def _shown(user: User) -> str:
    """Show a user as the server does: in the notation of the language it is written in."""
    extra = ", ".join(f"{quoted(key)}:{_shown_words(values)}" for key, values in user.extra.items())
    shown_extra = f"map[string][]string{{{extra}}}" if extra else "map[string][]string(nil)"
    groups = _shown_words(user.groups)
    return f'&user.DefaultInfo{{Name:"", UID:{quoted(user.uid)}, Groups:{groups}, Extra:{shown_extra}}}'


def _shown_words(words: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(quoted(word) for word in words)}}}" if words else "[]string(nil)"
