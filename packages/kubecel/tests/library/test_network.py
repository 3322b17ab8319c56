"""Addresses and networks: what is one, how it is spelled, and what it is good for."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.library.kubernetes.network import CIDR, IP, is_cidr, is_ip, parse_cidr, parse_ip
from packages.kubecel.tests.library.evaluating import failure, in_kro

addresses = st.ip_addresses().filter(lambda address: getattr(address, "ipv4_mapped", None) is None)
lengths = st.floats(min_value=0, max_value=1)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("255.255.255.255", "255.255.255.255"),
        ("::", "::"),
        ("2001:DB8::0:0:1", "2001:db8::1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("1::1.2.3.4", "1::102:304"),
    ],
)
def test_address_has_one_canonical_spelling(text: str, canonical: str) -> None:
    assert str(parse_ip(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256",
        "01.2.3.4",
        "1.2.3.4 ",
        "+1.2.3.4",
        "\uff11.2.3.4",
        ":::1",
        "1::2::3",
        "12345::",
        "1:2:3:4:5:6:7::8:9",
        "fe80::1%eth0",
        "1.2.3.4%eth0",
        "::ffff:1.2.3.4",
        "::ffff:102:304",
        "[::1]",
        "1.2.3.4/8",
        "0x7f.1",
        "1" * 100_000,
    ],
)
def test_text_that_is_no_plain_address_is_refused(text: str) -> None:
    assert not is_ip(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("::ffff:1.2.3.4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        (
            "abc",
            'IP Address "abc" parse error during conversion from string: ParseAddr("abc"): unable to parse IP',
        ),
    ],
)
def test_refusal_of_an_address_says_why(text: str, problem: str) -> None:
    assert failure("ip(text)", text=text).message == problem


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.0",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/08",
        "10.0.0.0/+8",
        "10.0.0.0/-1",
        "::/129",
        "::ffff:1.2.3.4/24",
        "fe80::1%eth0/64",
        "/8",
        "10.0.0.0/8/8",
        "10.0.0.0/" + "9" * 5000,
    ],
)
def test_text_that_is_no_network_is_refused(text: str) -> None:
    assert not is_cidr(text)


def test_network_keeps_bits_behind_the_prefix_until_masked() -> None:
    cidr = parse_cidr("192.168.1.77/24")

    assert str(cidr) == "192.168.1.77/24"
    assert str(cidr.ip) == "192.168.1.77"
    assert str(cidr.masked()) == "192.168.1.0/24"
    assert cidr != cidr.masked()


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("0.0.0.0", {"unspecified"}),  # noqa: S104 - nothing is bound here
        ("255.255.255.255", set()),
        ("127.1.2.3", {"loopback"}),
        ("10.0.0.1", {"global_unicast"}),
        ("224.0.0.1", {"link_local_multicast", "multicast"}),
        ("224.0.1.1", {"multicast"}),
        ("169.254.9.9", {"link_local_unicast"}),
        ("::", {"unspecified"}),
        ("::1", {"loopback"}),
        ("2001:db8::1", {"global_unicast"}),
        ("ff02::1", {"link_local_multicast", "multicast"}),
        ("ff12::1", {"link_local_multicast", "multicast"}),
        ("ff01::1", {"multicast"}),
        ("fe80::1", {"link_local_unicast"}),
        ("febf::1", {"link_local_unicast"}),
        ("fec0::1", {"global_unicast"}),
    ],
)
def test_address_is_of_the_kinds_that_go_knows(text: str, properties: set[str]) -> None:
    kinds = (
        "unspecified",
        "loopback",
        "multicast",
        "link_local_multicast",
        "link_local_unicast",
        "global_unicast",
    )
    assert {kind for kind in kinds if getattr(parse_ip(text), f"is_{kind}")} == properties


@given(addresses)
def test_canonical_spelling_is_read_back(address: object) -> None:
    parsed = parse_ip(str(address))

    assert str(parsed) == str(address)
    assert parse_ip(str(parsed)) == parsed


@given(addresses, addresses, lengths, lengths)
def test_networks_contain_what_arithmetic_says(
    first: object, second: object, share: float, other_share: float
) -> None:
    outer, inner = _network(str(first), share), _network(str(second), other_share)
    wanted = ip_network(str(outer), strict=False)

    assert outer.contains(inner.ip) == (ip_address(str(inner.ip)) in wanted)
    if outer.ip.family == inner.ip.family:
        covered = ip_network(str(inner), strict=False)
        assert outer.covers(inner) == covered.subnet_of(wanted)  # type: ignore[arg-type]  # families are the same
    else:
        assert not outer.covers(inner)
    assert outer.covers(outer.masked())


def _network(text: str, share: float) -> CIDR:
    ip = parse_ip(text)
    return CIDR(ip, round(share * ip.bits))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('string(ip("2001:DB8::1"))', "2001:db8::1"),
        ('string(cidr("10.1.0.0/16"))', "10.1.0.0/16"),
        ('ip("10.0.0.1") == ip("10.0.0.1")', True),
        ('ip("10.0.0.1") == ip("::1")', False),
        ('ip("::1").family()', 6),
        ('cidr("10.0.0.0/8").ip().family()', 4),
        ('ip.isCanonical("::1")', True),
        ('ip.isCanonical("::0001")', False),
        ('isIP("10.0.0.1") && !isIP("10.0.0.0/8") && isCIDR("10.0.0.0/8")', True),
        ('ip("127.0.0.1").isLoopback()', True),
        ('ip("0.0.0.0").isUnspecified()', True),
        ('ip("224.0.0.1").isLinkLocalMulticast()', True),
        ('ip("169.254.0.1").isLinkLocalUnicast()', True),
        ('ip("10.0.0.1").isGlobalUnicast()', True),
        ('cidr("10.0.0.0/8").containsIP("10.9.9.9")', True),
        ('cidr("10.0.0.0/8").containsIP(ip("11.0.0.0"))', False),
        ('cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")', True),
        ('cidr("10.0.0.0/8").containsCIDR(cidr("0.0.0.0/0"))', False),
        ('cidr("10.0.0.0/8").prefixLength()', 8),
        ('cidr("10.9.0.0/8").masked() == cidr("10.0.0.0/8")', True),
        ('type(ip("::1")) == net.IP && type(cidr("::/0")) == net.CIDR', True),
    ],
)
def test_expressions_ask_addresses_and_networks(text: str, value: object) -> None:
    assert in_kro(text) == value


def test_text_that_is_no_address_is_an_error_inside_of_a_network() -> None:
    assert "parse error" in failure('cidr("10.0.0.0/8").containsIP("abc")').message


def test_addresses_of_both_families_can_be_keys() -> None:
    assert len({IP(4, 1), IP(6, 1), IP(4, 1)}) == 2
