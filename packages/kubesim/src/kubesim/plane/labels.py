"""What a label may look like: the syntax of keys and values, with the server's wording of each violation.

Selectors and object metadata share these rules. Each check returns the reasons against a string, none where it is
well formed, so that a caller can put them behind the field path that it knows.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_NAME})?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

_NAME_PATTERN = re.compile(_NAME)
_VALUE_PATTERN = re.compile(_VALUE)
_SUBDOMAIN_PATTERN = re.compile(_SUBDOMAIN)

_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    f" character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for"
    f" validation is '{_VALUE}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start"
    f" and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)

_LONGEST_NAME = 63
_LONGEST_SUBDOMAIN = 253


@lru_cache(maxsize=4096)
def label_key_problems(key: str) -> tuple[str, ...]:
    """Return what is wrong with a label or annotation key: `name` or `dns.prefix/name`."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_NAME_RULE} {optional}",)
    problems = [f"prefix part {problem}" for problem in _prefix_problems(prefix)] if slash else []
    if not name:
        problems.append("name part must be non-empty")
    elif _too_long(name, _LONGEST_NAME):
        problems.append(f"name part {_length_rule(_LONGEST_NAME)}")
    if not _NAME_PATTERN.fullmatch(name):
        problems.append(f"name part {_NAME_RULE}")
    return tuple(problems)


@lru_cache(maxsize=4096)
def label_value_problems(value: str) -> tuple[str, ...]:
    """Return what is wrong with a label's value."""
    problems = []
    if _too_long(value, _LONGEST_NAME):
        problems.append(_length_rule(_LONGEST_NAME))
    if not _VALUE_PATTERN.fullmatch(value):
        problems.append(_VALUE_RULE)
    return tuple(problems)


def subdomain_problems(name: str) -> tuple[str, ...]:
    """Return what is wrong with a DNS-1123 subdomain, the usual form of object names."""
    problems = []
    if _too_long(name, _LONGEST_SUBDOMAIN):
        problems.append(_length_rule(_LONGEST_SUBDOMAIN))
    if not _SUBDOMAIN_PATTERN.fullmatch(name):
        problems.append(_SUBDOMAIN_RULE)
    return tuple(problems)


def _prefix_problems(prefix: str) -> tuple[str, ...]:
    return subdomain_problems(prefix) if prefix else ("must be non-empty",)


def _too_long(text: str, limit: int) -> bool:
    return len(text) > limit or len(text.encode()) > limit


def _length_rule(limit: int) -> str:
    return f"must be no more than {limit} bytes"
