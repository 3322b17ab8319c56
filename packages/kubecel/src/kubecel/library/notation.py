"""Texts as Go writes them, because messages and formatted values must look as users know them from other servers."""

from __future__ import annotations

from decimal import Decimal
from math import inf, isnan
from typing import Final

_ESCAPES: Final = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    "\\": r"\\", '"': r"\"",
}  # fmt: skip

_LONGEST_EXCERPT: Final = 500


def quote(text: str) -> str:
    """In double quotes, with escapes for everything that does not print."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


def excerpt(text: str) -> str:
    """Quoted for a message, which nobody reads beyond the first few lines."""
    return quote(text if len(text) <= _LONGEST_EXCERPT else f"{text[:_LONGEST_EXCERPT]}…")


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain_double(value: float) -> str:
    """The shortest digits that stand for the number, never with an exponent."""
    if isnan(value):
        return "NaN"
    if value in (inf, -inf):
        return "Infinity" if value > 0 else "-Infinity"
    return format(Decimal(repr(value)).normalize(), "f")


def utf8(text: str) -> bytes:
    """The bytes of a text. Halves of surrogate pairs, which JSON can smuggle in, become replacement characters."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def json_double(value: float) -> str:
    """A finite number in JSON: without an exponent unless it is very large or very small."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return plain_double(value)
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return plain_double(value)
    return f"{mantissa}e{exponent[0]}{exponent[1:].lstrip('0')}"


def span_of_time(nanos: int) -> str:
    """A duration as `1h2m3.5s`, or in a smaller unit if it is shorter than a second."""
    if nanos == 0:
        return "0s"
    sign, rest = ("-", -nanos) if nanos < 0 else ("", nanos)
    for unit, size in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        if rest < size * 1000:
            return f"{sign}{_exact(rest, size)}{unit}"
    minutes, rest = divmod(rest, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    shown = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{shown}{_exact(rest, 1_000_000_000)}s"


def _exact(nanos: int, size: int) -> str:
    whole, part = divmod(nanos, size)
    fraction = f"{part:0{len(str(size)) - 1}d}".rstrip("0") if part else ""
    return f"{whole}.{fraction}" if fraction else str(whole)
