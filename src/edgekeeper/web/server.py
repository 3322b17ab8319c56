"""The HTTP handler of the status page.

    GET /                        the page, and its files
    GET /session                 a cookie, for a bearer token in the header
    GET /api/overview            counts, problems, budgets
    GET /api/objects?q=…         a page of the list: q, kind, namespace, state, sort, page, size
    GET /api/object/ID           one object; ID is group/Kind/namespace/name
    GET /api/writer/ID           who changed it last
    GET /api/plan/ID             what is left to do for it
    GET /api/graph/ID            the resources of a composed instance; with `.svg` after `graph` as a picture
    GET /api/changes?before=N    recent changes
    GET /events                  what changes, as Server-Sent Events

Only GET and HEAD are served. Everything but the files needs authorization. Answers are not stored by caches, and a policy
forbids browsers everything but the files of the page itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec
from aiohttp import web

from edgekeeper.core.log import get_logger
from edgekeeper.kube.errors import ApiError
from edgekeeper.runtime.metrics_auth import Verdict
from edgekeeper.web.access import Gate, cookie_name
from edgekeeper.web.assets import load_assets
from edgekeeper.web.live import Full, Hub
from edgekeeper.web.queries import QueryError
from edgekeeper.web.site import MissingError, Site

log = get_logger(__name__)

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LIMIT: Final = timedelta(seconds=10)
"""How long a request may take, apart from plans, graphs and the stream."""
SLOW_LIMIT: Final = timedelta(seconds=90)
_JSON: Final = "application/json"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class StatusPage:
    """Serves the page. Implements `runtime.server.Page`."""

    site: Site
    hub: Hub
    gate: Gate

    @property
    def secure(self) -> bool:
        return self.gate.secure

    def close(self) -> None:
        self.hub.close()

    async def run(self) -> None:
        """Keep the rows up to date until cancelled. A failure is logged, and does not end it."""
        while True:
            try:
                await self.site.directory.run()
            except Exception:
                log.exception("The status page has failed")
            await asyncio.sleep(1)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method not in {"GET", "HEAD"}:
            response = _problem(405, "only GET is served: the page is read-only")
            response.headers["Allow"] = "GET, HEAD"
            return response
        try:
            return await self._answer(request)
        except QueryError as error:
            return _problem(400, str(error))
        except MissingError as error:
            return _problem(404, str(error))
        except TimeoutError:
            return _problem(503, "this takes too long")
        except ApiError as error:
            log.warning("Cannot answer a request of the status page", path=request.path, why=str(error))
            return _problem(503, "the API server cannot be asked")

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path in _ASSETS and "token" not in request.query:
            return _file(request)
        if path in ("/", "/session"):
            return await self._opened(request)
        async with asyncio.timeout(LIMIT.total_seconds()):
            verdict = await self.gate.judge(request)
        if verdict is not Verdict.ALLOWED:
            return self._refused(verdict)
        if path == "/events":
            return await self._stream(request)
        return await self._data(path, request.query)

    async def _data(self, path: str, query: Mapping[str, str]) -> web.Response:
        for prefix, (limit, answer) in self._routes.items():
            if path == prefix or (prefix.endswith("/") and path.startswith(prefix)):
                async with asyncio.timeout(limit.total_seconds()):
                    found = await answer(path.removeprefix(prefix), query)
                if isinstance(found, str):
                    return _response(found.encode(), "image/svg+xml; charset=utf-8")
                return _response(_encode(found), _JSON)
        raise MissingError("there is no such page")

    @property
    def _routes(
        self,
    ) -> dict[str, tuple[timedelta, Callable[[str, Mapping[str, str]], Awaitable[Any]]]]:
        site = self.site
        return {
            "/api/overview": (LIMIT, site.overview),
            "/api/objects": (LIMIT, site.objects),
            "/api/object/": (LIMIT, site.object),
            "/api/changes": (LIMIT, site.changes),
            "/api/writer/": (LIMIT, site.writer),
            "/api/plan/": (SLOW_LIMIT, site.plan),
            "/api/graph.svg/": (SLOW_LIMIT, site.picture),
            "/api/graph/": (SLOW_LIMIT, site.graph),
        }

    async def _opened(self, request: web.BaseRequest) -> web.Response:
        """Turn a token into a cookie. A token in the address is removed from it, also if it is wrong."""
        async with asyncio.timeout(LIMIT.total_seconds()):
            cookie = await self.gate.open(request)
            verdict = Verdict.ALLOWED if cookie is not None else await self.gate.judge(request)
        if request.path == "/":
            response = _response(b"", "text/plain", status=303)
            response.headers["Location"] = "/"
        elif cookie is None:
            return self._refused(verdict)
        else:
            response = _response(b'{"open":true}', _JSON)
        if cookie is not None:
            name = cookie_name(request)
            response.set_cookie(name, cookie, httponly=True, samesite="Strict", secure=self.secure, path="/")
        return response

    def _refused(self, verdict: Verdict) -> web.Response:
        if verdict is Verdict.DENIED:
            return _problem(
                403, "you are known, but may not look: the right to get the path /status is missing"
            )
        response = _problem(401, self.gate.hint)
        response.headers["WWW-Authenticate"] = "Bearer"
        return response

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        events = self.hub.stream(request.headers.get("Last-Event-ID", "") or request.query.get("last", ""))
        try:
            first = await anext(events)
        except Full:
            response = _problem(503, "too many browsers are open")
            response.headers["Retry-After"] = "30"
            return response
        stream = web.StreamResponse(
            headers={**HEADERS, "Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        async with aclosing(events):
            await stream.prepare(request)
            if request.method == "GET":
                await self._pump(request, stream, first, events)
        return stream

    async def _pump(
        self,
        request: web.BaseRequest,
        stream: web.StreamResponse,
        first: bytes,
        events: AsyncIterator[bytes],
    ) -> None:
        """Send events until the client leaves, may not look any more, or the process ends."""
        try:
            await stream.write(first)
            async for event in events:
                if not await self._may_look_still(request):
                    return
                await stream.write(event)
        except ConnectionError:
            log.debug("A browser has left")

    async def _may_look_still(self, request: web.BaseRequest) -> bool:
        """The same as when the stream was opened. If it cannot be found out, the browser has to ask again."""
        try:
            async with asyncio.timeout(LIMIT.total_seconds()):
                return await self.gate.judge(request) is Verdict.ALLOWED
        except (ApiError, TimeoutError) as error:
            log.warning("Cannot find out who may look: a stream ends", why=str(error))
            return False


_ASSETS: Final = load_assets()


def _file(request: web.BaseRequest) -> web.Response:
    asset = _ASSETS[request.path]
    if request.headers.get("If-None-Match") == asset.etag:
        response = _response(b"", asset.type, status=304)
    else:
        response = _response(asset.content, asset.type)
    response.headers["ETag"] = asset.etag
    response.headers["Cache-Control"] = "no-cache"
    return response


def _response(content: bytes, type_: str, status: int = 200) -> web.Response:
    response = web.Response(
        status=status, body=content, headers={**HEADERS, "Content-Type": type_, "Cache-Control": "no-store"}
    )
    if len(content) > 1024:
        response.enable_compression()
    return response


def _problem(status: int, message: str) -> web.Response:
    return _response(_encode({"error": message}), _JSON, status)
