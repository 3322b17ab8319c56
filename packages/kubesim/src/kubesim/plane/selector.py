"""Label and field selectors: parsed once per request, then asked about every object of a list or watch.

    parse_label_selector("app=web,tier notin (db)")   the text form, from query strings
    label_selector_of({"matchLabels": …})             the structured form, from webhooks and workloads
    parse_field_selector("metadata.name=web")         field selectors: equality only, other escapes

Parsing compiles each requirement into a small predicate, so matching costs one call per requirement and nothing at
all for the selector that takes everything. Errors are the server's own sentences, as a 400.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.schema.field_error import FieldError, invalid_value
from kubesim.plane.errors import StatusError, bad_request
from kubesim.plane.labels import label_key_problems, label_value_problems

Operator: TypeAlias = Literal["=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt"]
Predicate: TypeAlias = Callable[[Mapping[str, str]], bool]

_NO_LABELS: Mapping[str, str] = MappingProxyType({})
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. `values` is sorted; it is empty for `exists` and `!`."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        listed = ",".join(self.values)
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({listed})"
            case "gt" | "lt":
                return f"{self.key}{'>' if self.operator == 'gt' else '<'}{listed}"
            case _:
                return f"{self.key}{self.operator}{listed}"


@dataclass(frozen=True)
class LabelSelector:
    """A conjunction of requirements. None at all matches everything."""

    requirements: tuple[Requirement, ...] = ()
    _predicates: tuple[Predicate, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_predicates", tuple(_predicate(one) for one in self.requirements))

    @property
    def everything(self) -> bool:
        return not self.requirements

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        present = labels or _NO_LABELS
        for holds in self._predicates:  # noqa: SIM110 - a generator under `all()` costs twice as much here
            if not holds(present):
                return False
        return True


def _predicate(requirement: Requirement) -> Predicate:
    key, accepted = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "=" | "==":
            (value,) = requirement.values
            return lambda labels: labels.get(key) == value
        case "in":
            return lambda labels: labels.get(key) in accepted
        case "!=" | "notin":
            return lambda labels: labels.get(key) not in accepted
        case "exists":
            return lambda labels: key in labels
        case "!":
            return lambda labels: key not in labels
        case "gt" | "lt":
            return _comparison(key, requirement.operator, int(requirement.values[0]))


def _comparison(key: str, operator: Literal["gt", "lt"], bound: int) -> Predicate:
    def holds(labels: Mapping[str, str]) -> bool:
        number = _int64(labels.get(key, ""))
        if number is None:
            return False
        return number > bound if operator == "gt" else number < bound

    return holds


def _int64(text: str) -> int | None:
    """Read a decimal number as Go's ParseInt does: no blanks, no underscores, 64 bits."""
    if len(text) > 20 or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


EVERYTHING = LabelSelector()
NOTHING = LabelSelector((Requirement("", "in"),))
"""Membership in the empty set holds for no label: what an absent structured selector means."""


def format_label_selector(selector: LabelSelector) -> str:
    """Return the text form, e.g. for the status of a scale subresource."""
    if selector == NOTHING:
        return ""
    return ",".join(str(requirement) for requirement in selector.requirements)


def parse_label_selector(text: str) -> LabelSelector:
    """Parse the text form, or refuse with 400."""
    if not text:
        return EVERYTHING
    return _selector(_LabelParser(text).requirements())


def label_selector_of(structured: JsonObject | None) -> LabelSelector:
    """Compile `matchLabels` and `matchExpressions`. An empty object selects everything, an absent one nothing."""
    if structured is None:
        return NOTHING
    requirements = [
        _requirement(key, "=", [value]) for key, value in dig_object(structured, "matchLabels").items()
    ]
    for expression in dig_list(structured, "matchExpressions"):
        operator = _structured_operator(expression.get("operator"))
        requirements.append(_requirement(expression.get("key", ""), operator, expression.get("values") or ()))
    return _selector(requirements)


_STRUCTURED_OPERATORS: Mapping[str, Operator] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
}


def _structured_operator(name: Any) -> Operator:
    operator = _STRUCTURED_OPERATORS.get(name)
    if operator is None:
        raise bad_request(f'"{name or ""}" is not a valid label selector operator')
    return operator


def _selector(requirements: Sequence[Requirement]) -> LabelSelector:
    return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def _requirement(key: str, operator: Operator, values: Sequence[str], prefix: str = "") -> Requirement:
    """Build a requirement after checking key, number of values and each value. `prefix` opens the message."""
    distinct = tuple(sorted(set(values)))
    errors = [*_key_errors("key", key), *_operand_errors(operator, distinct), *_value_errors(key, distinct)]
    if errors:
        raise _refusal(errors, prefix)
    return Requirement(key, operator, distinct)


def _refusal(errors: Sequence[FieldError], prefix: str) -> StatusError:
    listed = list(dict.fromkeys(str(error) for error in errors))
    text = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    return bad_request(f"{prefix}{text}")


def _key_errors(path: str, key: str) -> list[FieldError]:
    problems = label_key_problems(key)
    return [invalid_value(path, key, "; ".join(problems))] if problems else []


def _value_errors(key: str, values: Sequence[str]) -> list[FieldError]:
    return [
        invalid_value(f"values[{index}][{key}]", value, "; ".join(problems))
        for index, value in enumerate(values)
        if (problems := label_value_problems(value))
    ]


