"""Static costs. The figures in the tables are those of kube-apiserver 1.36 for the same schema and rules."""

from __future__ import annotations

from typing import Any

import pytest

from kubecel.checker import CheckOptions, Declarations, FunctionTable
from kubecel.estimate import estimate
from kubecel.functions import Overload
from kubecel.schema import Declaration, declare
from kubecel.sizes import NOTHING, ONE, UNKNOWN, CallEstimate, Estimate, Operands, exactly
from kubecel.types import BOOL, DYN, STRING, list_of
from packages.kubecel.tests.declared import checked, declarations


def string(**limits: Any) -> dict[str, Any]:
    return {"type": "string", **limits}


SCHEMA = {
    "type": "object",
    "properties": {
        "name": string(maxLength=20),
        "free": string(),
        "size": string(enum=["small", "large"]),
        "data": string(format="byte", maxLength=100),
        "when": string(format="date-time"),
        "number": {"type": "integer"},
        "flag": {"type": "boolean"},
        "target": {"x-kubernetes-int-or-string": True},
        "ports": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "type": "object",
                "properties": {
                    "name": string(maxLength=5),
                    "port": {"type": "integer"},
                    "tags": {"type": "array", "items": string(maxLength=7)},
                },
            },
        },
        "list": {"type": "array", "items": string()},
        "labels": {"type": "object", "maxProperties": 6, "additionalProperties": string(maxLength=9)},
        "namespace": string(maxLength=63),
    },
}


def resource() -> Declaration:
    found = declare(SCHEMA, "self", resource=True)
    assert found is not None
    return found


RESOURCE = resource()
KNOWN = declarations(
    {"self": RESOURCE.type, "oldSelf": RESOURCE.type}, CheckOptions(cross_type_comparisons=True)
)


def cost(rule: str) -> Estimate:
    return estimate(checked(rule, KNOWN), RESOURCE.size_at, presence_test_cost=NOTHING)


@pytest.mark.parametrize(
    ("rule", "most"),
    [
        ("true", 0),
        ("self.flag", 2),
        ("has(self.name)", 1),
        ("self.number > 1", 3),
        ("self.name == 'abc'", 3),
        ("self.name != self.free", 12),
        ("self.free == self.free", 314_577),
        ("self.name < self.free", 12),
        ("self.size == 'small'", 3),
        ("self.namespace == 'default'", 3),
        ("self.__namespace__ == 'default'", 3),
        ("self.name.startsWith('ab')", 3),
        ("self.name.contains(self.free)", 2_516_588),
        ("self.free.matches('^a+$')", 314_575),
        ("self.name + self.free == 'a'", 314_586),
        ("self.flag && self.name == 'abc'", 5),
        ("self.flag || self.name == 'abc'", 5),
        ("(self.flag ? self.name : self.free) == 'x'", 5),
        ("'a' in self.list", 1_048_577),
        ("size(self.list) < 10", 4),
        ("string(self.data) == 'abc'", 13),
        ("bytes(self.name) == b'abc'", 11),
        ("self.when > timestamp('2020-01-01T00:00:00Z')", 4),
        ("dyn(self.name) == 'abc'", 4),
        ("self.target == 'abc'", 3),
        ("self.list == self.list", 104_862),
        ("self.?name.orValue('x') == 'x'", 4),
        ("optional.of(self.number).optMap(n, n + 1).orValue(0) == 1", 23),
        ("self.metadata.name == 'abc'", 4),
        ("oldSelf.name == self.name", 12),
        ("self.labels['a'] == 'abc'", 4),
        ("self.ports[0].name == 'abc'", 5),
        ("{'a': self.name}.a == 'x'", 33),
    ],
)
def test_rule_costs_at_most_what_an_api_server_says(rule: str, most: int) -> None:
    assert cost(rule).max == most


