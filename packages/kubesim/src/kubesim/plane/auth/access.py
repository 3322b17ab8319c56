"""The gate in front of every request: it tells who asks, or refuses.

    open access      everybody is `system:admin`, nothing is refused: tests and demonstrations
    guarded access   credentials count, and RBAC decides

Both honour impersonation, and both carry the authorizer that reviews and escalation checks ask.
"""

from __future__ import annotations

from typing import Protocol

from kubesim.plane.auth.authentication import ADMIN, Authenticator
from kubesim.plane.auth.authorization import AlwaysAllow, Authorizer, attributes_of, refusal
from kubesim.plane.auth.impersonation import impersonate
from kubesim.plane.request import Request, User
from kubesim.plane.requestinfo import RequestInfo


class Access(Protocol):
    """Who asks, and may they?"""

    @property
    def authenticator(self) -> Authenticator: ...

    @property
    def authorizer(self) -> Authorizer: ...

    def admit(self, request: Request, info: RequestInfo) -> User:
        """Return the user to act for. Raise 401 for bad credentials and 403 for what is not allowed."""


class OpenAccess:
    """Trusts every caller. Tokens are still known, so that TokenReview has something to tell."""

    def __init__(self, authenticator: Authenticator) -> None:
        self.authenticator = authenticator
        self.authorizer: Authorizer = AlwaysAllow()

    def admit(self, request: Request, info: RequestInfo) -> User:
        return impersonate(self.authorizer, ADMIN, request, info)


class GuardedAccess:
    """Authenticates every caller and asks the authorizer about every request."""

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer) -> None:
        self.authenticator = authenticator
        self.authorizer = authorizer

    def admit(self, request: Request, info: RequestInfo) -> User:
        user = impersonate(self.authorizer, self.authenticator.authenticate(request), request, info)
        attributes = attributes_of(user, info)
        decision = self.authorizer.authorize(attributes)
        if not decision.allowed:
            raise refusal(attributes, decision.reason)
        return user
