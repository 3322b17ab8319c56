"""The end of the demo: a person applies ten lines, and has a service with domain, certificate, DNS records and a login.

It uses the API TubiService of `examples/platform` and the tenant of `examples/zero-trust`, and is shown only where both were
applied. Each outcome is read from the simulated clouds, and told as what is there.
"""

from __future__ import annotations

from typing import Final

from edgekeeper.cli.embedded import LocalServer
from edgekeeper.cli.readiness import assess
from edgekeeper.cli.simulated import DISTRIBUTION, ZONE, Simulation
from edgekeeper.core.json import JsonObject, dig, dig_list
from kubesim.plane.errors import StatusError

SERVICES: Final = "/apis/kro.run/v1alpha1/namespaces/apps/tubiservices"
TENANTS: Final = "/apis/cfzt.cloudflare.com/v1alpha1/namespaces/apps/cloudflarezerotrusttenants"
NOTES: Final = f"{SERVICES}/notes"
HOSTNAME, CDN_DOMAIN, PERSON = "notes.example.com", "www.example.com", "ann@example.com"
MANAGER: Final = "edgekeeper-story"


def service() -> JsonObject:
    """What the person applies."""
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "TubiService",
        "metadata": {"name": "notes", "namespace": "apps"},
        "spec": {
            "image": "registry.example.com/notes:1.0.0",
            "hostname": HOSTNAME,
            "access": {"emails": [PERSON]},
            "cdn": {"domain": CDN_DOMAIN, "distributionId": DISTRIBUTION, "hostedZoneId": ZONE},
        },
    }


class PlatformScenes:
    """What a person does with a TubiService, and what is in the clouds then."""

    def __init__(self, server: LocalServer, simulation: Simulation) -> None:
        self._server = server
        self._aws = simulation.cloud
        self._cloudflare = simulation.cloudflare

    async def is_possible(self) -> bool:
        """Whether the API is served, and there is a tenant to publish with."""
        try:
            await self._server.plane.client.get(SERVICES)
            return bool((await self._server.plane.client.get(TENANTS))["items"])
        except StatusError:
            return False

    # Applied

    async def apply(self) -> str:
        await self._server.apply(NOTES, service(), MANAGER)
        return f"kubectl apply: a TubiService notes, with an image, {HOSTNAME} for {PERSON}, and {CDN_DOMAIN} on CloudFront"

    async def is_running(self) -> str:
        found = await self._server.get(NOTES)
        is_active = assess(found).ready and dig(found, "status", "state") == "ACTIVE"
        if not is_active or not self._is_published() or not self._is_certified():
            return ""
        return (
            f"its pods run; {HOSTNAME} leads to them, and only ann may log in;"
            f" {CDN_DOMAIN} is served by CloudFront with a certificate of its own"
        )

    # Deleted

    async def delete(self) -> str:
        await self._server.plane.client.delete(NOTES)
        return "kubectl delete: the TubiService notes is deleted"

    async def is_gone(self) -> str:
        try:
            await self._server.plane.client.get(NOTES)
        except StatusError:
            is_left = self._rule() or self._leads() or self._application() or self._tenant_names()
            if is_left or self._is_named():
                return ""
            return "names, login and tenant are gone; nothing is left in either cloud"
        return ""

    # What is in the clouds

    def _is_published(self) -> bool:
        application = self._application() or {}
        rules = [rule for policy in dig_list(application, "policies") for rule in dig_list(policy, "include")]
        admitted = [dig(rule, "email", "email") for rule in rules]
        return admitted == [PERSON] and bool(self._rule()) and self._leads()

    def _is_certified(self) -> bool:
        tenants = [one for one in self._aws.cloudfront.tenants.values() if CDN_DOMAIN in one.domains]
        return self._is_named() and [bool(one.managed_certificate) for one in tenants] == [True]

    def _is_named(self) -> bool:
        records = self._aws.route53.zone(ZONE).records.values()
        return any(record.name == f"{CDN_DOMAIN}." for record in records)

    def _tenant_names(self) -> list[str]:
        return [one.name for one in self._aws.cloudfront.tenants.values() if CDN_DOMAIN in one.domains]

    def _rule(self) -> JsonObject | None:
        access = self._cloudflare
        path = f"/accounts/{access.account_id}/cfd_tunnel/{access.tunnel_id}/configurations"
        rules = dig_list(access.cloud.act("GET", path)["config"], "ingress")
        return next((rule for rule in rules if rule.get("hostname") == HOSTNAME), None)

    def _leads(self) -> bool:
        path = f"/zones/{self._cloudflare.zone_id}/dns_records"
        return any(record["name"] == HOSTNAME for record in self._cloudflare.cloud.act("GET", path))

    def _application(self) -> JsonObject | None:
        path = f"/accounts/{self._cloudflare.account_id}/access/apps"
        found = self._cloudflare.cloud.act("GET", path)
        return next((one for one in found if one["domain"] == HOSTNAME), None)
