"""The one way in: from a request to a response, whatever transport it came by.

who asks, and may they ──► no resource named: documents about the server
                       └─► resource found ──► verb ──► response, or the Status of what was refused
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kubesim.plane.auth.access import Access
from kubesim.plane.call import Call, Cluster
from kubesim.plane.create import create
from kubesim.plane.delete import delete, delete_collection
from kubesim.plane.documents import PLAIN, Documents
from kubesim.plane.errors import (
    StatusError,
    UnservedPathError,
    bad_request,
    internal,
    method_not_allowed,
    no_such_resource,
    too_large,
)
from kubesim.plane.negotiate import negotiate_status
from kubesim.plane.patching import patch
from kubesim.plane.read import get, list_page
from kubesim.plane.render import prettied, respond
from kubesim.plane.request import Request, Response
from kubesim.plane.requestinfo import RequestInfo, parse_request_info
from kubesim.plane.resource import Resource
from kubesim.plane.scale import get_scale, write_scale
from kubesim.plane.update import finalize_namespace, replace
from kubesim.plane.watch import watch

log = logging.getLogger(__name__)

MAX_BODY = 3 * 1024 * 1024

Verb: TypeAlias = Callable[[Call], Response | Awaitable[Response]]

_VERBS: dict[tuple[str, str], Verb] = {
    ("create", ""): create,
    ("get", ""): get,
    ("list", ""): list_page,
    ("watch", ""): watch,
    ("update", ""): replace,
    ("patch", ""): patch,
    ("delete", ""): delete,
    ("deletecollection", ""): delete_collection,
    ("get", "status"): get,
    ("update", "status"): replace,
    ("patch", "status"): patch,
    ("get", "scale"): get_scale,
    ("update", "scale"): write_scale,
    ("patch", "scale"): write_scale,
    ("update", "finalize"): finalize_namespace,
}
_OF_ONE_OBJECT = frozenset({"get", "update", "patch", "delete"})


@dataclass(slots=True)
class ApiHandler:
    """Answers requests about one cluster."""

    cluster: Cluster
    access: Access
    documents: Documents
    answered: Mapping[tuple[str, str], Verb]
    """Resources and subresources that are answered, not stored: reviews and tokens, by plural and subresource."""

    async def handle(self, request: Request) -> Response:
        """Answer a request. Never raises: what goes wrong becomes a Status."""
        warnings: list[str] = []
        try:
            answer = await self._answer(request, warnings)
        except StatusError as error:
            answer = refusal(error, request)
        except UnservedPathError:
            answer = Response(404, b"404 page not found\n", PLAIN, {"X-Content-Type-Options": "nosniff"})
        except Exception:
            log.exception("request failed: %s %s", request.method, request.path)
            answer = refusal(internal("the server made a mistake; its log has the details"), request)
        answer.warnings.extend(warnings)
        return prettied(answer) if request.parameter("pretty") in ("true", "1") else answer

    async def _answer(self, request: Request, warnings: list[str]) -> Response:
        if len(request.body) > MAX_BODY:
            raise too_large(MAX_BODY)
        info = parse_request_info(request)
        user = self.access.admit(request, info)
        if not info.is_resource:
            return self.documents.answer(request)
        call = Call(self.cluster, request, info, self._resource(info), user, warnings)
        if call.resource.deprecation_warning:
            call.warn(call.resource.deprecation_warning)
        verb = self._verb(call)
        call.negotiated()  # what cannot be answered must not be done
        answer = verb(call)
        return answer if isinstance(answer, Response) else await answer

    def _resource(self, info: RequestInfo) -> Resource:
        resource = self.cluster.registry.find(info.group, info.version, info.resource)
        if resource is None and not self.cluster.registry.of_group(info.group):
            raise UnservedPathError
        astray = resource is not None and info.namespace and not resource.namespaced
        if resource is None or (astray and resource.plural != "namespaces"):
            raise no_such_resource()
        return resource

    def _verb(self, call: Call) -> Verb:
        info, resource = call.info, call.resource
        answered = self.answered.get((resource.plural, info.subresource))
        if answered is not None:
            if info.verb != "create":
                raise method_not_allowed()
            return answered
        if info.subresource and not _has_subresource(call):
            raise no_such_resource()
        verb = _VERBS.get((info.verb, info.subresource))
        if verb is None or call.request.method == "HEAD" or not _is_addressed_well(info, resource):
            raise _misaddressed(info, resource)
        return verb


def _is_addressed_well(info: RequestInfo, resource: Resource) -> bool:
    """Whether a verb goes with the path: some need an object, some a collection, some a namespace."""
    if not info.subresource and info.verb not in resource.verbs:
        return False
    if info.verb in _OF_ONE_OBJECT:
        return bool(info.name) and (bool(info.namespace) or not resource.namespaced)
    if info.verb == "create" and info.name:
        return False
    return info.verb in ("list", "watch") or bool(info.namespace) or not resource.namespaced


def _misaddressed(info: RequestInfo, resource: Resource) -> Exception:
    """The answer to a verb that does not go with its path, which custom kinds word in their own ways."""
    if resource.custom and info.verb in ("create", "deletecollection") and not info.name:
        return UnservedPathError()
    if resource.custom and info.verb == "update" and not info.name:
        return bad_request("name must be provided")
    return method_not_allowed()


def refusal(error: StatusError, request: Request | None = None) -> Response:
    """The answer that says so, in a format that the client accepts."""
    answer = respond(
        error.status(), error.code, negotiate_status(request.header("accept") if request else "")
    )
    answer.headers.update(error.headers)
    answer.warnings.extend(error.warnings)
    return answer


def _has_subresource(call: Call) -> bool:
    match call.info.subresource:
        case "status":
            return call.resource.status
        case "scale":
            return call.resource.scale is not None
        case "finalize":
            return call.resource.kind == "Namespace" and not call.resource.group
    return False
