"""The many ways to write a hostname that belongs to somebody else, or that looks as if it did."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

OWNED = "kiosk.example.com"
"""Whose it is, is another's business."""

_LOOKALIKES = {
    "k": "\u212a\u043a\uff4b",  # the Kelvin sign, a Cyrillic letter, a full-width one
    "i": "\u0131\u0456\u217c",
    "o": "\u03bf\u043e\uff4f",
    "s": "\u017f\u0455\uff53",
    "e": "\u0435\u212e",
    "a": "\u0430\u0251",
    "x": "\u0445\u2179",
    ".": "\u3002\uff0e\uff61",
}
_NOTHING = "\u200b\u200c\u00ad\ufeff\u2060"
_AROUND = (
    *(" {}", "{} ", "\t{}", "{}\n", "\n{}", "{}\r\n", "{}\x00", "{}\u2028"),
    *("http://{}", "{}:443", "{}/", "{}#", "{}?", "x@{}", "{},*", "{};", "'{}'", '"{}"', "{{{}}}", "$({})"),
    *("{}..", ".{}", "..{}", "-{}", "**.{}", "*{}", "a.*.{}", "{}.*"),
)


def spellings() -> Iterator[str]:
    """The same name for DNS, whatever it looks like."""
    random = Random(2)
    yield from (OWNED, OWNED.upper(), OWNED.title(), f"{OWNED}.", f"{OWNED.upper()}.")
    for number in range(80):
        name = "".join(random.choice((letter, letter.upper())) for letter in OWNED)
        yield name if number % 4 else f"{name}."


def disguises() -> Iterator[str]:
    """Names that are none, and would be the owned one if somebody read them generously."""
    for position, letter in enumerate(OWNED):
        for lookalike in _LOOKALIKES.get(letter, ""):
            yield OWNED[:position] + lookalike + OWNED[position + 1 :]
        yield f"{OWNED[:position]}\\{ord(letter):03o}{OWNED[position + 1 :]}"
    for position in range(0, len(OWNED), 3):
        for nothing in _NOTHING:
            yield OWNED[:position] + nothing + OWNED[position:]
    yield from (around.format(OWNED) for around in _AROUND)


def lookalikes() -> Iterator[str]:
    """Good names that people may take for the owned one: the punycode of its homographs, and slips of the pen."""
    for position, letter in enumerate("kiosk"):
        for lookalike in _LOOKALIKES.get(letter, ""):
            label = "kiosk"[:position] + lookalike + "kiosk"[position + 1 :]
            yield f"xn--{label.encode('punycode').decode()}.example.com"
    yield from ("kiosk0.example.com", "klosk.example.com", "ki0sk.example.com")


def neighbours() -> Iterator[str]:
    """Other names around it: above it, below it, beside it, and a wildcard that it falls under."""
    yield from ("*.example.com", "example.com", "EXAMPLE.COM.", "*.EXAMPLE.com")
    yield from ("*.kiosk.example.com", "a.kiosk.example.com", "_acme-challenge.kiosk.example.com")
    yield from (
        "kiosk.example.com.example.com",
        "kiosk-example.com",
        "notexample.com",
        "beta.example.com.evil.com",
    )
    yield from ("kioskbeta.example.com", "xbeta.example.com", "beta-example.com")


def all_variants() -> list[str]:
    return [*dict.fromkeys((*spellings(), *disguises(), *lookalikes(), *neighbours()))]
