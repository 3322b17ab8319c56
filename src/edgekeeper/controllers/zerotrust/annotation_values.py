"""Values of annotations. A parser returns the value, or raises ValueError with what is allowed.

An empty value is refused, but for lists, where it means none: so that a template's list can be replaced by an empty one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from edgekeeper.cloud.cloudflare.hostnames import normalise
from edgekeeper.controllers.zerotrust.setting_checks import (
    LONGEST_LIST,
    address_of,
    printable,
    seconds_of,
)
from edgekeeper.core.errors import Stall

ValueParser: TypeAlias = Callable[[str], Any]

BOOLEANS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_UUID = re.compile(r"[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}")


def _boolean(text: str) -> bool:
    value = BOOLEANS.get(_filled(text).lower())
    if value is None:
        raise ValueError("must be true or false (1, 0, yes and no are accepted too)")
    return value


def _filled(text: str) -> str:
    """The text without space around it, unless nothing remains."""
    if not text.strip():
        raise ValueError("is empty: write a value or remove the annotation")
    return printable(text.strip())


def _texts(text: str) -> list[str]:
    if not text.strip():
        return []
    items = [printable(item.strip()) for item in text.split(",") if item.strip()]
    if not items:
        raise ValueError("has nothing between its commas")
    if len(items) > LONGEST_LIST:
        raise ValueError(f"has more than {LONGEST_LIST} items")
    return list(dict.fromkeys(items))


def _hostnames(text: str) -> list[str]:
    try:
        return list(dict.fromkeys(normalise(item) for item in _texts(_filled(text))))
    except Stall as error:
        raise ValueError(f"must be one or more hostnames separated by commas: {error.message}") from error


def _addresses(text: str) -> str:
    return ",".join(str(address_of(item)) for item in _texts(_filled(text)))


def _duration(text: str, *, forever: bool = False) -> str:
    value = _filled(text)
    if not (forever and value == "forever"):
        seconds_of(value)
    return value


def _whole_number(text: str, lowest: int, highest: int) -> int:
    value = _filled(text)
    if not re.fullmatch("[0-9]{1,9}", value) or not lowest <= int(value) <= highest:
        raise ValueError(f"must be a whole number from {lowest} to {highest}")
    return int(value)


def _choice(text: str, *choices: str) -> str:
    value = _filled(text).lower()
    if value not in choices:
        raise ValueError(f"must be one of {', '.join(choices)}")
    return value


def _name(text: str) -> str:
    value = _filled(text)
    if not _NAME.fullmatch(value):
        raise ValueError("must be the name of an object: lower-case letters, digits, - and .")
    return value


def _namespaced(text: str) -> tuple[str, str]:
    namespace, _, name = _filled(text).rpartition("/")
    if not _NAME.fullmatch(name) or (namespace and not _NAME.fullmatch(namespace)):
        raise ValueError("must be a name, or a namespace and a name as in edge/main")
    return namespace, name


def _tenant(text: str) -> str:
    return "/".join(filter(None, _namespaced(text)))


def _service(text: str) -> dict[str, str]:
    namespace, name = _namespaced(text)
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def _tunnel(text: str) -> str:
    value = _filled(text).lower()
    if not _UUID.fullmatch(value):
        raise ValueError("must be the id of a tunnel, such as c1744f8b-faa1-48a4-9e5c-02ac921467fa")
    return value


BOOLEAN: Final = _boolean
TEXT: Final = _filled
TEXTS: Final = _texts
HOSTNAMES: Final = _hostnames
ADDRESSES: Final = _addresses
ORIGIN: Final = _filled
DURATION: Final = _duration
TOKEN_DURATION: Final = partial(_duration, forever=True)
SECONDS: Final = partial(_whole_number, lowest=1, highest=300)
TTL: Final = partial(_whole_number, lowest=1, highest=86_400)
SAME_SITE: Final = lambda text: _choice(text, "none", "lax", "strict")  # noqa: E731 - a row of the table
DNS: Final = lambda text: _choice(text, "managed", "external")  # noqa: E731
NAME: Final = _name
TENANT: Final = _tenant
SERVICE: Final = _service
TUNNEL: Final = _tunnel
