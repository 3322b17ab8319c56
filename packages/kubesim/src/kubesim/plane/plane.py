"""The embedded control plane's API server as one object: build it, enter it, call it or serve it.

    async with Plane(PlaneConfig()) as plane:
        response = await plane.handle(Request.of("GET", "/readyz"))     # in memory, no socket
        endpoint = await plane.serve()                                  # loopback HTTPS, kubectl works
        print(plane.kubeconfig(endpoint))

State is in memory, or in a SQLite file under `data_dir`; then it survives a restart, certificates included.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import RuleCompiler
from kubesim.plane.admission import (
    Admission,
    Operation,
    addresses_are_free,
    namespace_accepts_objects,
)
from kubesim.plane.answered import answered_resources
from kubesim.plane.auth.access import Access, GuardedAccess, OpenAccess
from kubesim.plane.auth.authentication import Authenticator, utc_now
from kubesim.plane.auth.bootstrap import bootstrap_policy
from kubesim.plane.auth.certificates import CertificateAuthority
from kubesim.plane.auth.escalation import confirm_no_escalation
from kubesim.plane.auth.rbac import RbacAuthorizer
from kubesim.plane.auth.tokens import ServiceAccountTokens
from kubesim.plane.call import Call, Cluster
from kubesim.plane.client import InProcessClient
from kubesim.plane.controllers.aggregation import RoleAggregator
from kubesim.plane.controllers.garbage import GarbageCollector
from kubesim.plane.controllers.namespace import NamespaceController
from kubesim.plane.controllers.simulate import SIMULATORS, Simulator
from kubesim.plane.crd import DefinitionController, definition_accepts_objects
from kubesim.plane.documents import Documents
from kubesim.plane.errors import StatusError
from kubesim.plane.expressions import RULES, conditions_hold
from kubesim.plane.handler import ApiHandler
from kubesim.plane.http import HttpServer
from kubesim.plane.identity import Identity
from kubesim.plane.journal import SqliteJournal
from kubesim.plane.kinds import definitions
from kubesim.plane.kinds.gateway import gateway_crds
from kubesim.plane.kubeconfig import Endpoint, render_kubeconfig
from kubesim.plane.openapi import OpenApi
from kubesim.plane.registry import Registry
from kubesim.plane.request import Request, Response, User
from kubesim.plane.resources import served_resources
from kubesim.plane.sources import (
    StoredRoles,
    StoredWebhooks,
    account_uid,
    namespace_labels,
    served_versions,
)
from kubesim.plane.store import DEFAULT_HISTORY, Store
from kubesim.plane.webhook import Surroundings, Webhooks

ADMIN = User("system:admin", ("system:masters", "system:authenticated"))
_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


@dataclass(frozen=True)
class PlaneConfig:
    """How a plane is to be. The defaults make a lively cluster in memory in which everybody may do everything."""

    data_dir: Path | None = None
    auth: bool = False
    """Authenticate every caller and evaluate RBAC."""
    tokens: Mapping[str, User] = field(default_factory=dict)
    """Bearer tokens and whom they stand for, beside the administrator's own."""
    authority: CertificateAuthority | None = None
    """Signs certificates in place of an authority of the plane's own."""
    simulators: frozenset[str] = frozenset(SIMULATORS)
    gateway_api: bool = True
    """Install the CustomResourceDefinitions of the Gateway API."""
    history: int = DEFAULT_HISTORY
    now: Callable[[], datetime] = utc_now
    seed: int | None = None
    """Makes uids and generated names repeatable."""
    rules: RuleCompiler | None = RULES
    """Checks and evaluates `x-kubernetes-validations`; with None, definitions may hold any rules, and they do nothing."""


