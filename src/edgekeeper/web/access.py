"""Who may look at the status page.

    in a cluster   a bearer token that the API server authenticates (TokenReview) and that may `get` the path `/status`
                   (SubjectAccessReview), as for metrics. A browser sends it once, in the header of `GET /session`, and gets
                   a cookie for it; the token itself is reviewed again with each request, from a cache of a minute.
    `up`           a random token in the link, which becomes a cookie when the link is opened.

Cookies are HttpOnly and SameSite=Strict, and there is nothing that a request could change.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from typing import Final, Protocol

from aiohttp import web

from edgekeeper.core.clock import Clock
from edgekeeper.runtime.metrics_auth import MetricsAuthorizer, Verdict, bearer_token

PATH: Final = "/status"
"""What the right to look is called in RBAC: `nonResourceURLs: ["/status"]`."""
COOKIE: Final = "edgekeeper-status"
"""What the names of cookies begin with."""
MOST_SESSIONS: Final = 256
SESSION_SECONDS: Final = 8 * 3600.0


class Gate(Protocol):
    """Decides who may look."""

    secure: bool
    """Whether the page is served by HTTPS."""
    hint: str
    """What somebody is told who may not look."""

    async def judge(self, request: web.BaseRequest) -> Verdict:
        """Whether the caller may look. Raise ApiError if that cannot be found out."""

    async def open(self, request: web.BaseRequest) -> str | None:
        """A cookie for a caller who proves with this request that he may look; None if he does not."""


class LinkGate:
    """Lets in who has the link."""

    secure: bool = False
    hint: str = "Open the link that `edgekeeper up` has printed: it has the token."

    def __init__(self, token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(24)
        self._cookie = secrets.token_urlsafe(24)

    async def judge(self, request: web.BaseRequest) -> Verdict:
        given = bearer_token(request)
        if given and _same(given, self.token):
            return Verdict.ALLOWED
        return (
            Verdict.ALLOWED
            if _same(request.cookies.get(cookie_name(request), ""), self._cookie)
            else Verdict.UNKNOWN
        )

    async def open(self, request: web.BaseRequest) -> str | None:
        given = bearer_token(request) or request.query.get("token", "")
        return self._cookie if _same(given, self.token) else None


class ReviewGate:
    """Lets in whom the API server authorizes."""

    secure: bool = True
    hint: str = "Enter a token that may get the path /status, for example of `kubectl create token NAME -n NAMESPACE`."

    def __init__(self, authorizer: MetricsAuthorizer, clock: Clock) -> None:
        self._authorizer = authorizer
        self._clock = clock
        self._sessions: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        """By the digest of the cookie: until when it is valid, and the token that it stands for."""

    async def judge(self, request: web.BaseRequest) -> Verdict:
        token = bearer_token(request) or self._token_of(request.cookies.get(cookie_name(request), ""))
        return await self._authorizer.judge(token) if token else Verdict.UNKNOWN

    async def open(self, request: web.BaseRequest) -> str | None:
        token = bearer_token(request)
        if not token or await self._authorizer.judge(token) is not Verdict.ALLOWED:
            return None
        cookie = secrets.token_urlsafe(24)
        self._sessions[_digest(cookie)] = (self._clock.monotonic() + SESSION_SECONDS, token)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def _token_of(self, cookie: str) -> str:
        until, token = self._sessions.get(_digest(cookie), (0.0, ""))
        if token and self._clock.monotonic() >= until:
            del self._sessions[_digest(cookie)]
            return ""
        return token


def cookie_name(request: web.BaseRequest) -> str:
    """The name of the cookie of this page. Browsers send cookies to all ports of a host, where other pages may be."""
    _, _, port = request.host.rpartition(":")
    return f"{COOKIE}-{port}" if re.fullmatch("[0-9]{1,5}", port) else COOKIE


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogateescape"), expected.encode())


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode(errors="surrogateescape")).digest()
