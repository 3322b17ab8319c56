"""Names of properties as expressions can write them.

A property may be called `my-port` or `namespace`; a field in an expression is an identifier. Kubernetes spells the
characters out (`my__dash__port`) and wraps reserved words (`__namespace__`). Names with other characters have no
spelling, and expressions cannot see such properties.
"""

from __future__ import annotations

import re
from typing import Final

RESERVED: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
"""Words that cannot be identifiers, though most of them can be fields."""

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ALLOWED: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_SPECIAL: Final = re.compile(r"__|[./-]")
_SPELLED: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escape(name: str) -> str | None:
    """The identifier for a property, or None if there is none."""
    if name in RESERVED:
        return f"__{name}__"
    if _PLAIN.fullmatch(name) and "__" not in name:
        return name
    if not _ALLOWED.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda found: _SPELLED[found.group()], name)
