"""The services and operations that exist here, taken from botocore's service models.

A model is a few megabytes of JSON: it is loaded when its service is first called, once per process.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel, StructureShape

SERVICES: Mapping[str, str] = {
    "cloudfront": "cloudfront",
    "route53": "route53",
    "acm": "acm",
    "apigateway": "apigatewayv2",
    "lambda": "lambda",
    "sts": "sts",
}
"""Services by the name that requests are signed for, and the model that describes each."""

NAMESPACES = {
    "cloudfront": "http://cloudfront.amazonaws.com/doc/2020-05-31/",
    "route53": "https://route53.amazonaws.com/doc/2013-04-01/",
    "sts": "https://sts.amazonaws.com/doc/2011-06-15/",
}


_ACTION = re.compile(rb"(?:^|&)Action=(\w+)")


@dataclass(frozen=True)
class OperationShape:
    """One operation: what goes in, what comes out, what may go wrong."""

    service: str
    protocol: str
    model: OperationModel

    @property
    def name(self) -> str:
        return str(self.model.name)

    @property
    def input(self) -> StructureShape | None:
        return self.model.input_shape

    @property
    def output(self) -> StructureShape | None:
        return self.model.output_shape

    @cached_property
    def success(self) -> int:
        return int(self.model.http.get("responseCode", 200))

    @cached_property
    def mutating(self) -> bool:
        return not self.name.startswith(("Get", "List", "Describe", "Verify"))

    @cached_property
    def statuses(self) -> dict[str, int]:
        """HTTP status by error code, for the errors that the model declares for this operation."""
        errors = [shape.metadata.get("error", {}) | {"name": shape.name} for shape in self.model.error_shapes]
        return {
            error.get("code", error["name"]): int(error["httpStatusCode"])
            for error in errors
            if "httpStatusCode" in error
        }


@dataclass(frozen=True)
class _Route:
    pattern: re.Pattern[str]
    query: Mapping[str, str]
    operation: OperationShape


class Service:
    """One service's operations, and the way from a request to the operation that it means."""

    def __init__(self, name: str, model: ServiceModel) -> None:
        self.name = name
        self.protocol = str(model.resolved_protocol)
        self.operations = {
            each: OperationShape(name, self.protocol, model.operation_model(each))
            for each in model.operation_names
        }
        self._target = str(model.metadata.get("targetPrefix", ""))

    @cached_property
    def _routes(self) -> Mapping[tuple[str, int], list[_Route]]:
        """Candidates by method and number of slashes; those that ask for a query parameter come first."""
        routes: defaultdict[tuple[str, int], list[_Route]] = defaultdict(list)
        for operation in self.operations.values():
            method, uri = operation.model.http["method"], operation.model.http["requestUri"]
            path, _, query = uri.partition("?")
            path = path.rstrip("/")
            route = _Route(_template(path), dict(parse_qsl(query, keep_blank_values=True)), operation)
            routes[method, path.count("/")].append(route)
        for candidates in routes.values():
            candidates.sort(key=lambda route: (-len(route.query), route.pattern.groups))
        return routes

    def by_path(
        self, method: str, path: str, query: Mapping[str, list[str]]
    ) -> tuple[OperationShape, dict[str, str]] | None:
        """The operation of a REST request, and what its path says."""
        trimmed = path.rstrip("/")
        for route in self._routes.get((method, trimmed.count("/")), ()):
            match = route.pattern.fullmatch(trimmed)
            if match and all(query.get(key) == [value] for key, value in route.query.items()):
                labels = re.findall(r"{(.*?)}", route.operation.model.http["requestUri"])
                return route.operation, dict(zip(labels, map(unquote, match.groups()), strict=True))
        return None

    def by_action(self, body: bytes) -> OperationShape | None:
        """The operation that a form names."""
        match = _ACTION.search(body)
        return self.operations.get(match.group(1).decode()) if match else None

    def by_target(self, target: str) -> OperationShape | None:
        prefix, _, name = target.rpartition(".")
        return self.operations.get(name) if prefix == self._target else None


@lru_cache
def service(name: str) -> Service:
    """A service by the name that requests are signed for. Raise KeyError for one that is not simulated."""
    model = SERVICES[name]
    description: dict[str, Any] = _loader().load_service_model(model, "service-2")
    return Service(name, ServiceModel(description, model))


@lru_cache
def _loader() -> Loader:
    return Loader()


def _template(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{.*?\\}", "([^/]+)", re.escape(path)))
