"""The public DNS, as certificate authorities and CloudFront see it: what names point to.

Answers come from the hosted zones of all accounts, and from records that a scenario publishes elsewhere (at another
provider). Among zones whose names enclose a name the longest answers; of two zones with one name, whichever has the
record, since there is no registrar here that would have delegated to only one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Protocol

_LONGEST_CHAIN = 8


class ZoneAnswers(Protocol):
    """What a hosted zone says about a name. Names are in lower case and end with a dot."""

    @property
    def name(self) -> str: ...

    def target(self, name: str) -> str | None:
        """Where a CNAME or an alias leads."""

    def texts(self, name: str) -> list[str]:
        """The values of its TXT records, without quotes."""


def absolute(name: str) -> str:
    """A name in the one spelling that is compared: lower case, with its final dot."""
    lower = name.lower()
    return lower if lower.endswith(".") else f"{lower}."


def parents(name: str) -> Iterator[str]:
    """The name itself and everything that encloses it, nearest first."""
    while name:
        yield name
        name = name.partition(".")[2]


class PublicDns:
    """Names and where they lead."""

    def __init__(self) -> None:
        self._zones: defaultdict[str, list[ZoneAnswers]] = defaultdict(list)
        self.elsewhere: dict[str, str] = {}
        """Where names lead that no hosted zone answers for."""
        self._watchers: list[Callable[[], None]] = []

    def watch(self, changed: Callable[[], None]) -> None:
        """Have somebody told after every change."""
        self._watchers.append(changed)

    def changed(self) -> None:
        for watcher in self._watchers:
            watcher()

    def add_zone(self, zone: ZoneAnswers) -> None:
        self._zones[zone.name].append(zone)

    def remove_zone(self, zone: ZoneAnswers) -> None:
        self._zones[zone.name].remove(zone)
        self.changed()

    def publish(self, name: str, target: str | None) -> None:
        """Let a name that no hosted zone answers for point somewhere, or nowhere any more."""
        self.elsewhere.pop(absolute(name), None)
        if target is not None:
            self.elsewhere[absolute(name)] = absolute(target)
        self.changed()

    def target(self, name: str) -> str | None:
        for zone in self._enclosing(name):
            found = zone.target(name)
            if found is not None:
                return found
        return self.elsewhere.get(name)

    def texts(self, name: str) -> list[str]:
        return [text for zone in self._enclosing(absolute(name)) for text in zone.texts(absolute(name))]

    def chain(self, name: str) -> list[str]:
        """Where a name leads, step by step. Loops end."""
        steps: list[str] = []
        current = self.target(absolute(name))
        while current is not None and current not in steps and len(steps) < _LONGEST_CHAIN:
            steps.append(current)
            current = self.target(current)
        return steps

    def leads_to(self, name: str, target: str) -> bool:
        return absolute(target) in self.chain(name)

    def _enclosing(self, name: str) -> list[ZoneAnswers]:
        for parent in parents(name):
            if self._zones.get(parent):
                return self._zones[parent]
        return []
