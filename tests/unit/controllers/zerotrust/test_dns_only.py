"""Records that lead to an address, without a tunnel."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.api.zerotrust_task import DnsRecordOperation, DnsTarget
from edgekeeper.controllers.zerotrust.desired import RouteOptions, referenced_services
from edgekeeper.controllers.zerotrust.dns_only import load_balancer_of
from edgekeeper.core.errors import Wait
from edgekeeper.kube.kinds import Key
from tests.unit.controllers.zerotrust.route_cases import (
    DNS_ONLY,
    PUBLIC,
    refusal,
    route,
    settings,
    task,
    template,
)

BY_SERVICE = template(
    dnsOnly={"enabled": True, "ingressServiceRef": {"name": "traefik", "namespace": "traefik"}}
)
ALLOWED = RouteOptions(dns_only_public=True)


def _record(annotations: dict[str, str], *levels: Any, **context: Any) -> DnsRecordOperation:
    return task(annotations, *levels, **context).operations.dns_record


def test_dns_only_is_a_record_and_nothing_else() -> None:
    operations = task(DNS_ONLY).operations
    assert operations.dns_record == DnsRecordOperation(
        True, "10.0.0.7", [DnsTarget("A", "10.0.0.7")], False, 120
    )
    assert not operations.tunnel_route.enabled
    assert not operations.cname_dns.enabled
    assert operations.access_app.enabled is False
    assert not operations.service_token.enabled


def test_dns_only_records_are_of_both_families() -> None:
    targets = _record({**DNS_ONLY, "dnsIp": "10.0.0.7, fd00::7,10.0.0.8,10.0.0.7"}).targets
    assert targets == [DnsTarget("A", "10.0.0.7"), DnsTarget("AAAA", "fd00::7"), DnsTarget("A", "10.0.0.8")]


@pytest.mark.parametrize(
    ("annotations", "named", "expected"),
    [
        ({"dnsIp": "10.0.0.1"}, {"staticIp": "10.0.0.2", "ingressServiceRef": {"name": "x"}}, "10.0.0.1"),
        ({}, {"staticIp": "10.0.0.2", "ingressServiceRef": {"name": "x"}}, "10.0.0.2"),
        ({}, {"ingressServiceRef": {"name": "x"}}, "10.0.0.3"),
    ],
)
def test_dns_only_address_is_of_annotation_then_template_then_service(
    annotations: dict[str, str], named: dict[str, Any], expected: str
) -> None:
    spec = template(dnsOnly={"enabled": True, **named})
    assert _record({**PUBLIC, **annotations}, spec, load_balancer=("10.0.0.3",)).ip_address == expected


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (("10.0.0.3",), [DnsTarget("A", "10.0.0.3")]),
        (("10.0.0.3", "lb.example.net"), [DnsTarget("A", "10.0.0.3")]),
        (("fd00::3", "10.0.0.3"), [DnsTarget("AAAA", "fd00::3"), DnsTarget("A", "10.0.0.3")]),
        (("LB.example.net.",), [DnsTarget("CNAME", "lb.example.net")]),
    ],
)
def test_dns_only_service_gives_addresses_or_a_name(
    addresses: tuple[str, ...], expected: list[DnsTarget]
) -> None:
    assert _record(PUBLIC, BY_SERVICE, load_balancer=addresses).targets == expected


@pytest.mark.parametrize("addresses", [("a.example.net", "b.example.net"), ("not a host",), ("a\nb",)])
def test_dns_only_service_without_one_valid_name_stalls(addresses: tuple[str, ...]) -> None:
    stall = refusal(PUBLIC, BY_SERVICE, load_balancer=addresses)
    assert stall.reason == "InvalidSettings"
    assert "dnsOnly.ingressServiceRef (template default)" in stall.message


def test_dns_only_service_without_an_address_is_waited_for() -> None:
    with pytest.raises(Wait) as caught:
        task(PUBLIC, BY_SERVICE)
    assert caught.value.reason == "NoAddress"


def test_dns_only_without_any_target_stalls() -> None:
    assert refusal({**PUBLIC, "dnsOnly": "true"}).reason == "NoAddress"


@pytest.mark.parametrize(
    "text", ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.50", "fd12:3456::1", "fc00::1"]
)
def test_dns_only_address_may_be_private(text: str) -> None:
    assert _record({**DNS_ONLY, "dnsIp": text}).ip_address == text


@pytest.mark.parametrize("text", ["8.8.8.8", "172.32.0.1", "193.168.1.1", "100.64.0.1", "2606:4700::1111"])
def test_dns_only_address_that_is_public_must_be_allowed(text: str) -> None:
    for levels, context in (
        (({**DNS_ONLY, "dnsIp": text},), {}),
        (({**DNS_ONLY, "dnsIp": f"10.0.0.1,{text}"},), {}),
        ((PUBLIC, template(dnsOnly={"enabled": True, "staticIp": text})), {}),
        ((PUBLIC, BY_SERVICE), {"load_balancer": (text,)}),
    ):
        stall = refusal(*levels, **context)  # type: ignore[arg-type]
        assert stall.reason == "PublicAddress"
        assert "--dns-only-public" in stall.message
    assert _record({**DNS_ONLY, "dnsIp": text}, options=ALLOWED).ip_address == text


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "::1",
        "0.0.0.0",  # noqa: S104 - that is the point
        "::",
        "169.254.169.254",
        "fe80::1",
        "224.0.0.1",
        "ff02::1",
        "240.0.0.1",
        "255.255.255.255",
    ],
)
def test_dns_only_address_that_is_no_host_is_refused(text: str) -> None:
    for options in (RouteOptions(), ALLOWED):
        stall = refusal({**DNS_ONLY, "dnsIp": text}, options=options)
        assert stall.reason == "InvalidAnnotation"


@pytest.mark.parametrize("text", ["lb.example.net", "10.0.0.1,lb", "fe80::1%eth0"])
def test_dns_only_address_of_a_template_must_be_one(text: str) -> None:
    stall = refusal(PUBLIC, template(dnsOnly={"enabled": True, "staticIp": text}))
    assert stall.reason == "InvalidSettings"
    assert "dnsOnly.staticIp (template default)" in stall.message


@pytest.mark.parametrize(
    ("proxied", "ttl", "expected"),
    [
        ("false", "120", 120),
        ("false", "30", 30),
        ("false", "86400", 86400),
        ("true", "1", 1),
        ("true", "300", 1),
    ],
)
def test_dns_only_ttl_is_automatic_for_proxied_records(proxied: str, ttl: str, expected: int) -> None:
    record = _record({**DNS_ONLY, "dnsOnly.proxied": proxied, "dnsOnly.ttl": ttl})
    assert (record.proxied, record.ttl) == (proxied == "true", expected)


@pytest.mark.parametrize("ttl", ["1", "2", "29"])
def test_dns_only_ttl_that_is_too_short_stalls(ttl: str) -> None:
    stall = refusal({**DNS_ONLY, "dnsOnly.ttl": ttl})
    assert "1, automatic, is for proxied records only" in stall.message


@pytest.mark.parametrize(
    "extra",
    [
        {"accessApp": "true", "allowEmails": "a@example.com"},
        {"accessApp": "true", "serviceToken": "true"},
        {"serviceToken": "true"},
        {"dns": "external"},
    ],
    ids=str,
)
def test_dns_only_with_what_it_cannot_have_stalls(extra: dict[str, str]) -> None:
    assert refusal({**DNS_ONLY, **extra}).reason == "InvalidSettings"


def test_dns_only_with_access_of_a_template_stalls() -> None:
    base = template(accessApplication={"enabled": True, "allowGroups": ["Staff"]})
    stall = refusal(DNS_ONLY, None, base)
    assert "access.enabled (base template base-main)" in stall.message
    assert "DNS-only mode (annotation dnsOnly)" in stall.message


@pytest.mark.parametrize(
    "extra", [{"dnsIp": "10.0.0.7"}, {"dnsOnlyTtl": "300"}, {"dnsOnly.proxied": "false"}], ids=str
)
def test_dns_only_settings_without_enabled_publish_nothing(extra: dict[str, str]) -> None:
    for below in (None, template(dnsOnly={"enabled": False})):
        stall = refusal({**PUBLIC, **extra}, below)
        assert stall.reason == "InvalidSettings"
        assert "dnsOnly.enabled" in stall.message
    assert task({**PUBLIC, **extra, "dnsOnly": "false"}).operations.tunnel_route.enabled


def test_dns_only_service_is_reported_as_a_reference() -> None:
    key = Key("traefik", "traefik")
    assert load_balancer_of(settings(PUBLIC, BY_SERVICE), "shop") == key
    assert referenced_services(route(PUBLIC), settings(PUBLIC, BY_SERVICE), RouteOptions()) == (key,)
    own = {**PUBLIC, "dnsOnly": "true", "dnsOnly.ingressServiceRef": "lb"}
    assert load_balancer_of(settings(own), "shop") == Key("shop", "lb")
    assert load_balancer_of(settings({**PUBLIC, "dnsIp": "10.0.0.1"}, BY_SERVICE), "shop") is None
    off = template(dnsOnly={"enabled": False, "ingressServiceRef": {"name": "lb"}})
    assert load_balancer_of(settings(PUBLIC, off), "shop") is None


def test_external_dns_has_no_record() -> None:
    operations = task({**PUBLIC, "dns": "external"}).operations
    assert operations.tunnel_route.enabled
    assert not operations.cname_dns.enabled
    assert task(PUBLIC).operations.cname_dns.enabled
