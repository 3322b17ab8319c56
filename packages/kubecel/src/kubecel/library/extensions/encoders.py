"""Base64, with and without padding."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import Final

from kubecel.errors import invalid_argument
from kubecel.functions import Library
from kubecel.library import costs
from kubecel.library.declaring import function, on_call
from kubecel.limits import check_size
from kubecel.types import BYTES, STRING

_LINE_BREAKS: Final = str.maketrans("", "", "\r\n")


def decode(text: str) -> bytes:
    """Decode the standard alphabet. Line breaks do not count; padding may be missing, but not in part."""
    joined = text.translate(_LINE_BREAKS)
    unpadded = joined if "=" in joined else joined + "=" * (-len(joined) % 4)
    try:
        return b64decode(unpadded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid_argument("illegal base64 data") from error


def encode(data: bytes) -> str:
    check_size(len(data) * 4 // 3 + 4)
    return b64encode(data).decode()


ENCODERS: Final = Library(
    "cel.lib.ext.encoders",
    (
        function(
            "base64.decode", on_call("base64_decode_string", (STRING,), BYTES, decode, costs.at_least_one)
        ),
        function(
            "base64.encode", on_call("base64_encode_bytes", (BYTES,), STRING, encode, costs.at_least_one)
        ),
    ),
)
