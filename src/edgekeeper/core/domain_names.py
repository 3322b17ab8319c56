"""Check domain names in manifests, and suggest corrections for invalid ones."""

from __future__ import annotations

from urllib.parse import urlsplit

import idna

from edgekeeper.core.aws_identifiers import DOMAIN_NAME, LONGEST_DOMAIN, is_form

_WILDCARD = "*."
_LONGEST_TEXT = 4 * LONGEST_DOMAIN
"""No correction is computed for a longer text, since the conversion takes time."""


def is_domain(name: str) -> bool:
    """Do DNS and CloudFront accept this name? The first label may be a wildcard.

    The name must be ASCII before it is converted to lower case: some other letters, such as the Kelvin sign, have an ASCII
    lower case.
    """
    return len(name) <= LONGEST_DOMAIN and is_form(DOMAIN_NAME, name)


def correction(name: str) -> str:
    """The domain name that was probably meant: the host of a URL, the punycode of a Unicode name; empty if none."""
    if len(name) > _LONGEST_TEXT:
        return ""
    candidate = _host(name.strip())
    if not candidate.isascii():
        candidate = _in_punycode(candidate)
    return candidate if candidate != name and is_domain(candidate) else ""


def problem_of(name: str) -> str:
    """The message for a name that is not a domain name, with a correction if there is one."""
    if meant := correction(name):
        return f"{name!r} is not a domain name: write {meant}"
    if "*" in name.removeprefix(_WILDCARD):
        return f"{name!r} is not a domain name: only the first label may be *, as in *.example.com"
    return f"{name!r} is not a domain name, such as shop.example.com"


def _host(text: str) -> str:
    """The host of a URL, or of a text without a scheme; empty if it cannot be parsed."""
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
