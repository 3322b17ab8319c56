"""Acting as somebody else: `kubectl --as alice --as-group devs`.

Every part of the borrowed identity (user, each group, uid, each extra value) is a resource of its own, and the caller
needs the verb `impersonate` on each. A header given several times arrives as one value with a line per occurrence,
which no header value can contain by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from edgekeeper.local.plane.auth.authentication import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED
from edgekeeper.local.plane.auth.authorization import Attributes, Authorizer, refusal
from edgekeeper.local.plane.auth.tokens import account_of_user
from edgekeeper.local.plane.errors import bad_request
from edgekeeper.local.plane.request import Request, User

_PREFIX = "impersonate-"
_EXTRA_PREFIX = "impersonate-extra-"
_AUTHENTICATION_GROUP = "authentication.k8s.io"


@dataclass(frozen=True, slots=True)
class _Wish:
    """Whom a request wants to be."""

    user: str
    groups: tuple[str, ...]
    uid: str
    extra: dict[str, tuple[str, ...]]


def impersonate(authorizer: Authorizer, caller: User, request: Request) -> User:
    """Return the user that `caller` wants to act as, or `caller`. Raise 403 where that is not allowed."""
    wish = _wish_of(request)
    if wish is None:
        return caller
    for needed in _needed(caller, wish):
        decision = authorizer.authorize(needed)
        if not decision.allowed:
            raise refusal(needed, decision.reason)
    return User(wish.user, _groups(wish), wish.uid, wish.extra)


def _wish_of(request: Request) -> _Wish | None:
    headers = {name: value for name, value in request.headers.items() if name.startswith(_PREFIX)}
    if not headers:
        return None
    extra = {
        unquote(name.removeprefix(_EXTRA_PREFIX)): tuple(value.split("\n"))
        for name, value in headers.items()
        if name.startswith(_EXTRA_PREFIX)
    }
    groups = tuple(headers.get("impersonate-group", "").split("\n"))
    wish = _Wish(
        headers.get("impersonate-user", ""),
        groups if groups != ("",) else (),
        headers.get("impersonate-uid", ""),
        extra,
    )
    if wish.user:
        return wish
    if wish.groups or wish.uid or wish.extra:
        raise bad_request(f"requested [{' '.join(_references(wish))}] without impersonating a user")
    return None


def _references(wish: _Wish) -> Iterator[str]:
    """Show what was asked for as the server does: object references, most of whose fields are empty."""
    version = f"{_AUTHENTICATION_GROUP}/v1"
    for group in wish.groups:
        yield f"{{Group  {group}    }}"
    for key, values in wish.extra.items():
        for value in values:
            yield f"{{UserExtra  {value}  {version}  {key}}}"
    if wish.uid:
        yield f"{{UID  {wish.uid}  {version}  }}"


def _needed(caller: User, wish: _Wish) -> Iterator[Attributes]:
    account = account_of_user(wish.user)
    if account is not None:
        yield Attributes(
            caller, "impersonate", "", "v1", "serviceaccounts", "", account.name, account.namespace
        )
    else:
        yield Attributes(caller, "impersonate", "", "v1", "users", name=wish.user)
    for group in wish.groups:
        yield Attributes(caller, "impersonate", "", "v1", "groups", name=group)
    for key, values in wish.extra.items():
        for value in values:
            yield Attributes(
                caller, "impersonate", _AUTHENTICATION_GROUP, "v1", "userextras", subresource=key, name=value
            )
    if wish.uid:
        yield Attributes(caller, "impersonate", _AUTHENTICATION_GROUP, "v1", "uids", name=wish.uid)


def _groups(wish: _Wish) -> tuple[str, ...]:
    """Add the group that tells whether the identity is proven; a service account also brings its own groups."""
    account = account_of_user(wish.user)
    groups = wish.groups or (account.groups if account else ())
    if wish.user == ANONYMOUS.name:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    settled = AUTHENTICATED in groups or UNAUTHENTICATED in groups
    return groups if settled else (*groups, AUTHENTICATED)
