"""The one way in: from a request to a response, whatever transport it came by.

authenticate and authorise ──► path without a resource: discovery, OpenAPI, health
                          └──► resource found ──► verb ──► response, or the Status of what was refused
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane import discovery
from edgekeeper.local.plane.auth.access import Access
from edgekeeper.local.plane.call import Call, Cluster
from edgekeeper.local.plane.crd.controller import is_terminating
from edgekeeper.local.plane.create import create
from edgekeeper.local.plane.delete import delete, delete_collection
from edgekeeper.local.plane.errors import StatusError, internal, method_not_allowed, no_such_path, too_large
from edgekeeper.local.plane.openapi import OpenApi
from edgekeeper.local.plane.read import get, list_page
from edgekeeper.local.plane.render import encode, respond
from edgekeeper.local.plane.request import Request, Response
from edgekeeper.local.plane.requestinfo import RequestInfo, parse_request_info
from edgekeeper.local.plane.resource import Resource
from edgekeeper.local.plane.scale import get_scale, write_scale
from edgekeeper.local.plane.update import finalize_namespace, patch, replace
from edgekeeper.local.plane.watch import watch

log = logging.getLogger(__name__)

MAX_BODY = 3 * 1024 * 1024
VERSION: JsonObject = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3+edgekeeper",
    "gitCommit": "unknown",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "cpython",
    "platform": "linux/amd64",
}

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
_HEALTH = frozenset({"/readyz", "/livez", "/healthz"})


@dataclass(slots=True)
class ApiHandler:
    """Answers requests about one cluster."""

    cluster: Cluster
    access: Access
    special: Mapping[tuple[str, str], Verb]
    """Resources and subresources that are answered, not stored: reviews and tokens, by plural and subresource."""
    openapi: OpenApi
    address: str = "127.0.0.1:443"
    ready: Callable[[], bool] = field(default=lambda: True)

    async def handle(self, request: Request) -> Response:
        """Answer a request. Never raises: what goes wrong becomes a Status."""
        warnings: list[str] = []
        try:
            _check_size(request)
            info = parse_request_info(request)
            user = self.access.admit(request, info)
            if not info.is_resource:
                return self._path_without_resource(request)
            call = Call(self.cluster, request, info, self._resource(info), user, warnings)
            if call.resource.deprecation_warning:
                call.warn(call.resource.deprecation_warning)
            response = self._verb(call)(call)
            answer = response if isinstance(response, Response) else await response
        except StatusError as error:
            answer = refusal(error)
        except Exception:
            log.exception("request failed: %s %s", request.method, request.path)
            answer = refusal(internal("the server made a mistake; its log has the details"))
        for warning in warnings:
            answer.warn(warning)
        return answer

    def _resource(self, info: RequestInfo) -> Resource:
        resource = self.cluster.registry.find(info.group, info.version, info.resource)
        if resource is None:
            raise no_such_path()
        if info.namespace and not resource.namespaced and resource.plural != "namespaces":
            raise no_such_path()
        return resource

    def _verb(self, call: Call) -> Verb:
        info, resource = call.info, call.resource
        special = self.special.get((resource.plural, info.subresource))
        if special is not None:
            if info.verb != "create":
                raise method_not_allowed()
            return special
        if info.subresource and not _has_subresource(call):
            raise no_such_path()
        if not info.subresource and info.verb not in resource.verbs:
            raise method_not_allowed()
        verb = _VERBS.get((info.verb, info.subresource))
        if verb is None or (info.verb == "create" and info.name):
            raise method_not_allowed()
        writes = info.verb in ("create", "update", "patch")
        if (
            writes
            and resource.custom
            and is_terminating(self.cluster, resource.stored_as)
            and info.verb == "create"
        ):
            raise method_not_allowed(
                f"{info.verb} not allowed while custom resource definition is terminating"
            )
        return verb

    def _path_without_resource(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        path = request.path.rstrip("/") or "/"
        root = path.split("/")[1]
        if path in _HEALTH or root in ("readyz", "livez", "healthz"):
            return self._health(request, path)
        if path == "/version":
            return respond(VERSION)
        if root in ("api", "apis"):
            return self._discover(path, request.header("accept"))
        if root == "openapi":
            return self._openapi(path)
        if path == "/":
            return respond({"paths": self._root_paths()})
        raise no_such_path()

    def _health(self, request: Request, path: str) -> Response:
        kind = path.split("/")[1]
        if not self.ready():
            return Response(
                500, f"[-]startup failed: reason withheld\n{kind} check failed\n".encode(), "text/plain"
            )
        if "verbose" in request.query:
            return Response(
                200, f"[+]ping ok\n[+]store ok\n{kind} check passed\n".encode(), "text/plain; charset=utf-8"
            )
        return Response(200, b"ok", "text/plain; charset=utf-8")

    def _discover(self, path: str, accept: str) -> Response:
        registry = self.cluster.registry
        version = discovery.wants_aggregated(accept)
        parts = path.strip("/").split("/")
        if len(parts) == 1 and version:
            tree = discovery.aggregated(registry, version, core=parts[0] == "api")
            answer = respond(tree)
            answer.content_type = (
                f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            )
            return answer
        match parts:
            case ["api"]:
                return respond(discovery.core_versions(self.address))
            case ["apis"]:
                return respond(discovery.group_list(registry))
            case ["api", core_version]:
                return respond(discovery.resource_list(registry, "", core_version))
            case ["apis", group]:
                return respond(discovery.group(registry, group))
            case ["apis", group, group_version]:
                return respond(discovery.resource_list(registry, group, group_version))
        raise no_such_path()

    def _openapi(self, path: str) -> Response:
        if path == "/openapi/v2":
            return Response(200, self.openapi.v2())
        if path == "/openapi/v3":
            return Response(200, self.openapi.index())
        place = path.removeprefix("/openapi/v3/")
        if place == path:
            raise no_such_path()
        return Response(200, self.openapi.document(place))

    def _root_paths(self) -> list[str]:
        paths = ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
        for group, versions in self.cluster.registry.groups().items():
            paths.extend(f"/apis/{group}/{version}" if group else f"/api/{version}" for version in versions)
            if group:
                paths.append(f"/apis/{group}")
        return sorted(paths)


def _check_size(request: Request) -> None:
    if len(request.body) > MAX_BODY:
        raise too_large(MAX_BODY)


def refusal(error: StatusError) -> Response:
    return Response(error.code, encode(error.status()), headers=dict(error.headers))


def _has_subresource(call: Call) -> bool:
    match call.info.subresource:
        case "status":
            return call.resource.status
        case "scale":
            return call.resource.scale is not None
        case "finalize":
            return call.resource.kind == "Namespace" and not call.resource.group
    return False
