"""DNS records that lead to an address of the cluster, without a tunnel. Pure.

    address of the annotation or a template ─► address of a LoadBalancer Service ─► its hostname, as a CNAME

Private addresses (RFC 1918, and fc00::/7 of IPv6) are always possible. Others need the operator's permission, because
such a record would publish something that neither the tunnel nor Access protects. Addresses that lead to the reader itself
or to many (loopback, link-local, multicast, unspecified, reserved) are refused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from edgekeeper.api.zerotrust_task import DnsRecordOperation, DnsTarget
from edgekeeper.controllers.zerotrust.setting_checks import Address, address_of, check_hostname
from edgekeeper.controllers.zerotrust.settings import Settings
from edgekeeper.core.errors import Stall, Wait
from edgekeeper.kube.kinds import Key

PUBLIC_ADDRESS: Final = "PublicAddress"
NO_ADDRESS: Final = "NoAddress"
_RETRY = timedelta(seconds=30)
_AUTOMATIC = 1
_SHORTEST_TTL = 30
_PRIVATE = tuple(
    ipaddress.ip_network(network) for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)
_SHARED = ipaddress.ip_network("100.64.0.0/10")


def load_balancer_of(settings: Settings, namespace: str) -> Key | None:
    """The Service whose addresses are needed for a route of this namespace; None if none is."""
    ref = settings.dns_only.ingress_service_ref
    if not settings.dns_only.enabled or settings.dns_only.static_ip or ref is None:
        return None
    return Key(ref.namespace or namespace, ref.name)


def dns_operation(
    settings: Settings, load_balancer: Iterable[str], *, allow_public: bool
) -> DnsRecordOperation:
    """The records. `load_balancer` are the addresses and hostnames in the status of the Service."""
    targets = _targets(settings, tuple(load_balancer), allow_public=allow_public)
    proxied = bool(settings.dns_only.proxied)
    return DnsRecordOperation(
        enabled=True,
        ip_address=targets[0].content,
        targets=targets,
        proxied=proxied,
        ttl=_ttl(settings, proxied=proxied),
    )


def _targets(settings: Settings, load_balancer: tuple[str, ...], *, allow_public: bool) -> list[DnsTarget]:
    static = settings.dns_only.static_ip
    if static:
        texts = [text.strip() for text in static.split(",") if text.strip()]
        path = "dnsOnly.staticIp"
    elif settings.dns_only.ingress_service_ref is None:
        raise Stall(
            NO_ADDRESS,
            "DNS-only mode needs an address: set the annotation dnsIp, or a template's dnsOnly.staticIp or "
            "dnsOnly.ingressServiceRef",
        )
    else:
        texts = list(load_balancer)
        path = "dnsOnly.ingressServiceRef"
    if not texts:
        raise Wait(_RETRY, NO_ADDRESS, "the LoadBalancer Service has no address yet")
    addresses = [address for text in texts if (address := _address(text)) is not None]
    if path == "dnsOnly.staticIp" and len(addresses) != len(texts):
        raise settings.invalid(path, "must be plain IP addresses, separated by commas")
    if not addresses:
        return [_alias(settings, path, texts)]
    for address in addresses:
        _check_address(settings, path, address, allow_public=allow_public)
    return [_record(address) for address in dict.fromkeys(addresses)]


def _address(text: str) -> Address | None:
    try:
        return address_of(text)
    except ValueError:
        return None


def _alias(settings: Settings, path: str, hostnames: list[str]) -> DnsTarget:
    if len(set(hostnames)) != 1:
        raise settings.invalid(
            path, "names a Service with several hostnames, and a CNAME record has one target"
        )
    try:
        return DnsTarget("CNAME", check_hostname(hostnames[0]))
    except ValueError as error:
        raise settings.invalid(path, f"names a Service whose hostname {error}") from error


def _record(address: Address) -> DnsTarget:
    return DnsTarget("A" if address.version == 4 else "AAAA", str(address))


def _check_address(settings: Settings, path: str, address: Address, *, allow_public: bool) -> None:
    if any(address.version == network.version and address in network for network in _PRIVATE):
        return
    is_shared = address.version == 4 and address in _SHARED
    if address.is_multicast or not (address.is_global or is_shared):
        raise settings.invalid(
            path, f"has the address {address}, which leads to no particular host of a network"
        )
    if not allow_public:
        raise Stall(
            PUBLIC_ADDRESS,
            f"{path} ({settings.source(path)}) has the public address {address}: the record would lead past tunnel and "
            "Access. Use a private address, or start the operator with --dns-only-public",
        )


def _ttl(settings: Settings, *, proxied: bool) -> int:
    """The time to live. Cloudflare decides that of proxied records itself."""
    ttl = settings.dns_only.ttl or _AUTOMATIC
    if proxied:
        return _AUTOMATIC
    if ttl < _SHORTEST_TTL:
        raise settings.invalid(
            "dnsOnly.ttl",
            f"must be from {_SHORTEST_TTL} to 86400 seconds; 1, automatic, is for proxied records only",
        )
    return ttl
