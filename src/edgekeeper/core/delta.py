"""Compares desired and observed JSON, and returns the differences with readable paths.

    RULES = Rules(
        {
            "domains": Rule(unordered=True, ignore_case=True),
            "parameters": Rule(key="name", absent=[]),
            "enabled": Rule(absent=True),
            "connectionGroupId": Rule(subset=True),
            "etag": Rule(ignored=True),
        }
    )
    describe(compare(desired, observed, RULES))
    # domains[example.com] added; parameters[tier].value: "silver" → "gold"

Clouds return lists in any order, fill in defaults and change the case of names. A comparison that ignores this reports
drift, and causes writes, in every pass; so a kind declares rules by path. Without a rule values are equal when they are
equal as JSON, lists are compared in order, and null is the same as absent.

Paths in rules have the same syntax as in differences (see `paths`), and `*` matches any field or item: `rules[*].host`.
An exact step takes precedence over a star.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.paths import field_path, item_path, parse_path
from edgekeeper.core.redaction import REDACTED, hide, is_secret_key, redact, secret_fields


class Absence(Enum):
    """The type of ABSENT, the placeholder for a missing value."""

    ABSENT = "absent"


ABSENT: Final = Absence.ABSENT


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that differs between desired and observed."""

    path: str
    before: Any
    """As observed, or ABSENT."""
    after: Any
    """As desired, or ABSENT."""
    secret: bool = False
    """Whether fields beside it tell that it is a secret, as the name of an environment variable does. The path may, too."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How the values at a path are compared."""

    ignored: bool = False
    """Never compared, because the cloud sets it."""
    unordered: bool = False
    """A list that is a set: order and repetition are ignored."""
    key: str | tuple[str, ...] = ()
    """A list of objects in any order, identified by the field at this path, or by several together."""
    absent: Any = ABSENT
    """The default of a missing value, on either side."""
    subset: bool | None = None
    """Compare only what desired contains: further fields, set members and keyed items are ignored. Applies to everything
    below, too, unless a rule there overrides it. A default, `absent`, counts as contained in desired."""
    ignore_case: bool | None = None
    """Strings that differ in case only are equal. Applies to everything below, too, unless a rule there overrides it."""


_PLAIN: Final = Rule()


@dataclass(slots=True)
class _Node:
    """A node in the tree of rule paths."""

    rule: Rule | None = None
    steps: dict[str, _Node] = field(default_factory=dict)


class Rules:
    """Rules by path, as a tree. The empty path is the root."""

    def __init__(self, by_path: Mapping[str, Rule] | None = None) -> None:
        self.root = _Node()
        for path, rule in (by_path or {}).items():
            node = self.root
            for step in parse_path(path):
                node = node.steps.setdefault(step, _Node())
            node.rule = rule


NO_RULES: Final = Rules()


def compare(desired: Any, observed: Any, rules: Rules = NO_RULES) -> tuple[Difference, ...]:
    """All differences between two JSON trees: first in the order of desired, then what only observed contains."""
    return tuple(_compare(_present(desired), _present(observed), _Place(None, "", (rules.root,))))


class _Place:
    """A position in the trees, with the rule that applies there. Its path is built for differences only."""

    __slots__ = ("above", "ignore_case", "in_list", "nodes", "rule", "secret", "step", "subset")

    def __init__(
        self, above: _Place | None, step: str, nodes: tuple[_Node, ...], in_list: bool = False
    ) -> None:
        self.above, self.step, self.nodes, self.in_list = above, step, nodes, in_list
        self.secret: bool = above is not None and above.secret
        rule = next((node.rule for node in nodes if node.rule is not None), _PLAIN) if nodes else _PLAIN
        self.rule = rule
        self.subset: bool = (above is not None and above.subset) if rule.subset is None else rule.subset
        inherited = above is not None and above.ignore_case
        self.ignore_case: bool = inherited if rule.ignore_case is None else rule.ignore_case

    def below(self, step: str, *, in_list: bool) -> _Place:
        """The position of a field or item. The rule paths that lead there are sorted by precedence."""
        nodes = tuple(node.steps[key] for node in self.nodes for key in (step, "*") if key in node.steps)
        return _Place(self, step, nodes, in_list)

    @property
    def path(self) -> str:
        if self.above is None:
            return ""
        return (item_path if self.in_list else field_path)(self.above.path, self.step)


def _compare(desired: Any, observed: Any, place: _Place) -> Iterator[Difference]:
    rule = place.rule
    if rule.ignored:
        return
    desired = rule.absent if desired is ABSENT else desired
    observed = rule.absent if observed is ABSENT else observed
    if desired is ABSENT and place.subset:
        return
    if isinstance(desired, dict) and isinstance(observed, dict):
        yield from _compare_objects(desired, observed, place)
    elif isinstance(desired, list | tuple) and isinstance(observed, list | tuple):
        yield from _compare_lists(desired, observed, place)
    elif not _equal(desired, observed, place.ignore_case):
        yield Difference(place.path, before=observed, after=desired, secret=place.secret)


def _compare_objects(desired: JsonObject, observed: JsonObject, place: _Place) -> Iterator[Difference]:
    hidden = (*secret_fields(desired), *secret_fields(observed))
    for name in dict.fromkeys((*desired, *observed)):
        value, other = _present(desired.get(name)), _present(observed.get(name))
        if isinstance(value, str) and value == other:
            continue  # equal strings are equal under any rule
        field_place = place.below(name, in_list=False)
        field_place.secret = field_place.secret or name in hidden
        yield from _compare(value, other, field_place)


