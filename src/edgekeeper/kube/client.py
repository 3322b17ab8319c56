"""The client of the API server. Every request to Kubernetes is sent by it.

Every attempt of every call goes through the same stages:

    number ─► hooks before ─► dry run? ─► rate limit ─► still leading? ─► transport ─► hooks after ─► errors
                                 │ writes end here, with a simulated response

*Guarantees*
 - A write is sent at most once. Only a 429 with `Retry-After`, which means that the write was not processed, is
   followed by another attempt.
 - Reads are retried within the deadline after errors that may be transient: no response, 429, 502 to 504, and any other
   server error with `Retry-After`. Each attempt is a call with a number of its own.
 - In a dry run no write reaches the transport.
 - Errors are raised as `ApiError`; exceptions of hooks and of the leadership check are passed on.

*Caveats*
 - After `UnreachableError` and `ServerError` a write may have taken effect: read before repeating it.
 - `leadership` is checked before every write of a client. Code that must write without leading, such as the elector,
   uses another client over the same transport and the same `Calls`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus

import msgspec

from edgekeeper import __version__
from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.log import get_logger
from edgekeeper.kube import requests
from edgekeeper.kube.dryrun import simulate_apply, simulate_create, simulate_merge, simulate_patch
from edgekeeper.kube.errors import (
    ApiError,
    NotFoundError,
    ThrottledError,
    UnreachableError,
    error_of,
    raise_for,
)
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.limits import TokenBucket
from edgekeeper.kube.pages import BrokenLineError, Page, parse_page, split_lines
from edgekeeper.kube.raw import MalformedObjectError, peek
from edgekeeper.kube.requests import Call, Preconditions, Selection
from edgekeeper.kube.retrying import pause_before_retry
from edgekeeper.kube.server_warnings import ServerWarnings
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, Transport, TransportError

log = get_logger(__name__)

_LONGEST_REFUSAL = 64 * 1024
"""How many bytes of the error response to a watch are read for its message."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Deadlines, retries and rate limit of a client."""

    user_agent: str = f"edgekeeper/{__version__}"
    """Its part before the slash is also the field manager of writes other than apply."""
    deadline: timedelta = timedelta(seconds=30)
    """For a whole call: waiting for the rate limit, every attempt and the pauses between them."""
    read_attempt: timedelta = timedelta(seconds=15)
    """For one attempt to read: after a connection that broke silently there is time for another attempt."""
    retries: bool = True
    """Whether calls are retried. Otherwise every error is raised at once."""
    requests_per_second: float | None = None
    """The rate limit of all calls; None for no limit."""
    burst: int = 30
    dry_run: bool = False


DEFAULT_OPTIONS = ClientOptions()


