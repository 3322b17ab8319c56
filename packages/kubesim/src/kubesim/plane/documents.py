"""Paths that name no resource: health, version, discovery and OpenAPI."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from edgekeeper.core.json import JsonObject
from kubesim.plane import discovery
from kubesim.plane.errors import UnservedPathError, method_not_allowed
from kubesim.plane.openapi import OpenApi
from kubesim.plane.registry import Registry
from kubesim.plane.render import respond
from kubesim.plane.request import Request, Response

PLAIN = "text/plain; charset=utf-8"
_PROBES = frozenset({"readyz", "livez", "healthz"})
_CHECKS = ("ping", "store")
_VERSION: JsonObject = {
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


@dataclass(slots=True)
class Documents:
    """Describes one server to its clients."""

    registry: Registry
    openapi: OpenApi
    address: str = "127.0.0.1:443"
    ready: Callable[[], bool] = field(default=lambda: True)

    def answer(self, request: Request) -> Response:
        path = request.path.rstrip("/") or "/"
        root = path.split("/")[1]
        if root in ("api", "apis"):
            _check_method(request)
            return self._discover(request, path)
        if root == "openapi":
            _check_method(request)
            return _tagged(request, self._document(request, path))
        if root in _PROBES:
            return self._probe(request, path)
        if path == "/version":
            return respond(_VERSION)
        if path == "/":
            return respond({"paths": self._paths()})
        raise UnservedPathError

    def _probe(self, request: Request, path: str) -> Response:
        _, probe, *checks = path.split("/")
        if checks and checks[0] not in _CHECKS:
            raise UnservedPathError
        if not self.ready():
            text, status = f"[-]start failed: reason withheld\n{probe} check failed\n", 500
        elif "verbose" in request.query:
            lines = [f"[+]{check} ok" for check in _CHECKS]
            text, status = "\n".join([*lines, f"{probe} check passed", ""]), 200
        else:
            text, status = "ok", 200
        return Response(status, text.encode(), PLAIN, {"X-Content-Type-Options": "nosniff"})

    def _discover(self, request: Request, path: str) -> Response:
        parts = path.strip("/").split("/")
        version = discovery.wants_aggregated(request.header("accept"))
        if len(parts) == 1 and version:
            answer = respond(discovery.aggregated(self.registry, version, core=parts[0] == "api"))
            answer.content_type = (
                f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            )
            answer.headers["Vary"] = "Accept"
            return _tagged(request, answer)
        match parts:
            case ["api"]:
                return respond(discovery.core_versions(self.address))
            case ["apis"]:
                return respond(discovery.group_list(self.registry))
            case ["api", core_version]:
                return respond(discovery.resource_list(self.registry, "", core_version))
            case ["apis", group]:
                return respond(discovery.group(self.registry, group))
            case ["apis", group, group_version]:
                return respond(discovery.resource_list(self.registry, group, group_version))
        raise UnservedPathError

    def _document(self, request: Request, path: str) -> Response:
        if path == "/openapi/v2":
            return Response(200, self.openapi.v2())
        if path == "/openapi/v3":
            return Response(200, self.openapi.index())
        place = path.removeprefix("/openapi/v3/")
        if place == path:
            raise UnservedPathError
        document = self.openapi.document(place)
        current = self.openapi.address(place)
        if (asked := request.query.get("hash")) and asked[0] != current.rpartition("=")[2]:
            return Response(301, b"", headers={"Location": current})
        return Response(200, document)

    def _paths(self) -> list[str]:
        paths = ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
        for group, versions in self.registry.groups().items():
            paths.extend(f"/apis/{group}/{version}" if group else f"/api/{version}" for version in versions)
            if group:
                paths.append(f"/apis/{group}")
        return sorted(paths)


def _check_method(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()


def _tagged(request: Request, response: Response) -> Response:
    """Give a document an entity tag, and answer 304 to a client that has it already."""
    if response.status != 200:
        return response
    tag = f'"{hashlib.sha256(response.body).hexdigest().upper()}"'
    if request.header("if-none-match") == tag:
        return Response(304, b"", response.content_type, {**response.headers, "ETag": tag})
    response.headers["ETag"] = tag
    return response
