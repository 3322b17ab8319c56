"""What the worker sends to Cloudflare, for every setting that there is, has the shape that the provider declares."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from edgekeeper.api.zerotrust_settings import AccessRule, AccessSettings, OriginTls
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from packages.kubesim.tests.cloudflare.golden import Exchange, schema
from tests.zerotrust_worker.world import Estate, task, working

RULES: list[JsonObject] = [
    {"email": "a@example.com"},
    {"emailDomain": "example.com"},
    {"group": "staff"},
    {"identityProviderGroup": {"provider": "okta", "group": "g"}},
    {"identityProviderGroup": {"provider": "azureAD", "group": "g"}},
    {"identityProviderGroup": {"provider": "google-apps", "group": "g@example.com"}},
    {"identityProviderGroup": {"provider": "saml", "group": "g"}},
    {"ipRange": "192.0.2.0/24"},
    {"country": "DE"},
    {"everyone": True},
]
SETTINGS: JsonObject = {
    "enabled": True,
    "sessionDuration": "8h",
    "allowEmails": ["b@example.com"],
    "allowGroups": ["staff"],
    "include": RULES,
    "require": [{"country": "DE"}],
    "exclude": [{"ipRange": "198.51.100.1"}],
    "allowedIdps": ["okta"],
    "autoRedirectToIdentity": True,
    "appLauncherVisible": False,
    "skipInterstitial": True,
    "enableBindingCookie": True,
    "httpOnlyCookieAttribute": True,
    "sameSiteCookieAttribute": "strict",
    "logoUrl": "https://logo.example.com/x.png",
    "customDenyMessage": "no",
    "customDenyUrl": "https://no.example.com",
    "customNonIdentityDenyUrl": "https://no.example.com/program",
    "serviceAuth401Redirect": True,
    "publicPaths": ["/healthz"],
    "policyName": "Allow people",
    "validateAtTunnel": True,
}
TLS: JsonObject = {
    "noTLSVerify": True,
    "originServerName": "origin.example.com",
    "caPool": "/etc/ca.pem",
    "tlsTimeout": 20,
    "http2Origin": True,
    "matchSNIToHost": True,
}
TUNNEL: JsonObject = {
    "originService": "https://web.shop.svc:443",
    "httpHostHeader": "host.example.com",
    "originTls": TLS,
    "rules": [
        {"path": "^/healthz(?:/.*)?$", "service": "https://web.shop.svc:443", "public": True},
        {"path": "", "service": "https://web.shop.svc:443"},
    ],
}


class RecordedEstate(Estate):
    """An estate that keeps all requests and answers."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.exchange = Exchange(self.cloud)

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        return await self.exchange(method, url, headers, body)


def test_settings_of_this_test_are_all_that_there_are() -> None:
    """Or a new one would go unchecked."""
    by_another_task = {"existingPolicyNames", "existingPolicyIds", "applicationDomain"}
    by_name = {"applicationName"}  # of a task it is the name of the operation
    assert _fields(AccessSettings) - by_another_task - by_name == SETTINGS.keys()
    assert _fields(AccessRule) == {name for rule in RULES for name in rule}
    assert _fields(OriginTls) == TLS.keys()


def _fields(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


@virtual_time
async def test_requests_of_the_worker_fit_the_providers_schema() -> None:
    schema()  # or the test is skipped before anything is done
    async with working(outside=RecordedEstate) as world:
        estate = world.estate
        assert isinstance(estate, RecordedEstate)
        world.act("POST", "groups", {"name": "staff", "include": [{"everyone": {}}]})
        staff = world.act(
            "POST", "policies", {"name": "all", "decision": "allow", "include": [{"everyone": {}}]}
        )
        for kind in ("okta", "azureAD", "google-apps", "saml"):
            world.act("POST", "identity_providers", {"name": kind, "type": kind, "config": {}})
        for spec in (
            task("web", access=SETTINGS, tunnel=TUNNEL, token={"duration": "8760h"}),
            task(
                "web",
                access={**SETTINGS, "allowEmails": ["c@example.com"]},
                tunnel=TUNNEL,
                token={"rotation": "1"},
            ),
            task(
                "web",
                "new.example.com",
                access={"enabled": True, "include": [{"everyone": True}]},
                token={"duration": "48h"},
            ),
            task(
                "web", access={"enabled": True, "existingPolicyIds": [staff["id"]]}, token={"duration": "48h"}
            ),
            task(
                "web",
                access={"enabled": False},
                tunnel={"enabled": False},
                cname=False,
                records=_addresses("192.0.2.7"),
            ),
            task(
                "web",
                access={"enabled": False},
                tunnel={"enabled": False},
                cname=False,
                records=_addresses("192.0.2.8"),
            ),
        ):
            await world.apply(spec)
            await world.completed("web")
        await world.withdraw("web")
        await world.completed("web")
        assert estate.exchange.refused() == []
        writes = {one for one in estate.exchange.operations if not one.startswith("GET")}
        assert {one.split("/")[-1] for one in writes} >= {
            "batch",
            "configurations",
            "apps",
            "rotate",
            "{policy}",
            "{token}",
        }


def _addresses(*addresses: str) -> JsonObject:
    targets = [{"type": "A", "content": address} for address in addresses]
    return {"enabled": True, "targets": targets}