class _DryRunError(Exception):
    """The write with this number was not sent because of a dry run."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class KubeClient:
    """Reads, watches and writes objects of one API server."""

    def __init__(
        self, transport: Transport, calls: Calls, clock: Clock, options: ClientOptions = DEFAULT_OPTIONS
    ) -> None:
        self._transport = transport
        self._calls = calls
        self._clock = clock
        self.options = options
        rate = options.requests_per_second
        self._bucket = TokenBucket(rate, options.burst) if rate is not None else None
        self._warnings = ServerWarnings()
        self.observe: Callable[[str, int], None] | None = None
        """Called with the method and status of every attempt that was sent; the status is 0 without a response."""
        self.leadership: Callable[[], None] | None = None
        """Called before every write; raises if this process does not lead."""

    def guarded(self, check: Callable[[], None]) -> KubeClient:
        """A client over the same transport that calls `check` before every write too; it raises to prevent the write."""
        client = copy(self)

        def check_both() -> None:
            if self.leadership is not None:
                self.leadership()
            check()

        client.leadership = check_both
        return client

    # Reading

    async def get(self, kind: Kind, key: Key) -> JsonObject:
        """Read the object from the server. Raise NotFoundError if it does not exist."""
        call = requests.get(kind, key)
        return _decoded(await self._send(call), call.request)

    async def fetch(
        self, path: str, query: Mapping[str, str] | None = None, *, accept: str = requests.JSON
    ) -> JsonObject:
        """Read a document that is not an object of a kind, such as discovery and OpenAPI documents."""
        call = requests.fetch(path, query or {}, accept)
        return _decoded(await self._send(call), call.request)

    async def pages(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        page_size: int = 500,
    ) -> AsyncGenerator[Page, None]:
        """List the objects of a kind in pages that are consistent with each other.

        Raise ExpiredError if the continue token has expired between two pages: the pages so far are then incomplete,
        and the caller has to list again.
        """
        selection = Selection(namespace, labels, fields, metadata_only)
        token = ""
        while True:
            call = requests.list_page(kind, selection, page_size, token)
            response = await self._send(call)
            try:
                page, token = parse_page(response.body)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise _unreadable(error, call.request) from error
            yield page
            if page.last:
                return

    @asynccontextmanager
    async def watch(  # noqa: PLR0913 - as many as the server takes, all by name
        self,
        kind: Kind,
        *,
        resource_version: str,
        timeout: timedelta,  # noqa: ASYNC109 - enforced by the server
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        bookmarks: bool = True,
        initial_events: bool = False,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Watch the changes after `resource_version`: each line is one event as JSON.

        The lines end when the server ends the watch after `timeout`; a connection that breaks raises UnreachableError.
        A connection that no longer delivers anything is not detected here. A resourceVersion that is too old leads
        either to ExpiredError or to an ERROR event. With `initial_events` the present objects come first, as ADDED
        events, followed by a bookmark; `resource_version` is then the oldest state that they may have.
        """
        selection = Selection(namespace, labels, fields, metadata_only)
        extent = requests.Extent(resource_version, timeout, bookmarks, initial_events)
        call = requests.watch(kind, selection, extent)
        async with AsyncExitStack() as stack:
            stream = await self._open(call, stack)
            yield await stack.enter_async_context(aclosing(_lines(stream, call.request)))

    async def review(self, kind: Kind, obj: JsonObject) -> JsonObject:
        """Create a review object, such as a TokenReview, and return it with its status. Nothing is stored by it."""
        call = requests.review(kind, obj)
        return _decoded(await self._send(call), call.request)

    # Writing

    async def create(self, kind: Kind, obj: JsonObject, *, namespace: str = "") -> JsonObject:
        """Create the object in `namespace`, or in its own `metadata.namespace`."""
        target = namespace or dig(obj, "metadata", "namespace") or ""
        try:
            return await self._write(requests.create(kind, obj, target))
        except _DryRunError as unsent:
            return simulate_create(kind, obj, target, unsent.number, self._clock.now())

    async def replace(self, kind: Kind, key: Key, obj: JsonObject, *, subresource: str = "") -> JsonObject:
        """Replace the object, if its resourceVersion is still the one in `obj`."""
        try:
            return await self._write(requests.replace(kind, key, obj, subresource))
        except _DryRunError:
            return deepcopy(obj)

    async def merge_patch(
        self, kind: Kind, key: Key, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        """Merge `patch` into the object; `metadata.resourceVersion` in it is a precondition."""
        try:
            return await self._write(requests.patch(kind, key, patch, requests.MERGE_PATCH, subresource))
        except _DryRunError:
            return simulate_merge(await self.get(kind, key), patch)

    async def merge_patch_version(
        self, kind: Kind, key: Key, patch: JsonObject, *, subresource: str = ""
    ) -> str:
        """As `merge_patch`, but return only the new resourceVersion, which avoids decoding the object."""
        call = requests.patch(kind, key, patch, requests.MERGE_PATCH, subresource)
        try:
            return _version_in(await self._send(call), call.request)
        except _DryRunError:
            return str(simulate_merge(await self.get(kind, key), patch)["metadata"]["resourceVersion"])

    async def json_patch(
        self, kind: Kind, key: Key, operations: list[JsonObject], *, subresource: str = ""
    ) -> JsonObject:
        """Apply a JSON patch (RFC 6902)."""
        try:
            return await self._write(requests.patch(kind, key, operations, requests.JSON_PATCH, subresource))
        except _DryRunError:
            return simulate_patch(await self.get(kind, key), operations)

    async def apply(  # noqa: PLR0913 - as many as the server takes, all by name
        self,
        kind: Kind,
        key: Key,
        fields: JsonObject,
        *,
        manager: str,
        force: bool = True,
        subresource: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Make `manager` the owner of `fields`, and of no others, by server-side apply.

        Without `force`, raise FieldConflictError for fields that other managers own. With `dry_run` the server returns
        the object as it would be after defaults and admission, and stores nothing; that needs no leadership.
        """
        options = {"fieldManager": manager, "force": "true" if force else "false"}
        if dry_run:
            options["dryRun"] = "All"
        try:
            return await self._write(requests.apply(kind, key, fields, options, subresource))
        except _DryRunError as unsent:
            live = await self._get_if_there(kind, key)
            return simulate_apply(kind, key, live, fields, unsent.number, self._clock.now())

    async def delete(
        self, kind: Kind, key: Key, *, uid: str = "", resource_version: str = "", propagation: str = ""
    ) -> None:
        """Delete the object, if it has the given `uid` and `resource_version`."""
        call = requests.delete(kind, key, Preconditions(uid, resource_version), propagation)
        try:
            await self._write(call)
        except _DryRunError:
            return

    async def delete_collection(  # noqa: PLR0913 - as many as the server takes, all by name
        self,
        kind: Kind,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
    ) -> None:
        """Delete the objects that match `labels` and `fields`, in one namespace if the kind is namespaced.

        The preconditions apply to each object: an object with another uid is not deleted, and the call fails.
        """
        selection = Selection(namespace, labels, fields)
        call = requests.delete_collection(kind, selection, Preconditions(uid, resource_version), propagation)
        try:
            await self._write(call)
        except _DryRunError:
            return

    async def close(self) -> None:
        await self._transport.close()

    async def _get_if_there(self, kind: Kind, key: Key) -> JsonObject | None:
        try:
            return await self.get(kind, key)
        except NotFoundError:
            return None

    async def _write(self, call: Call) -> JsonObject:
        return _decoded(await self._send(call), call.request)

    # Sending

    async def _send(self, call: Call) -> ApiResponse:
        """Send a call, with retries within the deadline. Raise ApiError if it fails."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.options.deadline.total_seconds()
        failures = 0
        while True:
            record = self._calls.record("kubernetes", call.operation, call.subject, mutating=call.mutating)
            try:
                return await self._attempt(call, record, until)
            except ApiError as error:
                error.about(call.request.method, call.request.path)
                failures += 1
                pause = pause_before_retry(error, record, failures) if self.options.retries else None
                if pause is None or loop.time() + pause >= until:
                    raise
            await asyncio.sleep(pause)

    async def _attempt(self, call: Call, record: CallRecord, until: float) -> ApiResponse:
        try:
            await self._calls.before(record)
            if call.mutating and self.options.dry_run:
                log.info("write not sent because of dry run", operation=call.operation, subject=call.subject)
                raise _DryRunError(record.number)
            await self._wait_for_rate_limit(until)
            if call.mutating and self.leadership is not None:
                self.leadership()
            response = await self._traced(call, record, until)
            await self._calls.after(record)
        except TransportError as error:
            raise UnreachableError(str(error)) from error
        raise_for(response)
        return response

    async def _traced(self, call: Call, record: CallRecord, until: float) -> ApiResponse:
        """Transmit; writes have a span."""
        if not call.mutating:
            return await self._transmit(call, until)
        with self._calls.tracer.call(record) as span:
            response = await self._transmit(call, until)
            span.end(str(response.status), failed=response.status >= HTTPStatus.BAD_REQUEST)
            return response

    async def _transmit(self, call: Call, until: float) -> ApiResponse:
        left = timedelta(seconds=max(0.0, until - asyncio.get_running_loop().time()))
        deadline = left if call.mutating else min(left, self.options.read_attempt)
        status = 0
        try:
            response = await self._transport.send(self._with_user_agent(call.request), deadline)
            status = response.status
        finally:
            self._observe(call.request.method, status)
        self._warnings.log(response.headers, call.operation)
        return response

    async def _open(self, call: Call, stack: AsyncExitStack) -> ApiStream:
        """Open a watch through the same stages. It is not retried here: the caller knows where to resume."""
        record = self._calls.record("kubernetes", call.operation, call.subject, mutating=False)
        until = asyncio.get_running_loop().time() + self.options.deadline.total_seconds()
        try:
            async with asyncio.timeout_at(until):
                await self._calls.before(record)
                await self._wait_for_rate_limit(until)
                stream = await self._open_stream(call.request, stack)
                await self._calls.after(record)
        except (TransportError, TimeoutError) as error:
            why = str(error) or f"no answer within {self.options.deadline.total_seconds():g} s"
            raise UnreachableError(why).about(call.request.method, call.request.path) from error
        except ApiError as error:
            error.about(call.request.method, call.request.path)
            raise
        return stream

    async def _open_stream(self, request: ApiRequest, stack: AsyncExitStack) -> ApiStream:
        status = 0
        try:
            stream = await stack.enter_async_context(self._transport.stream(self._with_user_agent(request)))
            status = stream.status
        finally:
            self._observe(request.method, status)
        if status >= 300:
            raise error_of(ApiResponse(status, stream.headers, await _beginning(stream)))
        return stream

    async def _wait_for_rate_limit(self, until: float) -> None:
        if self._bucket is None:
            return
        try:
            async with asyncio.timeout_at(until):
                await self._bucket.acquire()
        except TimeoutError as error:
            raise ThrottledError(
                0, "", "the client's own rate limit was not available within the deadline"
            ) from error

    def _with_user_agent(self, request: ApiRequest) -> ApiRequest:
        headers = {**request.headers, "user-agent": self.options.user_agent}
        return ApiRequest(request.method, request.path, request.query, headers, request.body)

    def _observe(self, method: str, status: int) -> None:
        if self.observe is not None:
            self.observe(method, status)


def _decoded(response: ApiResponse, request: ApiRequest) -> JsonObject:
    try:
        tree = msgspec.json.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(error, request) from error
    except RecursionError as error:
        raise _unreadable("it is nested too deeply", request) from error
    if not isinstance(tree, dict):
        raise _unreadable("it is not a JSON object", request)
    return tree


def _version_in(response: ApiResponse, request: ApiRequest) -> str:
    try:
        return peek(response.body).resource_version
    except MalformedObjectError as error:
        raise _unreadable(error, request) from error


def _unreadable(why: object, request: ApiRequest) -> ApiError:
    """The error for a response that cannot be decoded, such as the login page of a proxy: as if there were none."""
    return UnreachableError(f"the answer cannot be read: {why}").about(request.method, request.path)


async def _beginning(stream: ApiStream) -> bytes:
    """The beginning of an error response, enough for its message."""
    body = b""
    async for chunk in stream.chunks:
        body += chunk
        if len(body) > _LONGEST_REFUSAL:
            break
    return body


async def _lines(stream: ApiStream, request: ApiRequest) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(split_lines(stream.chunks)) as lines:
            async for line in lines:
                yield line
    except (TransportError, BrokenLineError) as error:
        raise UnreachableError(str(error)).about(request.method, request.path) from error
