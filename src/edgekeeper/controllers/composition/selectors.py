"""Label selectors as Kubernetes reads them, and who waits for which objects of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import Key, Kind


def matches(selector: JsonObject, labels: Mapping[str, Any]) -> bool:
    """Whether labels fit a selector. An empty selector fits all; an operator that is not known fits none."""
    wanted = dig_object(selector, "matchLabels")
    if any(labels.get(name) != value for name, value in wanted.items()):
        return False
    return all(_fits(expression, labels) for expression in dig_list(selector, "matchExpressions"))


def _fits(expression: Any, labels: Mapping[str, Any]) -> bool:
    name, values = str(dig(expression, "key")), dig_list(expression, "values")
    match dig(expression, "operator"):
        case "In":
            return labels.get(name) in values
        case "NotIn":
            return labels.get(name) not in values
        case "Exists":
            return name in labels
        case "DoesNotExist":
            return name not in labels
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Interest:
    """Objects of others that an instance refers to: one by its name, or all that a selector matches."""

    kind: Kind
    namespace: str
    name: str = ""
    selector: bytes = b""
    """As JSON, where there is no name."""

    @classmethod
    def in_matching(cls, kind: Kind, namespace: str, selector: JsonObject) -> Interest:
        return cls(kind, namespace, selector=msgspec.json.encode(selector, order="sorted"))

    def concerns(self, key: Key, labels: Iterable[Mapping[str, Any]]) -> bool:
        """Whether a change of an object matters, that has or had these labels."""
        if self.name:
            return key == Key(self.namespace, self.name)
        selector = msgspec.json.decode(self.selector)
        return self.namespace in ("", key.namespace) and any(matches(selector, each) for each in labels)
