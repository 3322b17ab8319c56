"""The words that `format` may hold, and which texts they promise.

The list is the one kube-apiserver enforces on custom resources; other words are documentation. The checks accept what
its Go libraries accept, with their quirks, and take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from ipaddress import IPv4Address, IPv6Address, ip_address

from edgekeeper.schema.node import Node
from edgekeeper.schema.pattern import compile_pattern

Accepts = Callable[[str], bool]


def _matching(pattern: str, flags: re.RegexFlag = re.ASCII) -> Accepts:
    """Only for our own patterns, none of which can backtrack."""
    compiled = re.compile(pattern, flags | re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_short_name = compile_pattern(f"^{_LABEL}$")
_long_name = compile_pattern(rf"^{_LABEL}(\.{_LABEL})*$")
_HOST_SHAPE = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)
"""Compiled when it is first needed, since that takes a tenth of a second."""
_CARD = _matching(
    "(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    "|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})"
)
_BYTE_VALUE = r"\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*"
_DATE = _matching(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_COMMON_TIME = re.compile(
    "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
)
"""What nearly every time looks like; it spares conditions, which are everywhere, the long way."""
_GO_DURATION = _matching(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_LOOSE_DURATION = re.compile(r"(?<![0-9])[0-9]++\s*+([A-Za-zµ]+)", re.ASCII)
_DURATION_UNITS = {"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"}
_DURATION_WORDS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+"
_QUOTED = r'"(?:[^"\\\r\n]|\\.)*"'
_ADDRESS = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@(?:{_ATOM}(?:\.{_ATOM})*|\[[0-9A-Fa-f.:]+\])"
_is_email = compile_pattern(
    rf"^\s*(?:{_ADDRESS}|(?:(?:{_ATOM}|{_QUOTED})(?:[ \t]+(?:{_ATOM}|{_QUOTED}))*)?[ \t]*<{_ADDRESS}>)\s*$"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AUTHORITY = _matching(
    r"(?:(?:[A-Za-z0-9._:~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]+)?\]|(?:[^\x00-\x20\"\\^`{|}<>%/:\[\]?#@]|%[89A-Fa-f][0-9A-Fa-f])*)(?::[0-9]*)?",
)
_LONGEST_ADDRESS = 64
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _is_hostname(text: str) -> bool:
    short_labels = all(len(label.encode()) <= 63 for label in text.split("."))
    return short_labels and len(text.encode()) <= 255 and compile_pattern(_HOST_SHAPE)(text)


def _is_short_name(text: str) -> bool:
    return len(text) <= 63 and _short_name(text)


def _is_long_name(text: str) -> bool:
    return len(text) <= 253 and _long_name(text)


def _parse_ip(text: str) -> IPv4Address | IPv6Address | None:
    if "%" in text:  # Go knows no zones here
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def _without_leading_zeros(text: str) -> str:
    """Addresses like 010.0.0.1 were valid once, so they stay valid."""
    return (
        text if len(text) > _LONGEST_ADDRESS else re.sub(r"(?<![0-9A-Fa-f:])0+(?=[0-9]+(?:\.|$))", "", text)
    )


def _is_ipv4(text: str) -> bool:
    return "." in text and _parse_ip(_without_leading_zeros(text)) is not None


def _is_ipv6(text: str) -> bool:
    return ":" in text and _parse_ip(text) is not None


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    parsed = _parse_ip(_without_leading_zeros(address))
    if parsed is None or not slash or not re.fullmatch("[0-9]{1,3}", bits):
        return False
    return int(bits) <= parsed.max_prefixlen


def _is_mac(text: str) -> bool:
    return len(re.sub("[^0-9A-Fa-f]", "", text)) // 2 in (6, 8, 20) and _MAC_SHAPE(text)


_MAC_SHAPE = _matching(
    "(?:[0-9A-Fa-f]{2})+|[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2})+|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2})+|[0-9A-Fa-f]{4}(?:[.][0-9A-Fa-f]{4})+"
)


def _is_uri(text: str) -> bool:
    """An absolute URI or an absolute path, as in the first line of an HTTP request."""
    if not text or _CONTROL.search(text):
        return False
    if text == "*":
        return True
    scheme = _SCHEME.match(text)
    rest = (text[scheme.end() :] if scheme else text).partition("?")[0]
    if not rest.startswith("/"):
        return scheme is not None
    if scheme and rest.startswith("//") and not rest.startswith("///"):
        authority, slash, path = rest[2:].partition("/")
        return _AUTHORITY(authority) and not _BAD_ESCAPE.search(slash + path)
    return not _BAD_ESCAPE.search(rest)


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    return (
        sum(place * (10 if digit == "X" else int(digit)) for place, digit in enumerate(digits, 1)) % 11 == 0
    )


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(digits)) % 10 == 0


def _is_creditcard(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return _CARD(digits) and (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0


def _is_date(text: str) -> bool:
    if not _DATE(text):
        return False
    try:
        date.fromisoformat(
            text.replace("0000-", "0004-", 1)
        )  # Go's year zero is a leap year, Python has none
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    if _COMMON_TIME.fullmatch(text):
        return True
    day, _, time_and_rest = text.lower().partition("t")
    match = _TIME.fullmatch(time_and_rest.split("t")[0])
    if match is None or not _is_date(day):
        return False
    hour, minute, second = match.groups()
    return hour <= "23" and minute <= "59" and second <= "59"


def _is_duration(text: str) -> bool:
    """Go's notation, or anything that holds a number with a unit, such as `5 days`."""
    units = [unit.lower() for unit in _LOOSE_DURATION.findall(text)]
    return _GO_DURATION(text) or any(u in _DURATION_UNITS or u.startswith(_DURATION_WORDS) for u in units)


FORMATS: dict[str, Accepts] = {
    "bsonobjectid": _matching("[0-9A-Fa-f]{24}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _matching("[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE),
    "uuid3": _matching("[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE),
    "uuid4": _matching(
        "[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", re.IGNORECASE
    ),
    "uuid5": _matching(
        "[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", re.IGNORECASE
    ),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_creditcard,
    "ssn": _matching("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "hexcolor": _matching("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matching(rf"rgb\({_BYTE_VALUE},{_BYTE_VALUE},{_BYTE_VALUE}\)"),
    "byte": _matching("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": _is_date,
    "datetime": _is_datetime,
    "duration": _is_duration,
    "k8sshortname": _is_short_name,
    "k8slongname": _is_long_name,
}
"""By name without dashes: `date-time` and `datetime` are the same word."""

_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def node_format(node: Node) -> str:
    """The format that is enforced at a node, or nothing: words that do not fit its type bind nobody."""
    declared = str(node.source.get("format") or "")
    only = node.types[0] if len(node.types) == 1 else ""
    if only in ("", "string"):
        return declared if declared.replace("-", "") in FORMATS else ""
    return declared if declared in _NUMBER_FORMATS.get(only, ()) else ""


def format_test(declared: str) -> Accepts | None:
    return FORMATS.get(declared.replace("-", ""))
