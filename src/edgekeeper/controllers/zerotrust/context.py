"""All that the task of a route is built from, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from edgekeeper.api.zerotrust import ZeroTrustTenant
from edgekeeper.controllers.zerotrust.settings import Settings
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.names import fingerprint
from edgekeeper.kube.kinds import Key

DEFAULT_ORIGIN: Final = "http://traefik.traefik.svc:80"
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """What the operator's flags say about all routes."""

    default_origin: str = DEFAULT_ORIGIN
    """The origin of routes for which nobody sets one; may be `backend`."""
    dns_only_public: bool = False
    """Whether DNS-only records may lead to public addresses."""


@dataclass(frozen=True, slots=True)
class RouteNames:
    """The names of what a route gets. Others than `of` only where those are taken, or were given before."""

    application: str
    policy: str
    service_token: str
    secret: str
    client_id_key: str = "client_id"
    client_secret_key: str = "client_secret"  # noqa: S105 - the name of a key

    @classmethod
    def of(cls, route: str) -> RouteNames:
        """The names of a route of this name, cut where they would be too long."""
        return cls(
            route,
            _bounded(route, "allow-policy"),
            _bounded(route, "service-token"),
            _bounded(route, "cfzt-service-token"),
        )


@dataclass(frozen=True, slots=True)
class RouteContext:
    """All that a task is built from."""

    route: JsonObject
    tenant: ZeroTrustTenant
    tenant_key: Key
    settings: Settings
    backends: frozenset[Key] = frozenset()
    """Services of other namespaces that the route may refer to, by ReferenceGrants."""
    load_balancer: tuple[str, ...] = ()
    """The addresses and hostnames in the status of the Service that `referenced_services` names for DNS-only mode."""
    options: RouteOptions = RouteOptions()
    protected: bool = False
    """Whether there is an Access application because of the route."""
    names: RouteNames | None = None
    """None for the usual ones."""

    @property
    def namespace(self) -> str:
        return str(dig(self.route, "metadata", "namespace") or "")

    @property
    def name(self) -> str:
        return str(dig(self.route, "metadata", "name") or "")


def _bounded(route: str, suffix: str) -> str:
    name = f"{route}-{suffix}"
    if len(name) <= _LONGEST_NAME:
        return name
    end = f"-{fingerprint(route)}-{suffix}"
    return f"{route[: _LONGEST_NAME - len(end)]}{end}"
