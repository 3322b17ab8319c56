"""Which operation a request means, what it takes to be allowed, and what its handler gets to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import unquote

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.state import Account, ApiToken, World, Zone, unroutable
from kubesim.cloudflare.wire import Refusal, Request, Result


@dataclass(frozen=True)
class Call:
    """One request on its way to its handler."""

    world: World
    request: Request
    ids: Mapping[str, str]
    token: ApiToken | None
    """Who asks; None is the administrator of the simulation."""

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    @cached_property
    def account(self) -> Account:
        return self.world.account(self.ids["account"])

    @cached_property
    def zone(self) -> Zone:
        return self.world.zone(self.ids["zone"])

    @cached_property
    def payload(self) -> JsonObject:
        """The body, which has to be an object."""
        try:
            tree: Any = msgspec.json.decode(self.request.body or b"{}")
        except msgspec.DecodeError as error:
            raise Refusal(400, 6007, "Malformed JSON in request body") from error
        if not isinstance(tree, dict):
            raise Refusal(400, 6007, "Malformed JSON in request body")
        return tree


Handler: TypeAlias = Callable[[Call], Result]


@dataclass(frozen=True, slots=True)
class Route:
    """A method on a path, where `{name}` stands for an id."""

    method: str
    template: str
    permission: str
    """The permission group without `Read` or `Write`; empty where any valid token will do."""
    handler: Handler

    @property
    def operation(self) -> str:
        return f"{self.method} {self.template}"

    @property
    def mutating(self) -> bool:
        """Whether it takes the right to write."""
        return self.method != "GET"


class Routes:
    """Finds the route of a request by the pieces of its path."""

    def __init__(self, routes: list[Route]) -> None:
        self._by_size: dict[int, list[tuple[tuple[str, ...], Route]]] = {}
        for route in routes:
            pieces = tuple(route.template.strip("/").split("/"))
            self._by_size.setdefault(len(pieces), []).append((pieces, route))

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route and the ids in the path. Raise Refusal where there is none."""
        pieces = path.strip("/").split("/")
        known_path = False
        for template, route in self._by_size.get(len(pieces), []):
            ids = _fit(template, pieces)
            if ids is None:
                continue
            if route.method == method:
                return route, ids
            known_path = True
        if known_path:
            raise Refusal(405, 7001, f"Method {method} not available for that URI.")
        raise unroutable(path)


def _fit(template: tuple[str, ...], pieces: list[str]) -> dict[str, str] | None:
    ids: dict[str, str] = {}
    for expected, piece in zip(template, pieces, strict=True):
        if expected.startswith("{"):
            ids[expected[1:-1]] = unquote(piece)
        elif expected != piece:
            return None
    return ids
