"""Deterministic names of bounded length, made of several parts.

    bounded_name("widgets", "team-a")                       widgets-team-a
    bounded_name("team-a", "web")                           team-a-web-…          team-a and web, or team and a-web?
    bounded_name("Web_Site")                                web-site-…            invalid characters were replaced
    bounded_name("a" * 80)                                  aaa…aaa-…             too long

The same parts always result in the same name, so a create can be repeated and its result be found again. Different
lists of parts of the same length result in different names: if the readable form is ambiguous, it ends with a hash of
the parts (58 bits), and so does a readable form that could be mistaken for one with a hash. A hash begins with a digit,
so that ordinary words are not mistaken for one.

Existing objects are found by their names, so this format never changes; golden tests check that.
"""

from __future__ import annotations

import re
from base64 import b32encode
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final

_LOWER: Final = "abcdefghijklmnopqrstuvwxyz"
_UPPER: Final = _LOWER.upper()
_DIGITS: Final = "0123456789"

HASH_LENGTH: Final = 12
_HASH: Final = re.compile(rf"[0-9][a-z2-7]{{{HASH_LENGTH - 1}}}")
_STAND_IN: Final = "x"
"""The readable form of parts without any valid character."""


@dataclass(frozen=True)
class Alphabet:
    """The characters that a name may have."""

    edges: str
    """Valid everywhere, also at the beginning and at the end."""
    inner: str
    """Valid between other characters only."""
    separator: str = "-"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        edge, inner = re.escape(self.edges), re.escape(self.edges + self.inner)
        return re.compile(f"[{edge}](?:[{inner}]*[{edge}])?")

    @cached_property
    def foreign(self) -> re.Pattern[str]:
        return re.compile(f"[^{re.escape(self.edges + self.inner)}]+")

    def readable(self, text: str) -> str:
        """The text with invalid characters replaced by the separator."""
        folded = text if _UPPER[0] in self.edges else text.lower()
        return self.trimmed(self.foreign.sub(self.separator, folded))

    def trimmed(self, text: str) -> str:
        return text.strip(self.inner)


DNS_LABEL: Final = Alphabet(edges=_LOWER + _DIGITS, inner="-")
"""RFC 1123 labels: names of namespaces and some other kinds, parts of domain names."""
DNS_SUBDOMAIN: Final = Alphabet(edges=_LOWER + _DIGITS, inner="-.")
"""RFC 1123 subdomains: names of most kinds of Kubernetes."""
AWS_NAME: Final = Alphabet(edges=_LOWER + _UPPER + _DIGITS, inner="-.")
"""CloudFront's names of distribution tenants."""
AWS_IDENTIFIER: Final = Alphabet(edges=_LOWER + _UPPER + _DIGITS, inner="-_")
"""Statement ids of Lambda policies, names of role sessions."""


def bounded_name(*parts: str, limit: int = 63, alphabet: Alphabet = DNS_LABEL) -> str:
    """A name made of all parts, of at most `limit` characters of the alphabet."""
    if not any(parts):
        raise ValueError("a name needs something to be made of")
    if limit < HASH_LENGTH + 2:
        raise ValueError(f"a limit of {limit} characters leaves no room for a hash")
    plain = alphabet.separator.join(parts)
    if (
        len(plain) <= limit
        and alphabet.pattern.fullmatch(plain)
        and not _ambiguous(parts, plain, alphabet.separator)
    ):
        return plain
    room = limit - HASH_LENGTH - len(alphabet.separator)
    stem = alphabet.trimmed(alphabet.readable(plain)[:room]) or _STAND_IN
    return f"{stem}{alphabet.separator}{fingerprint(*parts)}"


def _ambiguous(parts: tuple[str, ...], plain: str, separator: str) -> bool:
    """Whether other parts of the same number, or a name with a hash, could result in the same name."""
    *leading, last = parts
    if not last or any(separator in part or not part for part in leading):
        return True
    stem, _, end = plain.rpartition(separator)
    return bool(stem) and _HASH.fullmatch(end) is not None


def fingerprint(*parts: str) -> str:
    """A hash of the parts: a digit, then lower-case letters and digits."""
    spelled = "".join(
        f"{len(part)}:{part}," for part in parts
    )  # unambiguous: each part is preceded by its length
    digest = sha256(spelled.encode("utf-8", "surrogatepass")).digest()
    return f"{digest[0] % 10}{b32encode(digest[1:]).decode().lower()[: HASH_LENGTH - 1]}"