def _compare_lists(desired: Iterable[Any], observed: Iterable[Any], place: _Place) -> Iterator[Difference]:
    """Pair the items of both lists by their identity, and compare the pairs."""
    label = _labels(place)
    desired_items, observed_items = dict(label(desired)), dict(label(observed))
    ordered = not (place.rule.key or place.rule.unordered)
    for identity in dict.fromkeys((*desired_items, *observed_items)):
        name, value = desired_items.get(identity, _NO_ITEM)
        other_name, other = observed_items.get(identity, _NO_ITEM)
        item = place.below(name or other_name, in_list=True)
        if value is ABSENT and ordered and not item.rule.ignored:
            # `subset` does not apply to ordered lists.
            yield Difference(item.path, before=other, after=ABSENT, secret=item.secret)
        else:
            yield from _compare(value, other, item)


_Labelled: TypeAlias = Iterator[tuple[str, tuple[str, Any]]]
"""Items by identity, each with its name in paths."""

_NO_ITEM: Final = ("", ABSENT)


def _labels(place: _Place) -> Callable[[Iterable[Any]], _Labelled]:
    if place.rule.key:
        return lambda items: _by_key(items, place)
    if place.rule.unordered:
        return lambda items: ((_canonical(item, place.ignore_case), (_name_of(item), item)) for item in items)
    return lambda items: ((str(number), (str(number), item)) for number, item in enumerate(items))


def _by_key(items: Iterable[Any], place: _Place) -> _Labelled:
    """Identify items by key. An item without the key is identified by its whole content; duplicates are numbered."""
    keys = place.rule.key
    paths = [parse_path(key) for key in ((keys,) if isinstance(keys, str) else keys)]
    seen: Counter[str] = Counter()
    for item in items:
        parts = [dig(item, *path) for path in paths]
        if any(part is None for part in parts):
            parts = [item]
        identity = _canonical(parts, place.ignore_case)
        seen[identity] += 1
        name = "/".join(map(_name_of, parts))
        again = seen[identity]
        yield f"{identity} {again}", (f"{name} #{again}" if again > 1 else name, item)


def _present(value: Any) -> Any:
    return ABSENT if value is None else value


def _equal(left: Any, right: Any, ignore_case: bool) -> bool:
    if isinstance(left, str) and isinstance(right, str) and ignore_case:
        return left.casefold() == right.casefold()
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right  # True == 1 in Python, but not in JSON
    return bool(left == right)


def _canonical(value: Any, ignore_case: bool) -> str:
    """A string that is equal for equal JSON."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = f'"{value}"' if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return text.casefold() if ignore_case else text


def _name_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


class ChangedField(msgspec.Struct, frozen=True, omit_defaults=True):
    """A difference as it is shown: values as JSON, redacted and cut. A side that is absent is left out."""

    path: str
    before: str | None = None
    after: str | None = None


def changed_fields(differences: Iterable[Difference], most: int) -> list[ChangedField]:
    """The first differences for display."""
    return [
        ChangedField(one.path, _shown_side(one, one.before), _shown_side(one, one.after))
        for one in islice(differences, most)
    ]


def _shown_side(difference: Difference, value: Any) -> str | None:
    return None if value is ABSENT else shown_value(difference, value)


LONGEST_VALUE = 120
"""The maximum number of characters of a value that are shown."""


def describe(differences: Iterable[Difference], most: int = 10) -> str:
    """The differences in one line, for conditions and events."""
    sentences = [_sentence(difference) for difference in differences]
    rest = len(sentences) - most
    return "; ".join([*sentences[:most], f"and {rest} more"] if rest > 0 else sentences)


def diff(differences: Iterable[Difference]) -> str:
    """The differences as lines that begin with - for observed and + for desired values."""
    return "\n".join(line for difference in differences for line in _diff_lines(difference))


def _sentence(difference: Difference) -> str:
    before, after = shown_value(difference, difference.before), shown_value(difference, difference.after)
    if difference.before is ABSENT:
        return f"{difference.path} added" + _unless_in_path(difference, after)
    if difference.after is ABSENT:
        return f"{difference.path} removed" + _unless_in_path(difference, before)
    return f"{difference.path or 'all'}: {before} → {after}"


def _diff_lines(difference: Difference) -> Iterator[str]:
    for sign, value in (("-", difference.before), ("+", difference.after)):
        if value is not ABSENT:
            yield f"{sign} {difference.path}{_unless_in_path(difference, shown_value(difference, value))}"


def _unless_in_path(difference: Difference, shown: str) -> str:
    """The value after a colon; empty if the path ends with it, as it does for the members of sets."""
    endings = f"[{shown}]", f"[{shown.strip(chr(34))}]"
    return "" if difference.path.endswith(endings) else f": {shown}"


def redacted_value(difference: Difference, value: Any) -> Any:
    """A value of a difference without secrets. Numbers and booleans are none."""
    is_secret = difference.secret or any(is_secret_key(step) for step in parse_path(difference.path))
    return hide(value) if is_secret else redact(value)


def shown_value(difference: Difference, value: Any) -> str:
    """A value of a difference as JSON, redacted and cut."""
    shown = redacted_value(difference, value)
    if shown == REDACTED:
        return REDACTED
    text = json.dumps(shown, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
