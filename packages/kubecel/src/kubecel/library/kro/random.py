"""Names and numbers that look random, but follow from a seed: the same on every pass.

Users rely on the very characters, since they are part of names. Hence the quirk: the hash of the seed is good for eight
characters, and then they repeat.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from kubecel.errors import invalid_argument
from kubecel.functions import Library, traversal_cost
from kubecel.library.declaring import function, on_call
from kubecel.library.notation import utf8
from kubecel.limits import check_size
from kubecel.types import INT, STRING

_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_BYTES_PER_CHARACTER: Final = 4


def seeded_string(length: int, seed: str) -> str:
    """Lower-case letters and digits."""
    if length <= 0:
        raise invalid_argument("random.seededString length must be positive")
    check_size(length)
    digest = sha256(utf8(seed)).digest()
    numbers = (
        int.from_bytes(digest[start : start + _BYTES_PER_CHARACTER])
        for start in range(0, len(digest), _BYTES_PER_CHARACTER)
    )
    characters = "".join(_ALPHABET[number % len(_ALPHABET)] for number in numbers)
    return (characters * (length // len(characters) + 1))[:length]


def seeded_int(minimum: int, maximum: int, seed: str) -> int:
    """A number from `minimum` up to, but not including, `maximum`."""
    if minimum >= maximum:
        raise invalid_argument("random.seededInt min must be less than max")
    number = int.from_bytes(sha256(utf8(seed)).digest()[:8])
    return minimum + number % (maximum - minimum)


def _string_cost(length: int, seed: str) -> int:
    return max(1, traversal_cost(max(length, 0), len(seed)))


def _int_cost(_: int, __: int, seed: str) -> int:
    return max(1, traversal_cost(len(seed)))


RANDOM: Final = Library(
    "random",
    (
        function(
            "random.seededString",
            on_call("random.seededString_int_string", (INT, STRING), STRING, seeded_string, _string_cost),
        ),
        function(
            "random.seededInt",
            on_call("random.seededInt_int_int_string", (INT, INT, STRING), INT, seeded_int, _int_cost),
        ),
    ),
)
