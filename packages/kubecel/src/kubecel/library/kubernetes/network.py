"""IP addresses and networks, read as strictly as the API server reads them: no zones, no IPv4 within IPv6."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import ClassVar, Final

from kubecel import types
from kubecel.errors import EvaluationError, invalid_argument
from kubecel.library.notation import excerpt
from kubecel.types import Type

_LONGEST_ADDRESS: Final = 64
"""More characters than any address has."""
_PREFIX_LENGTH: Final = re.compile("0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class IP:
    """An address of either family."""

    family: int
    """4 or 6."""
    number: int
    cel_type: ClassVar[Type] = types.opaque("net.IP")

    @property
    def bits(self) -> int:
        return 32 if self.family == 4 else 128

    def leading(self, count: int) -> int:
        """The first bits of the address."""
        return self.number >> (self.bits - count)

    def __str__(self) -> str:
        return str(IPv4Address(self.number) if self.family == 4 else IPv6Address(self.number))

    @property
    def is_unspecified(self) -> bool:
        return self.number == 0

    @property
    def is_loopback(self) -> bool:
        return self.leading(8) == 127 if self.family == 4 else self.number == 1

    @property
    def is_multicast(self) -> bool:
        return self.leading(4) == 0b1110 if self.family == 4 else self.leading(8) == 0xFF

    @property
    def is_link_local_multicast(self) -> bool:
        if self.family == 4:
            return self.leading(24) == 0xE00000
        return self.is_multicast and self.leading(16) & 0xF == 2

    @property
    def is_link_local_unicast(self) -> bool:
        return self.leading(16) == 0xA9FE if self.family == 4 else self.leading(10) == 0x3FA

    @property
    def is_global_unicast(self) -> bool:
        """Everything that one host can be reached by beyond its own link; private networks count."""
        if self.is_unspecified or (self.family == 4 and self.number == 0xFFFFFFFF):
            return False
        return not (self.is_loopback or self.is_multicast or self.is_link_local_unicast)


@dataclass(frozen=True, slots=True)
class CIDR:
    """An address with the length of its network's prefix; bits after the prefix are kept."""

    ip: IP
    prefix_length: int
    cel_type: ClassVar[Type] = types.opaque("net.CIDR")

    def __str__(self) -> str:
        return f"{self.ip}/{self.prefix_length}"

    def masked(self) -> CIDR:
        """The network itself, with zeros after the prefix."""
        host_bits = self.ip.bits - self.prefix_length
        return CIDR(IP(self.ip.family, self.ip.number >> host_bits << host_bits), self.prefix_length)

    def contains(self, ip: IP) -> bool:
        if ip.family != self.ip.family:
            return False
        return ip.leading(self.prefix_length) == self.ip.leading(self.prefix_length)

    def covers(self, other: CIDR) -> bool:
        """Whether all of the other network lies within this one."""
        return self.prefix_length <= other.prefix_length and self.contains(other.ip)


def parse_ip(text: str) -> IP:
    """Read an address. Raise `EvaluationError` if the text is none that Kubernetes accepts."""
    try:
        ip, zone = _parse(text)
    except ValueError as error:
        raise invalid_argument(
            f"IP Address {excerpt(text)} parse error during conversion from string: {error}"
        ) from error
    if zone:
        raise invalid_argument(f"IP address {excerpt(text)} with zone value is not allowed")
    _refuse_mapped(ip, text)
    return ip


def parse_cidr(text: str) -> CIDR:
    """Read a network. Raise `EvaluationError` if the text is none that Kubernetes accepts."""
    try:
        cidr = _parse_prefix(text)
    except ValueError as error:
        # The doubled words are the API server's own.
        prefix = "network address parse error during conversion from string: "
        raise invalid_argument(f"{prefix}{prefix}netip.ParsePrefix({excerpt(text)}): {error}") from error
    try:
        _refuse_mapped(cidr.ip, text)
    except EvaluationError as error:
        raise invalid_argument(
            f"network address parse error during conversion from string: {error.message}"
        ) from error
    return cidr


def is_ip(text: str) -> bool:
    try:
        parse_ip(text)
    except EvaluationError:
        return False
    return True


def is_cidr(text: str) -> bool:
    try:
        parse_cidr(text)
    except EvaluationError:
        return False
    return True


def parse_address(text: str) -> IP:
    """Read an address that may be IPv4 within IPv6 and have a zone, as hosts of URLs may. Raise `ValueError`."""
    return _parse(text)[0]


def _parse(text: str) -> tuple[IP, str]:
    address, percent, zone = text.partition("%")
    if percent and (not zone or ":" not in address):
        raise ValueError(f"ParseAddr({excerpt(text)}): zone without an IPv6 address")
    if len(address) > _LONGEST_ADDRESS:
        raise ValueError(f"ParseAddr({excerpt(text)}): unable to parse IP")
    try:
        if ":" in address:
            return IP(6, int(IPv6Address(address))), zone
        return IP(4, int(IPv4Address(address))), zone
    except AddressValueError as error:
        raise ValueError(f"ParseAddr({excerpt(text)}): unable to parse IP") from error


def _parse_prefix(text: str) -> CIDR:
    address, slash, length = text.rpartition("/")
    if not slash:
        raise ValueError("no '/'")
    ip, zone = _parse(address)
    if zone:
        raise ValueError("IPv6 zones cannot be present in a prefix")
    if not _PREFIX_LENGTH.fullmatch(length):
        raise ValueError(f"bad bits after slash: {excerpt(length)}")
    if int(length) > ip.bits:
        raise ValueError("prefix length out of range")
    return CIDR(ip, int(length))


def _refuse_mapped(ip: IP, text: str) -> None:
    if ip.family == 6 and ip.leading(96) == 0xFFFF:
        raise invalid_argument(f"IPv4-mapped IPv6 address {excerpt(text)} is not allowed")