@pytest.mark.parametrize(
    ("rule", "most"),
    [
        ("self.list.all(x, x == 'abc')", 5_242_878),
        ("self.ports.all(p, p.name == 'abc')", 63),
        ("self.ports.exists(p, p.port > 1 && p.port < 10)", 103),
        ("self.ports.map(p, p.name).all(n, n == 'abc')", 194),
        ("self.ports.filter(p, p.port > 1).size() == 2", 175),
        ("self.labels.all(k, k == 'abc')", 27),
        ("self.labels.all(k, v, v == 'abc')", 33),
        ("['a', 'b'].exists(x, x == self.name)", 25),
        ("self.labels.transformMap(k, v, v + 'a') == self.labels", 84),
        ("self.ports.exists(p, p.tags.all(t, t == p.name))", 1_673),
    ],
)
def test_loop_costs_as_often_as_its_range_is_long(rule: str, most: int) -> None:
    assert cost(rule).max == most


def test_alternatives_cost_at_least_the_cheaper_one() -> None:
    assert cost("self.flag && self.free.contains(self.free)").min == 2
    assert cost("self.flag ? self.number > 1 : self.free == self.free").min == 5


def test_presence_tests_cost_what_the_caller_says() -> None:
    result = checked("has(self.name)", KNOWN)
    assert estimate(result, RESOURCE.size_at) == exactly(2)
    assert estimate(result, RESOURCE.size_at, presence_test_cost=NOTHING) == exactly(1)


def test_selection_from_dynamic_values_is_free() -> None:
    result = checked("any.a.b", declarations({"any": DYN}))
    assert estimate(result, lambda _: None) == exactly(1)


def test_name_with_a_dot_is_one_access() -> None:
    result = checked("pkg.version", declarations({"pkg.version": STRING}))
    assert estimate(result, lambda _: None) == exactly(1)


def test_bound_name_has_the_size_of_its_value() -> None:
    # One empty list, the value once, two names, and a comparison of 80 characters with as many.
    assert cost("cel.bind(n, self.name, n == n)").max == 10 + 2 + 2 + 8


def test_unknown_size_makes_the_cost_unknown() -> None:
    result = checked("text.contains(text)", declarations({"text": STRING}))
    assert estimate(result, lambda _: None).max > 2**62


def test_sizes_are_asked_by_path() -> None:
    asked: set[tuple[str, ...]] = set()

    def sizes(path: Any) -> None:
        asked.add(tuple(path))

    estimate(checked("self.ports.all(p, p.tags[0] == self.labels['a'])", KNOWN), sizes)
    assert ("self", "ports", "@items", "tags", "@items") in asked
    assert ("self", "labels", "@values") in asked


def called_with(rule: str, *, declared: Overload) -> Estimate:
    known = Declarations(FunctionTable({"f": [declared]}), {"self": RESOURCE.type, "words": list_of(STRING)})
    return estimate(checked(rule, known), RESOURCE.size_at)


def overload(estimate_rule: Any, *, member: bool = False) -> Overload:
    return Overload("f", (list_of(STRING),), BOOL, lambda *_: True, member=member, estimate=estimate_rule)


def test_library_says_what_its_functions_cost() -> None:
    def rule(operands: Operands) -> CallEstimate:
        assert operands[0].type == list_of(STRING)
        return CallEstimate(operands[0].size * exactly(7))

    assert called_with("f(['a', 'b'])", declared=overload(rule)) == exactly(14 + 10)


def test_library_sees_elements_and_literals() -> None:
    seen: list[object] = []

    def rule(operands: Operands) -> None:
        receiver = operands[0]
        element = receiver.element
        assert element is not None
        seen.extend([element.type, element.size.max, element.known_size, receiver.literal, element.element])

    # `self`, its field, and one for the call, about which the rule has nothing to say.
    assert called_with("self.list.f()", declared=overload(rule, member=True)) == exactly(3)
    assert seen == [STRING, 3_145_726, Estimate(0, 3_145_726), None, None]


def test_element_off_the_schema_has_an_unknown_size() -> None:
    seen: list[object] = []

    def rule(operands: Operands) -> CallEstimate:
        element = operands[0].element
        assert element is not None
        seen.extend([element.size, element.known_size])
        return CallEstimate(ONE)

    called_with("f(['a'])", declared=overload(rule))
    assert seen == [UNKNOWN, None]
