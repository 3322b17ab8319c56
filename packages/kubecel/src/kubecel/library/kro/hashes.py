"""Checksums of strings, as bytes. None of them protects anything."""

from __future__ import annotations

from hashlib import md5, sha256
from typing import Final

from kubecel.functions import Library
from kubecel.library import costs
from kubecel.library.declaring import function, on_call
from kubecel.library.notation import utf8
from kubecel.types import BYTES, STRING

_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3
_MASK: Final = 2**64 - 1


def fnv64a(text: str) -> bytes:
    """FNV-1a of 64 bits, most significant byte first."""
    value = _FNV_OFFSET
    for byte in utf8(text):
        value = (value ^ byte) * _FNV_PRIME & _MASK
    return value.to_bytes(8)


def sha256_of(text: str) -> bytes:
    return sha256(utf8(text)).digest()


def md5_of(text: str) -> bytes:
    return md5(utf8(text), usedforsecurity=False).digest()


def _slow_cost(text: str) -> int:
    """Every byte is a step of the interpreter."""
    return max(1, costs.walk_twice(text))


HASHES: Final = Library(
    "hash",
    (
        function("hash.fnv64a", on_call("hash.fnv64a_string", (STRING,), BYTES, fnv64a, _slow_cost)),
        function(
            "hash.sha256", on_call("hash.sha256_string", (STRING,), BYTES, sha256_of, costs.at_least_one)
        ),
        function("hash.md5", on_call("hash.md5_string", (STRING,), BYTES, md5_of, costs.at_least_one)),
    ),
)
