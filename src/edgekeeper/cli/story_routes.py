"""The scenarios of the demo about Cloudflare: a route is published, protected, changed and withdrawn.

They use the tenant of `examples/zero-trust`, and are shown only where that was applied. Each outcome is read from the
simulated Cloudflare, and told as what is there.
"""

from __future__ import annotations

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.cli.embedded import LocalServer
from edgekeeper.cli.simulated import CloudflareAccess
from edgekeeper.controllers.zerotrust.route_report import READY, REASON
from edgekeeper.core.json import JsonObject, dig_list, dig_object
from kubesim.plane.errors import StatusError

TENANTS = "/apis/cfzt.cloudflare.com/v1alpha1/namespaces/apps/cloudflarezerotrusttenants"
ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces/apps/httproutes"
STATUS = f"{ROUTES}/status-page"
HOSTNAME = "status.example.com"
MANAGER = "edgekeeper-story"


class RouteScenes:
    """What users do with a route, and what is at Cloudflare then."""

    def __init__(self, server: LocalServer, cloudflare: CloudflareAccess) -> None:
        self._server = server
        self._cloudflare = cloudflare
        self._ids: list[str] = []
        """Of the application and its policies, when the route was protected."""

    async def is_possible(self) -> bool:
        """Whether there is a tenant to use."""
        try:
            return bool((await self._server.plane.client.get(TENANTS))["items"])
        except StatusError:
            return False

    # Published

    async def publish(self) -> str:
        annotations = {f"{PREFIX}enabled": "true", f"{PREFIX}hostname": HOSTNAME}
        rules = [{"backendRefs": [{"name": "status-page", "port": 8080}]}]
        route = {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": "status-page", "namespace": "apps", "annotations": annotations},
            "spec": {"hostnames": [HOSTNAME], "rules": rules},
        }
        await self._server.apply(STATUS, route, MANAGER)
        return f"kubectl apply: the HTTPRoute status-page is annotated with hostname {HOSTNAME}"

    async def is_published(self) -> str:
        if not await self._is_ready() or not self._rule() or not self._leads():
            return ""
        return f"the tunnel serves {HOSTNAME}, and a DNS record leads to it"

    # Protected

    async def protect(self) -> str:
        await self._annotate(accessApp="true", allowEmails="ann@example.com")
        return "kubectl annotate: accessApp=true, allowEmails=ann@example.com"

    async def is_protected(self) -> str:
        locked = "access" in dig_object(self._rule(), "originRequest")
        if not await self._is_ready() or self._admitted() != ["ann@example.com"] or not locked:
            return ""
        self._ids = self._present_ids()
        return "an Access application lets ann in and nobody else, and the tunnel checks it"

    # Changed

    async def change(self) -> str:
        await self._annotate(allowEmails="ann@example.com,bob@example.com")
        return "kubectl annotate: allowEmails=ann@example.com,bob@example.com"

    async def is_changed(self) -> str:
        if not await self._is_ready() or self._admitted() != ["ann@example.com", "bob@example.com"]:
            return ""
        if self._present_ids() != self._ids:
            return "application or policy were replaced to let bob in"
        return "the policy lets bob in, too; application and policy have kept their ids"

    # Withdrawn

    async def withdraw(self) -> str:
        await self._server.plane.client.delete(STATUS)
        return "kubectl delete: the HTTPRoute status-page is deleted"

    async def is_withdrawn(self) -> str:
        try:
            await self._server.plane.client.get(STATUS)
        except StatusError:
            is_clean = not self._rule() and not self._leads() and self._application() is None
            return "DNS record, tunnel rule and application are gone, in this order" if is_clean else ""
        return ""

    async def _annotate(self, **annotations: str) -> None:
        named = {f"{PREFIX}{name}": value for name, value in annotations.items()}
        await self._server.plane.client.merge(STATUS, {"metadata": {"annotations": named}})

    async def _is_ready(self) -> bool:
        annotations = dig_object(await self._server.get(STATUS), "metadata", "annotations")
        return (annotations.get(READY), annotations.get(REASON)) == ("True", "Published")

    # What is at Cloudflare

    @property
    def _account(self) -> str:
        return f"/accounts/{self._cloudflare.account_id}"

    def _rule(self) -> JsonObject:
        path = f"{self._account}/cfd_tunnel/{self._cloudflare.tunnel_id}/configurations"
        rules = dig_list(self._cloudflare.cloud.act("GET", path)["config"], "ingress")
        return next((rule for rule in rules if rule.get("hostname") == HOSTNAME), {})

    def _leads(self) -> bool:
        path = f"/zones/{self._cloudflare.zone_id}/dns_records"
        return any(record["name"] == HOSTNAME for record in self._cloudflare.cloud.act("GET", path))

    def _application(self) -> JsonObject | None:
        found = self._cloudflare.cloud.act("GET", f"{self._account}/access/apps")
        return next((application for application in found if application["domain"] == HOSTNAME), None)

    def _present_ids(self) -> list[str]:
        application = self._application() or {}
        found = [application, *dig_list(application, "policies")]
        return [str(one.get("id")) for one in found]

    def _admitted(self) -> list[str]:
        application = self._application() or {}
        rules = [rule for policy in dig_list(application, "policies") for rule in dig_list(policy, "include")]
        return [rule["email"]["email"] for rule in rules if "email" in rule]
