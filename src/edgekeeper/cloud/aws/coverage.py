"""Which domains a certificate covers.

A name of a certificate covers a domain if they are equal, or if it is a wildcard and the domain has exactly one label
in its place: `*.example.com` covers `shop.example.com`, neither `example.com` nor `a.b.example.com`. Case does not
matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from edgekeeper.cloud.aws.dns.records import normalise_name


def covers(name: str, domain: str) -> bool:
    """Does one name of a certificate cover a domain?"""
    name, domain = normalise_name(name), normalise_name(domain)
    if name == domain:
        return bool(name)
    label, dot, parent = domain.partition(".")
    return bool(label) and bool(dot) and label != "*" and name == f"*.{parent}"


def uncovered(domains: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """The domains that no name of a certificate covers, in their order."""
    return tuple(domain for domain in domains if not any(covers(name, domain) for name in names))
