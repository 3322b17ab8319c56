"""`ip(…)`, `cidr(…)` and what can be asked of them."""

from __future__ import annotations

from math import ceil
from typing import Any, Final

from kubecel.functions import Library, traversal_cost
from kubecel.library import costs, estimates
from kubecel.library.declaring import function, on_call, on_target
from kubecel.library.kubernetes.network import CIDR, IP, is_cidr, is_ip, parse_cidr, parse_ip
from kubecel.types import BOOL, INT, STRING, type_of

_IP: Final = (IP.cel_type,)
_CIDR: Final = (CIDR.cel_type,)


def is_canonical(text: str) -> bool:
    """Whether an address is spelled in the only way that everybody agrees on."""
    return str(parse_ip(text)) == text


def _contains_text(cidr: CIDR, text: str) -> bool:
    return cidr.contains(parse_ip(text))


def _covers_text(cidr: CIDR, text: str) -> bool:
    return cidr.covers(parse_cidr(text))


def _compared_bytes(cidr: CIDR) -> int:
    return ceil(cidr.prefix_length / 8)


def _contains_cost(cidr: CIDR, other: Any) -> int:
    """Two addresses are compared as far as the prefix goes; a text has to be read before."""
    reading = traversal_cost(len(other)) if isinstance(other, str) else 0
    return traversal_cost(2 * _compared_bytes(cidr)) + reading


def _covers_cost(cidr: CIDR, other: Any) -> int:
    return _contains_cost(cidr, other) + traversal_cost(_compared_bytes(cidr)) + 1


IP_ADDRESSES: Final = Library(
    "kubernetes.net.ip",
    (
        function("ip", on_call("string_to_ip", (STRING,), IP.cel_type, parse_ip, costs.walk, estimates.walk)),
        function("isIP", on_call("is_ip", (STRING,), BOOL, is_ip, costs.walk, estimates.walk)),
        function(
            "ip.isCanonical",
            on_call("ip_is_canonical", (STRING,), BOOL, is_canonical, costs.walk_twice, estimates.walk_twice),
        ),
        function("string", on_call("ip_to_string", _IP, STRING, str)),
        function("family", on_target("ip_family", _IP, INT, lambda ip: ip.family)),
        function("isUnspecified", on_target("ip_is_unspecified", _IP, BOOL, lambda ip: ip.is_unspecified)),
        function("isLoopback", on_target("ip_is_loopback", _IP, BOOL, lambda ip: ip.is_loopback)),
        function(
            "isLinkLocalMulticast",
            on_target("ip_is_link_local_multicast", _IP, BOOL, lambda ip: ip.is_link_local_multicast),
        ),
        function(
            "isLinkLocalUnicast",
            on_target("ip_is_link_local_unicast", _IP, BOOL, lambda ip: ip.is_link_local_unicast),
        ),
        function(
            "isGlobalUnicast",
            on_target("ip_is_global_unicast", _IP, BOOL, lambda ip: ip.is_global_unicast),
        ),
    ),
    constants={"net.IP": (type_of(IP.cel_type), IP.cel_type)},
)

CIDRS: Final = Library(
    "kubernetes.net.cidr",
    (
        function(
            "cidr",
            on_call("string_to_cidr", (STRING,), CIDR.cel_type, parse_cidr, costs.walk, estimates.walk),
        ),
        function("isCIDR", on_call("is_cidr", (STRING,), BOOL, is_cidr, costs.walk, estimates.walk)),
        function("string", on_call("cidr_to_string", _CIDR, STRING, str)),
        function("ip", on_target("cidr_ip", _CIDR, IP.cel_type, lambda cidr: cidr.ip)),
        function(
            "prefixLength",
            on_target("cidr_prefix_length", _CIDR, INT, lambda cidr: cidr.prefix_length),
        ),
        function("masked", on_target("cidr_masked", _CIDR, CIDR.cel_type, CIDR.masked)),
        function(
            "containsIP",
            on_target(
                "cidr_contains_ip_string",
                (CIDR.cel_type, STRING),
                BOOL,
                _contains_text,
                _contains_cost,
                estimates.contains_address_text,
            ),
            on_target(
                "cidr_contains_ip_ip",
                (CIDR.cel_type, IP.cel_type),
                BOOL,
                CIDR.contains,
                _contains_cost,
                estimates.contains_address,
            ),
        ),
        function(
            "containsCIDR",
            on_target(
                "cidr_contains_cidr_string",
                (CIDR.cel_type, STRING),
                BOOL,
                _covers_text,
                _covers_cost,
                estimates.contains_network_text,
            ),
            on_target(
                "cidr_contains_cidr",
                (CIDR.cel_type, CIDR.cel_type),
                BOOL,
                CIDR.covers,
                _covers_cost,
                estimates.contains_network,
            ),
        ),
    ),
    constants={"net.CIDR": (type_of(CIDR.cel_type), CIDR.cel_type)},
)