def _operand_errors(operator: Operator, values: tuple[str, ...]) -> list[FieldError]:
    match operator:
        case "in" | "notin" if not values:
            return [invalid_value("values", [], "for 'in', 'notin' operators, values set can't be empty")]
        case "exists" | "!" if values:
            detail = "values set must be empty for exists and does not exist"
            return [invalid_value("values", list(values), detail)]
        case "gt" | "lt" if _int64(values[0]) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            return [invalid_value("values[0]", values[0], detail)]
        case _:
            return []


_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)")
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">", ""})
_BINARY: Mapping[str, Operator] = {
    "in": "in",
    "notin": "notin",
    "=": "=",
    "==": "==",
    "!=": "!=",
    ">": "gt",
    "<": "lt",
}
_IN_REQUIREMENT = "unable to parse requirement: "


class _LabelParser:
    """Recursive descent over the tokens of one selector. The empty string stands for the end of the text.

    `in` and `notin` are operators after a key and ordinary words elsewhere, so the grammar decides, not the lexer.
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._position = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        if not self._at_requirement():
            self._expect("", "!, identifier, or 'end of string'")
            return found
        while True:
            found.append(self._requirement())
            separator = self._take()
            if separator == "":
                return found
            if separator != ",":
                raise bad_request(f"found '{separator}', expected: ',' or 'end of string'")
            if not self._at_requirement():
                raise bad_request(f"found '{self._peek()}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._take_word(_IN_REQUIREMENT)
        if errors := _key_errors("<nil>", key):
            raise _refusal(errors, _IN_REQUIREMENT)
        if negated:
            return Requirement(key, "!")
        if self._peek() in ("", ","):
            return Requirement(key, "exists")
        operator = self._operator()
        values = self._value_set() if operator in ("in", "notin") else [self._exact_value()]
        return _requirement(key, operator, values, _IN_REQUIREMENT)

    def _operator(self) -> Operator:
        token = self._take()
        operator = _BINARY.get(token)
        if operator is None:
            raise bad_request(f"{_IN_REQUIREMENT}found '{token}', expected: in, notin, =, ==, !=, gt, lt")
        return operator

    def _exact_value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        return self._take_word(_IN_REQUIREMENT)

    def _value_set(self) -> list[str]:
        """Read `(a,b)`. Between commas, or before the bracket closes, nothing means the empty value."""
        if (opening := self._take()) != "(":
            raise bad_request(f"{_IN_REQUIREMENT}found '{opening}' expected: '('")
        if self._peek() not in (",", ")") and not self._at_word():
            raise bad_request(f"{_IN_REQUIREMENT}found '{self._peek()}', expected: ',', ')' or identifier")
        values: list[str] = []
        while True:
            values.append(self._take() if self._at_word() else "")
            separator = self._take()
            if separator == ")":
                return values
            if separator != ",":
                raise bad_request(f"{_IN_REQUIREMENT}found '{separator}', expected: ',' or ')'")

    def _peek(self) -> str:
        return self._tokens[self._position]

    def _take(self) -> str:
        token = self._tokens[self._position]
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def _at_word(self) -> bool:
        return self._peek() not in _SYMBOLS

    def _at_requirement(self) -> bool:
        return self._peek() == "!" or self._at_word()

    def _take_word(self, prefix: str) -> str:
        if not self._at_word():
            raise bad_request(f"{prefix}found '{self._peek()}', expected: identifier")
        return self._take()

    def _expect(self, token: str, expected: str) -> None:
        if self._take() != token:
            raise bad_request(f"found '{self._tokens[0]}', expected: {expected}")


FieldOperator: TypeAlias = Literal["=", "!="]


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A conjunction of comparisons `(path, operator, value)`. A field that is absent counts as the empty string."""

    requirements: tuple[tuple[str, FieldOperator, str], ...] = ()

    @property
    def everything(self) -> bool:
        return not self.requirements

    def matches(self, lookup: Callable[[str], str]) -> bool:
        for path, operator, value in self.requirements:
            if (lookup(path) == value) != (operator == "="):
                return False
        return True

    def exact(self, path: str) -> str | None:
        """Return the one value that `path` must have, where the selector says so: a list becomes a lookup."""
        for candidate, operator, value in self.requirements:
            if candidate == path and operator == "=":
                return value
        return None


_FIELD_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_TERM = re.compile(r"((?:\\.|[^\\,]|\\\Z)*)(?:,|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.?)|[,=]", re.DOTALL)


def parse_field_selector(text: str) -> FieldSelector:
    """Parse a field selector, or refuse with 400. Which fields a kind supports is for its registry to say."""
    requirements: list[tuple[str, FieldOperator, str]] = []
    for term in sorted(_TERM.findall(text)):
        if not term:
            continue
        parts = _FIELD_TERM.fullmatch(term)
        if parts is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        path, operator, value = parts.groups()
        requirements.append((path, "!=" if operator == "!=" else "=", _ESCAPE.sub(_unescape, value)))
    return FieldSelector(tuple(requirements))


def _unescape(found: re.Match[str]) -> str:
    sequence = found.group()
    if sequence in (",", "="):
        raise bad_request(f"invalid field selector: unescaped character in value: {ord(sequence)}")
    escaped: str = found.group(1)
    if escaped not in ("\\", ",", "=") or not escaped:
        raise bad_request(f"invalid field selector: invalid escape sequence: {sequence}")
    return escaped
