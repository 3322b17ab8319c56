"""R-10: whatever is changed at Cloudflare behind the back of a route, under each policy.

    enforce    repaired within one drift interval and a pass
    report     left, and said on the route
    suspend    left, and nothing is said

Each change has a route of its own, and all happen at once: fewer things disappear than the brake of a mirror doubts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from edgekeeper.core.annotations import DRIFT_POLICY
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from kubesim.virtual import run_virtual
from tests.reliability.routes import (
    INTERVAL,
    PROTECTED,
    Provider,
    Scene,
    host,
    publishing,
    route,
    with_common,
)
from tests.results import Figures

ONE_PASS: Final = 10.0
MACHINES: Final = {**PROTECTED, "serviceToken": "true"}
ADDRESS: Final = {"dnsOnly": "true", "dnsIp": "10.0.0.7", "dnsOnlyTtl": "300"}

Look = Callable[[Provider, str], Any]
Act = Callable[[Provider, str], Any]


@dataclass(frozen=True)
class Drift:
    """Something that somebody does to what belongs to a hostname."""

    annotations: dict[str, str]
    happens: Act
    seen: Look
    """What it changes."""


# Looking


def application(provider: Provider, hostname: str) -> JsonObject:
    """The application, wherever it was moved to, without what every write changes."""
    account = provider.account
    found = [one for one in account.applications.values() if one["name"] == hostname.partition(".")[0]]
    found = found or [one for one in account.applications.values() if one["domain"] == hostname]
    if not found:
        return {}
    hidden = {"id", "aud", "created_at", "updated_at", "policies"}
    return {name: value for name, value in found[0].items() if name not in hidden}


def policies(provider: Provider, hostname: str) -> list[JsonObject]:
    account = provider.account
    found = provider.application(hostname)
    references = sorted(found["policies"], key=lambda one: int(one["precedence"])) if found else []
    fields = ("name", "decision", "include", "require", "exclude")
    return [{name: account.policies[one["id"]].get(name) for name in fields} for one in references]


def rules(provider: Provider, hostname: str) -> list[JsonObject]:
    return [rule for rule in provider.rules() if rule["hostname"] == hostname]


def records(provider: Provider, hostname: str) -> list[JsonObject]:
    fields = ("type", "name", "content", "proxied", "ttl", "comment")
    found = [one for one in provider.zone.records.values() if one["name"] == hostname]
    return [{name: one.get(name) for name in fields} for one in found]


def tokens(provider: Provider, hostname: str) -> list[JsonObject]:
    name = hostname.partition(".")[0]
    found = provider.account.service_tokens.values()
    return [{"name": one["name"], "duration": one["duration"]} for one in found if name in one["name"]]


# Acting


def set_application(**fields: Any) -> Act:
    def act(provider: Provider, hostname: str) -> None:
        found = provider.application(hostname)
        assert found is not None
        provider.account.applications[found["id"]] = {**found, **fields}

    return act


def set_policy(**fields: Any) -> Act:
    def act(provider: Provider, hostname: str) -> None:
        found = provider.application(hostname)
        assert found is not None
        id_ = found["policies"][-1]["id"]
        provider.account.policies[id_] = {**provider.account.policies[id_], **fields}

    return act


def on_application(method: str, path: str, body: Any = None) -> Act:
    def act(provider: Provider, hostname: str) -> None:
        found = provider.application(hostname)
        assert found is not None
        base = f"/accounts/{provider.account.id}/access/apps/{found['id']}"
        provider.cloud.act(method, base + path.format(policy=found["policies"][-1]["id"]), body)

    return act


def set_rule(**fields: Any) -> Act:
    def changed(rule: JsonObject) -> JsonObject:
        return {name: value for name, value in {**rule, **fields}.items() if value is not None}

    def act(provider: Provider, hostname: str) -> None:
        provider.write_rules(
            [changed(rule) if rule["hostname"] == hostname else rule for rule in provider.rules()]
        )

    return act


def drop_rule(provider: Provider, hostname: str) -> None:
    provider.write_rules([rule for rule in provider.rules() if rule["hostname"] != hostname])


def double_rule(provider: Provider, hostname: str) -> None:
    rogue = {"hostname": hostname, "path": "/rogue", "service": "http://rogue:80"}
    provider.write_rules([rogue, *provider.rules()])


def set_record(**fields: Any) -> Act:
    def act(provider: Provider, hostname: str) -> None:
        for id_, record in provider.zone.records.items():
            if record["name"] == hostname:
                provider.zone.records[id_] = {**record, **fields}

    return act


def drop_record(provider: Provider, hostname: str) -> None:
    for id_, record in list(provider.zone.records.items()):
        if record["name"] == hostname:
            del provider.zone.records[id_]


def set_token(**fields: Any) -> Act:
    def act(provider: Provider, hostname: str) -> None:
        held = provider.account.service_tokens
        for id_, token in held.items():
            if hostname.partition(".")[0] in token["name"]:
                held[id_] = {**token, **fields}

    return act


def drop_token(provider: Provider, hostname: str) -> None:
    for id_, token in list(provider.account.service_tokens.items()):
        if hostname.partition(".")[0] in token["name"]:
            del provider.account.service_tokens[id_]


DOOR = {"name": "door", "decision": "bypass", "include": [{"everyone": {}}], "precedence": 9}
PUBLIC = [{"path_pattern": "/*", "behavior": "public"}]


def open_up(provider: Provider, hostname: str) -> None:
    destinations = [{"type": "public", "uri": hostname, "overrides": PUBLIC}]
    set_application(destinations=destinations)(provider, hostname)


def _of_application(**fields: Any) -> Drift:
    return Drift(PROTECTED, set_application(**fields), application)


def _of_policy(**fields: Any) -> Drift:
    return Drift(PROTECTED, set_policy(**fields), policies)


DRIFTS: Final = {
    "app-session": _of_application(session_duration="1h"),
    "app-idps": _of_application(allowed_idps=["f174e90a-fafe-4643-bbbc-4a0ed4fc8415"]),
    "app-redirect": _of_application(auto_redirect_to_identity=True),
    "app-binding": _of_application(enable_binding_cookie=True),
    "app-http-only": _of_application(http_only_cookie_attribute=False),
    "app-same-site": _of_application(same_site_cookie_attribute="none"),
    "app-interstitial": _of_application(skip_interstitial=True),
    "app-launcher": _of_application(app_launcher_visible=False),
    "app-401": _of_application(service_auth_401_redirect=True),
    "app-logo": _of_application(logo_url="https://example.com/other.png"),
    "app-deny-message": _of_application(custom_deny_message="no"),
    "app-deny-url": _of_application(custom_deny_url="https://example.com/no"),
    "app-deny-others": _of_application(custom_non_identity_deny_url="https://example.com/no"),
    "app-tags": _of_application(tags=[]),
    "app-name": _of_application(name="renamed"),
    "app-public": Drift(PROTECTED, open_up, application),
    "app-deleted": Drift(PROTECTED, on_application("DELETE", ""), application),
    "policy-include": _of_policy(include=[{"everyone": {}}]),
    "policy-require": _of_policy(require=[{"geo": {"country_code": "DE"}}]),
    "policy-exclude": _of_policy(exclude=[{"everyone": {}}]),
    "policy-decision": _of_policy(decision="bypass"),
    "policy-name": _of_policy(name="renamed"),
    "policy-added": Drift(PROTECTED, on_application("POST", "/policies", DOOR), policies),
    "policy-deleted": Drift(PROTECTED, on_application("DELETE", "/policies/{policy}"), policies),
    "rule-service": Drift({}, set_rule(service="http://rogue:80"), rules),
    "rule-lock": Drift(PROTECTED, set_rule(originRequest=None), rules),
    "rule-path": Drift({}, set_rule(path="/only"), rules),
    "rule-added": Drift({}, double_rule, rules),
    "rule-deleted": Drift({}, drop_rule, rules),
    "record-content": Drift({}, set_record(content="rogue.example.net"), records),
    "record-proxied": Drift({}, set_record(proxied=False), records),
    "record-comment": Drift({}, set_record(comment="mine"), records),
    "record-deleted": Drift({}, drop_record, records),
    "address-content": Drift(ADDRESS, set_record(content="10.9.9.9"), records),
    "address-ttl": Drift(ADDRESS, set_record(ttl=60), records),
    "address-proxied": Drift(ADDRESS, set_record(proxied=True), records),
    "address-type": Drift(ADDRESS, set_record(type="AAAA", content="fd00::1"), records),
    "token-duration": Drift(MACHINES, set_token(duration="24h"), tokens),
    "token-name": Drift(MACHINES, set_token(name="renamed-token-name"), tokens),
    "token-deleted": Drift(MACHINES, drop_token, tokens),
}


def looks(provider: Provider) -> dict[str, Any]:
    return {name: drift.seen(provider, host(name)) for name, drift in DRIFTS.items()}


async def drifted(scene: Scene) -> tuple[dict[str, Any], dict[str, Any]]:
    """Routes that are as declared, and then are not. Return what was seen before and after."""
    await scene.create(*(route(name, **drift.annotations) for name, drift in DRIFTS.items()))
    await scene.ready()
    await scene.elapse(minutes=1)
    before = looks(scene.provider)
    for name, drift in DRIFTS.items():
        drift.happens(scene.provider, host(name))
    after = looks(scene.provider)
    assert not [name for name in DRIFTS if before[name] == after[name]]
    return before, after


def test_drift_of_routes_is_repaired_within_an_interval(figures: Figures) -> None:
    async def play() -> None:
        async with publishing() as scene:
            before, _ = await drifted(scene)
            await scene.elapse(seconds=INTERVAL.total_seconds() + ONE_PASS)
            after = looks(scene.provider)
            assert {name: (before[name], after[name]) for name in DRIFTS if before[name] != after[name]} == {}
            figures.count("kinds of drift repaired", len(DRIFTS))
            await scene.ready()

    run_virtual(play)


def test_drift_of_routes_is_left_as_it_is_and_known() -> None:
    async def play() -> None:
        async with publishing(with_common(drift_policy=Policy.SUSPEND)) as scene:
            _, after = await drifted(scene)
            writes = scene.provider.writes
            await scene.elapse(seconds=INTERVAL.total_seconds() + ONE_PASS)
            assert {scene.said(name)[:2] for name in DRIFTS} == {("True", "Published")}
            for name in DRIFTS:
                await scene.annotate(name, **{DRIFT_POLICY: "report"})
            await scene.elapse(seconds=INTERVAL.total_seconds() + ONE_PASS)
            assert {name: scene.said(name) for name in DRIFTS if not is_reported(scene, name)} == {}
            await scene.elapse(hours=1)
            assert looks(scene.provider) == after
            assert scene.provider.writes == writes
            assert len(scene.events("DriftDetected")) == len(DRIFTS), "once for each fact"

    run_virtual(play)


def is_reported(scene: Scene, name: str) -> bool:
    """A route with drift is published, and says so."""
    return scene.said(name)[:2] == ("True", "DriftDetected")
