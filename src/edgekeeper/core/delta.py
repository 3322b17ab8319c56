"""What differs between desired and observed, each difference with a path that people can read.

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

Clouds return lists in any order, fill in defaults and change the case of names. A comparison that does not know this
sees drift for ever and writes for ever, so a kind declares it, once, as rules by path. Without a rule values are equal
when they are equal as JSON, lists are compared in order, and null is the same as absent.

Paths in rules read as they do in differences (see `paths`), and `*` stands for any field or item: `rules[*].host`. An
exact step is stronger than a star.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.paths import field_path, item_path, parse_path
from edgekeeper.core.redaction import REDACTED, is_secret_key, redact


class Absence(Enum):
    """The type of ABSENT, which stands where there is no value."""

    ABSENT = "absent"


ABSENT: Final = Absence.ABSENT


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where what is observed is not what is desired."""

    path: str
    before: Any
    """As observed, or ABSENT."""
    after: Any
    """As desired, or ABSENT."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How the values at a path are compared."""

    ignored: bool = False
    """Never compared: the other side's own business."""
    unordered: bool = False
    """A list that is a set: neither order nor repetition counts."""
    key: str | tuple[str, ...] = ()
    """A list of objects in any order, told apart by the field at this path, or by several together."""
    absent: Any = ABSENT
    """What it means that there is no value, on either side."""
    subset: bool | None = None
    """Only what desired has is compared: fields, set members and keyed items beyond it are left alone. Holds for all
    below, too, until a rule there says otherwise. A default, `absent`, counts as something that desired has."""
    ignore_case: bool | None = None
    """Texts that differ in case only are equal. Holds for all below, too."""


_PLAIN: Final = Rule()


@dataclass(slots=True)
class _Node:
    """A step of the paths that have rules."""

    rule: Rule | None = None
    steps: dict[str, _Node] = field(default_factory=dict)


class Rules:
    """Rules by path, ready for use. The empty path is the tree itself."""

    def __init__(self, by_path: Mapping[str, Rule] | None = None) -> None:
        self.root = _Node()
        for path, rule in (by_path or {}).items():
            node = self.root
            for step in parse_path(path):
                node = node.steps.setdefault(step, _Node())
            node.rule = rule


NO_RULES: Final = Rules()


def compare(desired: Any, observed: Any, rules: Rules = NO_RULES) -> tuple[Difference, ...]:
    """All differences between two JSON trees, in the order of desired, then of what only observed has."""
    return tuple(_compare(_present(desired), _present(observed), _Place(None, "", (rules.root,))))


class _Place:
    """Where in the trees a comparison is, and what applies there. Its path is only spelled out for differences."""

    __slots__ = ("above", "ignore_case", "in_list", "nodes", "rule", "step", "subset")

    def __init__(
        self, above: _Place | None, step: str, nodes: tuple[_Node, ...], in_list: bool = False
    ) -> None:
        self.above, self.step, self.nodes, self.in_list = above, step, nodes, in_list
        rule = next((node.rule for node in nodes if node.rule is not None), _PLAIN) if nodes else _PLAIN
        self.rule = rule
        self.subset: bool = (above is not None and above.subset) if rule.subset is None else rule.subset
        inherited = above is not None and above.ignore_case
        self.ignore_case: bool = inherited if rule.ignore_case is None else rule.ignore_case

    def below(self, step: str, *, in_list: bool) -> _Place:
        """The place of a field or item. Of the rule paths that lead there the strongest comes first."""
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
        yield Difference(place.path, before=observed, after=desired)


def _compare_objects(desired: JsonObject, observed: JsonObject, place: _Place) -> Iterator[Difference]:
    for name in dict.fromkeys((*desired, *observed)):
        value, other = _present(desired.get(name)), _present(observed.get(name))
        if not (isinstance(value, str) and value == other):  # equal texts are equal under any rule
            yield from _compare(value, other, place.below(name, in_list=False))


def _compare_lists(desired: Iterable[Any], observed: Iterable[Any], place: _Place) -> Iterator[Difference]:
    """Pair the items of both lists by what tells them apart, and compare the pairs."""
    label = _labels(place)
    wanted, found = dict(label(desired)), dict(label(observed))
    ordered = not (place.rule.key or place.rule.unordered)
    for identity in dict.fromkeys((*wanted, *found)):
        name, value = wanted.get(identity, _NO_ITEM)
        other_name, other = found.get(identity, _NO_ITEM)
        item = place.below(name or other_name, in_list=True)
        if value is ABSENT and ordered and not item.rule.ignored:
            yield Difference(item.path, before=other, after=ABSENT)  # a list in order has no subset
        else:
            yield from _compare(value, other, item)


_Labelled: TypeAlias = Iterator[tuple[str, tuple[str, Any]]]
"""Items by what tells them apart, each with its name in paths."""

_NO_ITEM: Final = ("", ABSENT)


def _labels(place: _Place) -> Callable[[Iterable[Any]], _Labelled]:
    if place.rule.key:
        return lambda items: _by_key(items, place)
    if place.rule.unordered:
        return lambda items: ((_canonical(one, place.ignore_case), (_name_of(one), one)) for one in items)
    return lambda items: ((str(number), (str(number), one)) for number, one in enumerate(items))


def _by_key(items: Iterable[Any], place: _Place) -> _Labelled:
    """An item without the key is told by all that it has; items with the same key are numbered."""
    key = place.rule.key
    paths = [parse_path(one) for one in ((key,) if isinstance(key, str) else key)]
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


def _equal(one: Any, other: Any, ignore_case: bool) -> bool:
    if isinstance(one, str) and isinstance(other, str) and ignore_case:
        return one.casefold() == other.casefold()
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other  # Python holds that True is 1; JSON does not
    return bool(one == other)


def _canonical(value: Any, ignore_case: bool) -> str:
    """A text that is the same for the same JSON."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = f'"{value}"' if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return text.casefold() if ignore_case else text


def _name_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


LONGEST_VALUE = 120
"""Characters of a value that are shown."""


def describe(differences: Iterable[Difference], most: int = 10) -> str:
    """The differences in one line, as conditions and events tell them."""
    told = [_sentence(one) for one in differences]
    rest = len(told) - most
    return "; ".join([*told[:most], f"and {rest} more"] if rest > 0 else told)


def diff(differences: Iterable[Difference]) -> str:
    """The differences as lines that begin with - for what is and + for what shall be."""
    return "\n".join(line for one in differences for line in _diff_lines(one))


def _sentence(difference: Difference) -> str:
    before, after = _shown(difference, difference.before), _shown(difference, difference.after)
    if difference.before is ABSENT:
        return f"{difference.path} added" + _unless_said(difference, after)
    if difference.after is ABSENT:
        return f"{difference.path} removed" + _unless_said(difference, before)
    return f"{difference.path or 'all'}: {before} → {after}"


def _diff_lines(difference: Difference) -> Iterator[str]:
    for sign, value in (("-", difference.before), ("+", difference.after)):
        if value is not ABSENT:
            yield f"{sign} {difference.path}{_unless_said(difference, _shown(difference, value))}"


def _unless_said(difference: Difference, shown: str) -> str:
    """The value, unless the path ends with it, as it does for the members of sets."""
    said = f"[{shown}]", f"[{shown.strip(chr(34))}]"
    return "" if difference.path.endswith(said) else f": {shown}"


def _shown(difference: Difference, value: Any) -> str:
    if any(is_secret_key(step) for step in parse_path(difference.path)):
        return REDACTED
    text = json.dumps(redact(value), ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