class Plane:
    """A Kubernetes API server in this process."""

    def __init__(self, config: PlaneConfig | None = None) -> None:
        self.config = config or PlaneConfig()
        self._identity = Identity.load_or_create(
            self.config.data_dir, self.config.authority, self.config.now()
        )
        self._journal = SqliteJournal(self.config.data_dir / "plane.db") if self.config.data_dir else None
        self.admin_token = self._identity.admin_token
        self.store = Store(self._journal, self.config.history)
        self.registry = Registry(definitions())
        self._webhooks = Webhooks(StoredWebhooks(self.store), self._surroundings())
        self.cluster = Cluster(
            store=self.store,
            registry=self.registry,
            now=self.config.now,
            random=Random(self.config.seed),
            admission=Admission(
                self._webhooks, [namespace_accepts_objects, definition_accepts_objects, addresses_are_free]
            ),
        )
        self._tokens = ServiceAccountTokens(
            self._identity.signing_key, lambda namespace, name: account_uid(self.store, namespace, name)
        )
        self.access = self._build_access()
        self._documents = Documents(self.registry, OpenApi(self.registry), ready=lambda: self._ready)
        self._handler = ApiHandler(
            cluster=self.cluster,
            access=self.access,
            documents=self._documents,
            answered=answered_resources(self.access, self._tokens),
        )
        self._ready = False
        self.client = InProcessClient(self._handler.handle, self.admin_token)
        self._controllers = self._build_controllers()
        self._servers: list[HttpServer] = []

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def handle(self, request: Request) -> Response:
        """Answer a request in memory: the same code that serves the wire."""
        return await self._handler.handle(request)

    async def start(self) -> None:
        self.registry.add(served_resources(self._definition_rules))
        if self._journal is not None:
            self._journal.replay(self.store)
        for resource in self.registry.all():
            self.store.collection(resource.stored_as)
        for controller in self._controllers:
            self.store.listen(controller.observe)
            controller.restore(self.store)
            controller.start()
        await self._bootstrap()
        self._ready = True

    async def stop(self) -> None:
        """Stop serving, then working, then close what is open. State in a data directory stays."""
        self._ready = False
        for collection in self.store.collections():
            collection.close()
        for server in self._servers:
            await server.stop()
        for controller in self._controllers:
            await controller.stop()
        await self._webhooks.close()
        if self._journal is not None:
            self._journal.close()

    async def settle(self) -> None:
        """Wait until the server's own controllers have nothing left to do."""
        while not all(controller.is_idle for controller in self._controllers):
            for controller in self._controllers:
                await controller.idle()

    async def serve(self, host: str = "127.0.0.1", port: int = 0) -> Endpoint:
        """Listen with TLS; return where, and what a client needs to trust it."""
        pair = self._identity.authority.issue_serving(
            (host, "localhost", "127.0.0.1", "kubernetes"), self.config.now()
        )
        server = HttpServer(self.handle, _server_tls(pair.certificate, pair.key, self._identity.authority))
        bound = await server.start(host, port)
        self._servers.append(server)
        self._documents.address = f"{host}:{bound}"
        return Endpoint(f"https://{host}:{bound}", self._identity.authority.certificate, self.admin_token)

    def kubeconfig(self, endpoint: Endpoint, name: str = "edgekeeper") -> str:
        """A kubeconfig for the administrator of this plane."""
        return render_kubeconfig(endpoint, name)

    def client_certificate(self, user: str, *groups: str) -> tuple[bytes, bytes]:
        """A certificate and key (PEM) with which a client is `user` when authentication is on."""
        pair = self._identity.authority.issue_client(user, groups, self.config.now())
        return pair.certificate, pair.key

    def _build_access(self) -> Access:
        tokens = {self.admin_token: ADMIN, **self.config.tokens}
        authenticator = Authenticator(tokens, self._identity.authority, self._tokens, self.config.now)
        if not self.config.auth:
            return OpenAccess(authenticator)
        authorizer = RbacAuthorizer(StoredRoles(self.store))

        def no_escalation(
            call: Call, operation: Operation, new: JsonObject | None, old: JsonObject | None
        ) -> None:
            if operation != "DELETE" and new is not None:
                confirm_no_escalation(authorizer, call.user, call.info, new, old)

        self.cluster.admission.guards.append(no_escalation)
        return GuardedAccess(authenticator, authorizer)

    def _build_controllers(
        self,
    ) -> list[DefinitionController | GarbageCollector | NamespaceController | RoleAggregator | Simulator]:
        parts = (self.cluster, self.client)
        return [
            DefinitionController(*parts, self.config.rules),
            GarbageCollector(*parts),
            NamespaceController(*parts),
            RoleAggregator(*parts),
            Simulator(*parts, self.config.simulators),
        ]

    def _surroundings(self) -> Surroundings:
        return Surroundings(
            namespace_labels=lambda name: namespace_labels(self.store, name),
            served_versions=lambda group, plural: served_versions(self.registry, group, plural),
            conditions_hold=conditions_hold,
        )

    def _definition_rules(self) -> RuleCompiler | None:
        """Rules in definitions are checked, except in those that the server itself brings: these are known to be fine."""
        return self.config.rules if self._ready else None

    async def _bootstrap(self) -> None:
        """Create what every cluster has from the start; what survived a restart is left as it is."""
        for name in _NAMESPACES:
            await self._create("/api/v1/namespaces", {"metadata": {"name": name}})
        for tree in bootstrap_policy():
            plural = tree["kind"].lower() + "s"
            await self._create(f"/apis/rbac.authorization.k8s.io/v1/{plural}", tree)
        if self.config.gateway_api:
            for tree in gateway_crds():
                await self._create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", tree)
        await self.settle()

    async def _create(self, path: str, tree: JsonObject) -> None:
        try:
            await self.client.create(path, tree)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise


def _server_tls(certificate: bytes, key: bytes, authority: CertificateAuthority) -> ssl.SSLContext:
    """TLS that shows our certificate and accepts, without demanding, client certificates of our authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The standard library loads certificates from files only; the file lives just that long.
    with tempfile.NamedTemporaryFile(prefix="edgekeeper-", suffix=".pem") as pem:
        pem.write(certificate + key)
        pem.flush()
        context.load_cert_chain(pem.name)
    context.load_verify_locations(cadata=authority.certificate.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    return context
