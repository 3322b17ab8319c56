"""The syntax of names, with the server's reasons against each string that breaks it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_HEADER = "[-A-Za-z0-9]+"
_PERCENT = "[0-9]+%"
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_LONGEST_LABEL, _LONGEST_SUBDOMAIN, _LONGEST_PORT_NAME = 63, 253, 15


def _rule(words: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


_LABEL_RULE = _rule(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end"
    " with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_LABEL_1035_RULE = _rule(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_WILDCARD_RULE = _rule(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of"
    " lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    _WILDCARD,
    "*.example.com",
)
_CONFIG_KEY_RULE = _rule(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_HEADER_RULE = _rule(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER, "X-Header-Name"
)
_HTTP_PATH_RULE = f"Invalid path (regex used for validation is '{_HTTP_PATH}')"
_PERCENT_RULE = _rule(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def _check(text: str, pattern: str, rule: str, limit: int) -> tuple[str, ...]:
    problems = (_too_long(limit),) if len(text) > limit else ()
    return problems if re.fullmatch(pattern, text) else (*problems, rule)


def anything(_: str) -> Sequence[str]:
    """Some names are never looked at."""
    return ()


@lru_cache(maxsize=1024)
def label(text: str) -> tuple[str, ...]:
    rule = "must not contain dots" if re.fullmatch(_SUBDOMAIN, text) else _LABEL_RULE
    return _check(text, _LABEL, rule, _LONGEST_LABEL)


def label_1035(text: str) -> tuple[str, ...]:
    return _check(text, _LABEL_1035, _LABEL_1035_RULE, _LONGEST_LABEL)


def wildcard_subdomain(text: str) -> tuple[str, ...]:
    return _check(text, _WILDCARD, _WILDCARD_RULE, _LONGEST_SUBDOMAIN)


@lru_cache(maxsize=1024)
def config_key(text: str) -> tuple[str, ...]:
    problems = _check(text, _CONFIG_KEY, _CONFIG_KEY_RULE, _LONGEST_SUBDOMAIN)
    if text in (".", ".."):
        return (*problems, f"must not be '{text}'")
    return (*problems, "must not start with '..'") if text.startswith("..") else problems


def environment_variable(text: str) -> list[str]:
    if all(" " <= character <= "~" and character != "=" for character in text):
        return []
    return [
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
    ]


def port_name(text: str) -> list[str]:
    problems = [_too_long(_LONGEST_PORT_NAME)] if len(text) > _LONGEST_PORT_NAME else []
    if not re.fullmatch("[-a-z0-9]+", text):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        problems.append("must contain at least one letter (a-z)")
    if "--" in text:
        problems.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def path_segment(text: str) -> list[str]:
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in text]


def percent(text: str) -> list[str]:
    return [] if re.fullmatch(_PERCENT, text) else [_PERCENT_RULE]


def http_header(text: str) -> list[str]:
    return [] if re.fullmatch(_HEADER, text) else [_HEADER_RULE]


def http_path(text: str) -> list[str]:
    return [] if re.fullmatch(_HTTP_PATH, text) else [_HTTP_PATH_RULE]
