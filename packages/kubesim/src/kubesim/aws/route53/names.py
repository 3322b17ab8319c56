"""Domain names as Route 53 spells and orders them.

Inside the simulator names are in lower case, end with a dot and contain no escapes. On the wire every character other
than letters, digits, hyphens, underscores and dots is an octal escape, the asterisk of a wildcard included.
"""

from __future__ import annotations

import re
from functools import lru_cache

_ESCAPE = re.compile(r"\\([0-7]{3})")
_SPECIAL = re.compile(r"[^a-z0-9\-_.]")


def normal(name: str) -> str:
    """The one spelling that is stored and compared."""
    plain = _ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), name).lower()
    return plain if plain.endswith(".") else f"{plain}."


def escaped(name: str) -> str:
    """The spelling of answers."""
    return _SPECIAL.sub(lambda match: f"\\{ord(match.group()):03o}", name)


@lru_cache(maxsize=65_536)
def order(name: str) -> tuple[str, ...]:
    """Zones and records are listed by their labels from the right."""
    return tuple(reversed(name.rstrip(".").split(".")))


def within(name: str, zone: str) -> bool:
    return name == zone or name.endswith(f".{zone}")
