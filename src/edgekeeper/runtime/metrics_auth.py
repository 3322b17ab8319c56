"""The `/metrics` endpoint, with authentication and authorization by the API server.

With `--metrics-secure`, which is the default, callers need a bearer token. The API server authenticates it
(TokenReview) and authorizes `get` of the path `/metrics` (SubjectAccessReview), so access is granted by ordinary RBAC:

    kind: ClusterRole
    rules: [{nonResourceURLs: ["/metrics"], verbs: ["get"]}]

Results are cached by the digest of the token: a minute if allowed, ten seconds if refused. The number of concurrent
reviews is limited, and there is one at a time for each token, so that many scrapes do not become many reviews.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from aiohttp import web
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.log import get_logger
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.kinds import Kind
from edgekeeper.runtime.http_server import refusal
from edgekeeper.runtime.metrics import Metrics

log = get_logger(__name__)

PATH = "/metrics"
TOKEN_REVIEW = Kind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False)
ACCESS_REVIEW = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
_ALLOWED_SECONDS = 60.0
_REFUSED_SECONDS = 10.0
_CACHE_SIZE = 256
_CONCURRENT_REVIEWS = 4
_LONGEST_TOKEN = 16 * 1024


class Verdict(Enum):
    """The result of authentication and authorization, with its HTTP status."""

    ALLOWED = 200
    UNKNOWN = 401
    DENIED = 403


class ReviewClient(Protocol):
    """The methods of `KubeClient` that the authorizer uses."""

    async def review(self, kind: Kind, obj: JsonObject) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class _CachedVerdict:
    verdict: Verdict
    until: float


class MetricsAuthorizer:
    """Authenticates and authorizes callers by reviews of the API server, with a cache."""

    def __init__(self, client: ReviewClient, clock: Clock, path: str = PATH) -> None:
        """Callers need the right to `get` the path."""
        self._client = client
        self._path = path
        self._clock = clock
        self._cache: OrderedDict[bytes, _CachedVerdict] = OrderedDict()
        self._asking: dict[bytes, asyncio.Lock] = {}
        self._turn = asyncio.Semaphore(_CONCURRENT_REVIEWS)

    async def judge(self, token: str) -> Verdict:
        """Whether the owner of this token may read the path. Raise ApiError if a review fails."""
        digest = hashlib.sha256(token.encode(errors="surrogateescape")).digest()
        lock = self._asking.setdefault(digest, asyncio.Lock())
        try:
            async with lock:
                return self._cached(digest) or await self._ask(digest, token)
        finally:
            if not lock.locked():
                self._asking.pop(digest, None)

    def _cached(self, digest: bytes) -> Verdict | None:
        cached = self._cache.get(digest)
        return cached.verdict if cached is not None and self._clock.monotonic() < cached.until else None

    async def _ask(self, digest: bytes, token: str) -> Verdict:
        async with self._turn:
            verdict = await self._review(token)
        lasts = _ALLOWED_SECONDS if verdict is Verdict.ALLOWED else _REFUSED_SECONDS
        self._cache[digest] = _CachedVerdict(verdict, self._clock.monotonic() + lasts)
        self._cache.move_to_end(digest)
        while len(self._cache) > _CACHE_SIZE:
            self._cache.popitem(last=False)
        return verdict

    async def _review(self, token: str) -> Verdict:
        answer = await self._client.review(TOKEN_REVIEW, {"spec": {"token": token}})
        if dig(answer, "status", "authenticated") is not True:
            return Verdict.UNKNOWN
        question = {
            **_subject(dig_object(answer, "status", "user")),
            "nonResourceAttributes": {"path": self._path, "verb": "get"},
        }
        answer = await self._client.review(ACCESS_REVIEW, {"spec": question})
        return Verdict.ALLOWED if dig(answer, "status", "allowed") is True else Verdict.DENIED


def _subject(user: JsonObject) -> JsonObject:
    """The user of a TokenReview in the form of a SubjectAccessReview, which has `user` instead of `username`."""
    subject: JsonObject = {"user": user.get("username", "")}
    subject.update({name: user[name] for name in ("groups", "uid", "extra") if name in user})
    return subject


class MetricsEndpoint:
    """The HTTP handler of scrapes."""

    def __init__(self, metrics: Metrics, authorizer: MetricsAuthorizer | None) -> None:
        """Without an authorizer the endpoint is open to all callers."""
        self._metrics = metrics
        self._authorizer = authorizer

    async def handle(self, request: web.BaseRequest) -> web.Response:
        if request.path != PATH:
            return refusal(404, "not found")
        if request.method not in {"GET", "HEAD"}:
            return refusal(405, "method not allowed")
        try:
            verdict = await self._judge(request)
        except ApiError as error:
            log.warning("Cannot authorize a scrape of metrics", why=str(error))
            return refusal(503, "cannot authorize the request")
        if verdict is not Verdict.ALLOWED:
            return _refused(verdict)
        response = web.Response(
            body=await self._metrics.text(),
            headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4, "X-Content-Type-Options": "nosniff"},
        )
        response.enable_compression(_coding(request))
        return response

    async def _judge(self, request: web.BaseRequest) -> Verdict:
        if self._authorizer is None:
            return Verdict.ALLOWED
        token = bearer_token(request)
        return await self._authorizer.judge(token) if token else Verdict.UNKNOWN


def bearer_token(request: web.BaseRequest) -> str:
    """The token of the caller; empty if there is none, or none that could be valid."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    is_usable = scheme.lower() == "bearer" and len(token) <= _LONGEST_TOKEN
    return token.strip() if is_usable else ""


def _refused(verdict: Verdict) -> web.Response:
    if verdict is Verdict.DENIED:
        return refusal(403, "forbidden")
    response = refusal(401, "unauthorized")
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _coding(request: web.BaseRequest) -> web.ContentCoding:
    """gzip if the caller accepts it, which reduces the text to a tenth."""
    accepted = request.headers.get("Accept-Encoding", "").lower()
    offers = [offer.replace(" ", "").partition(";") for offer in accepted.split(",")]
    wanted = any(name == "gzip" and quality not in {"q=0", "q=0.0"} for name, _, quality in offers)
    return web.ContentCoding.gzip if wanted else web.ContentCoding.identity
