"""Domain names in manifests: which CloudFront takes, and what to write instead of the others."""

from __future__ import annotations

from urllib.parse import urlsplit

import idna

from edgekeeper.core.aws_identifiers import DOMAIN_NAME, LONGEST_DOMAIN, is_form

_WILDCARD = "*."
_LONGEST_TEXT = 4 * LONGEST_DOMAIN
"""Nobody means a domain by a longer one, and converting it takes time."""


def is_domain(name: str) -> bool:
    """Is this a name that DNS and CloudFront take? A wildcard may stand for the first label.

    In ASCII only, before anything else: there are letters beyond it whose lower case is within, such as the Kelvin sign.
    """
    return len(name) <= LONGEST_DOMAIN and is_form(DOMAIN_NAME, name)


def correction(name: str) -> str:
    """The domain name that was meant: of a URL its host, of one in Unicode its punycode; empty where none is known."""
    if len(name) > _LONGEST_TEXT:
        return ""
    candidate = _host(name.strip())
    if not candidate.isascii():
        candidate = _in_punycode(candidate)
    return candidate if candidate != name and is_domain(candidate) else ""


def problem_of(name: str) -> str:
    """What is wrong with a name that is no domain, and what to write instead."""
    if meant := correction(name):
        return f"{name!r} is not a domain name: write {meant}"
    if "*" in name.removeprefix(_WILDCARD):
        return f"{name!r} is not a domain name: only the first label may be *, as in *.example.com"
    return f"{name!r} is not a domain name, such as shop.example.com"


def _host(text: str) -> str:
    """What is left of a URL without its scheme, user, port, path and query."""
    try:
        return urlsplit(text if "//" in text else f"//{text}").hostname or ""
    except ValueError:
        return ""


def _in_punycode(name: str) -> str:
    wildcard = _WILDCARD if name.startswith(_WILDCARD) else ""
    try:
        return wildcard + idna.encode(name.removeprefix(wildcard), uts46=True).decode()
    except idna.IDNAError:
        return ""
