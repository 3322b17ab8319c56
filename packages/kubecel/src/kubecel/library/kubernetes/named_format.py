"""The formats of names and values that Kubernetes knows: DNS labels, qualified names, label values, UUIDs, dates …

A format looks at a text and says what is wrong with it, in the words of the API server.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Final, TypeAlias

from kubecel import types
from kubecel.library.kubernetes.url import UrlError, check_request_uri
from kubecel.library.notation import utf8
from kubecel.types import Type

Problems: TypeAlias = list[str]
Check: TypeAlias = Callable[[str], Problems]

# None of these patterns can backtrack far: what is matched is told apart by its first character, or is short.
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LETTER_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_NAME})?"

_LABEL_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253

_UUID: Final = re.compile("[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_BASE64: Final = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format, known by its name."""

    name: str
    check: Check
    pattern_length: int
    """Of the regular expression behind it, or of one that would do: what a check costs."""
    cel_type: ClassVar[Type] = types.opaque("kubernetes.NamedFormat")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def _mismatch(words: str, pattern: str, *examples: str) -> str:
    """Two blanks before `or`, as the API server has it."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


def _dns1123_label(text: str) -> Problems:
    problems = [_too_long(_LABEL_LENGTH)] if len(utf8(text)) > _LABEL_LENGTH else []
    if re.fullmatch(_LABEL, text):
        return problems
    if _is_subdomain(text):
        return [*problems, "must not contain dots"]
    words = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character"
    )
    return [*problems, _mismatch(words, _LABEL, "my-name", "123-abc")]


def _is_subdomain(text: str) -> bool:
    return all(re.fullmatch(_LABEL, label) for label in text.split("."))


def _dns1123_subdomain(text: str) -> Problems:
    problems = [_too_long(_SUBDOMAIN_LENGTH)] if len(utf8(text)) > _SUBDOMAIN_LENGTH else []
    if _is_subdomain(text):
        return problems
    words = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return [*problems, _mismatch(words, _SUBDOMAIN, "example.com")]


def _dns1035_label(text: str) -> Problems:
    problems = [_too_long(_LABEL_LENGTH)] if len(utf8(text)) > _LABEL_LENGTH else []
    if re.fullmatch(_LETTER_LABEL, text):
        return problems
    words = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character"
    )
    return [*problems, _mismatch(words, _LETTER_LABEL, "my-name", "abc-123")]


_NAME_WORDS: Final = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_NAME_EXAMPLES: Final = ("MyName", "my.name", "123-abc")


def _qualified_name(text: str) -> Problems:
    parts = text.split("/")
    if len(parts) > 2:
        problem = _mismatch(f"a valid label key {_NAME_WORDS}", _NAME, *_NAME_EXAMPLES)
        return [f"{problem} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = _prefix_problems(parts[0]) if len(parts) == 2 else []
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    elif len(utf8(name)) > _LABEL_LENGTH:
        problems.append(f"name part {_too_long(_LABEL_LENGTH)}")
    if not re.fullmatch(_NAME, name):
        problems.append(f"name part {_mismatch(_NAME_WORDS, _NAME, *_NAME_EXAMPLES)}")
    return problems


def _prefix_problems(prefix: str) -> Problems:
    if not prefix:
        return ["prefix part must be non-empty"]
    return [f"prefix part {problem}" for problem in _dns1123_subdomain(prefix)]


def _label_value(text: str) -> Problems:
    problems = [_too_long(_LABEL_LENGTH)] if len(utf8(text)) > _LABEL_LENGTH else []
    if re.fullmatch(_LABEL_VALUE, text):
        return problems
    words = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return [*problems, _mismatch(words, _LABEL_VALUE, "MyValue", "my_value", "12345")]


def _as_prefix(check: Check) -> Check:
    """A name to which something will be appended may end in a dash."""

    def check_prefix(text: str) -> Problems:
        return check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return check_prefix


def _uri(text: str) -> Problems:
    try:
        check_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _matching(pattern: re.Pattern[str], problem: str) -> Check:
    return lambda text: [] if pattern.fullmatch(text) else [problem]


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        # Go's year zero is a leap year; Python has none.
        date.fromisoformat(text.replace("0000-", "0004-", 1))
    except ValueError:
        return False
    return True


def _date(text: str) -> Problems:
    return [] if _is_date(text) else ["invalid date"]


def _datetime(text: str) -> Problems:
    day, _, rest = text.lower().partition("t")
    found = _TIME.fullmatch(rest.split("t", 1)[0])
    if found is None or not _is_date(day):
        return ["invalid datetime"]
    hour, minute, second = found.groups()
    return [] if hour <= "23" and minute <= "59" and second <= "59" else ["invalid datetime"]


FORMATS: Final = {
    "dns1123Label": NamedFormat("DNS1123Label", _dns1123_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _dns1123_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", _dns1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", _qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _as_prefix(_dns1123_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _as_prefix(_dns1123_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _as_prefix(_dns1035_label), 30),
    "labelValue": NamedFormat("LabelValue", _label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _matching(_UUID, "does not match the UUID format"), 70),
    "byte": NamedFormat("byte", _matching(_BASE64, "invalid base64"), 84),
    "date": NamedFormat("date", _date, 71),
    "datetime": NamedFormat("datetime", _datetime, 71),
}
"""By the name of the function that returns them."""
