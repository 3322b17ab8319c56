"""Expressions written to hang or to exhaust a process, against everything that environments offer.

Each ends in an error of the language or in a value, within a bound of processor time that is generous: what takes
longest spends its whole budget (a part of the usual one, to be quick), which is less than a second. What the environments
share is tried in one of them; what the language alone can do is in `test_limits`.
"""

from __future__ import annotations

import time
from typing import Any, Final

import pytest

from kubecel.display import as_json
from kubecel.environment import Environment
from kubecel.environments import kro, kubernetes
from kubecel.errors import CelError
from kubecel.limits import DEFAULT_BUDGET
from kubecel.types import DYN

BUDGET: Final = DEFAULT_BUDGET // 4
SECONDS: Final = 5.0
DATA: Final[dict[str, Any]] = {
    "big": list(range(10_000)),
    "text": "a" * 100_000,
    "lists": [[number % 7] * 100 for number in range(100)],
    "table": {f"key{number}": {"a": [number]} for number in range(1_000)},
}


def chain(length: int, seed: str, link: str, result: str = "{}") -> str:
    """Names, each bound to something made of the one before."""
    text = result.format(f"a{length}")
    for number in range(length, 0, -1):
        text = f"cel.bind(a{number}, {link.format(f'a{number - 1}')}, {text})"
    return f"cel.bind(a0, {seed}, {text})"


def repeated(text: str, times: int, middle: str, closing: str = "") -> str:
    return text * times + middle + closing * times


IN_KRO: Final = {
    # comprehensions
    "nested loops": repeated("lists.range(1000).all(a, ", 6, "true", ")"),
    "nested loops with two variables": repeated("big.exists(i, v, ", 5, "false", ")"),
    "nested lists": repeated("lists.range(100).map(a, ", 8, "a", ")"),
    "nested maps": repeated("table.transformMap(k, v, ", 4, "k", ")"),
    "macros of macros": repeated("[1].map(a, [a].filter(b, ", 50, "true", "))"),
    "one macro in another's range": "[1]" + ".map(a, [a, a])" * 100,
    # growth
    "list that grows": " + ".join(["big"] * 200),
    "list in a loop": "big.map(a, big + big).size()",
    "flattened lists": "big.map(a, big).flatten().size()",
    "text that grows": " + ".join(["text"] * 200),
    "text in a loop": "big.map(a, text + text).size()",
    "replaced by more": "text" + ".replace('a', 'aaaaaaaaaa')" * 20,
    "replaced nothing": "text.replace('', text).replace('', text)",
    "joined": "big.map(a, text).join(text).size()",
    "split": "text.split('').map(a, text.split('')).size()",
    "range without end": "lists.range(9223372036854775807).size()",
    "range that is too large": "lists.range(100000000).size()",
    "precision without end": "'%.999999999f'.format([1.0])",
    "padding without end": "'%99999999999d'.format([1])",
    "formatted data": "'%s %s %s'.format([table, table, table]).size() + '%s'.format([lists]).size()",
    "many verbs": "big.map(a, '%s%s%s'.format([text, text, text])).size()",
    "quoted": "big.map(a, strings.quote(text)).size()",
    # searches and comparisons
    "search that fails late": "big.exists(a, text.indexOf(text + 'b') > 0)",
    "search from the end": "big.exists(a, text.lastIndexOf('b' + text) > 0)",
    "every list with every other": "lists.exists(a, lists.exists(b, a == [] || b == []))",
    "list in lists": "big.all(a, lists in [lists])",
    "sorted again and again": "big.map(a, big.sort()).size()",
    "sorted by lists": "big.sortBy(a, string(a) + text).size()",
    "distinct lists": "lists.map(a, lists).flatten().distinct().size()",
    "sum of sums": "big.map(a, big.sum()).sum()",
    # patterns
    "quantifier of a quantifier": "text.matches('(a+)+$') || (text + 'b').matches('(a*)*c')",
    "alternatives": "(text + 'b').matches('(a|aa|aaa)+$')",
    "dots": "text.matches('" + ".*" * 500 + "b')",
    "counted": "text.matches('((a{100}){100}){100}')",
    "pattern of patterns": "text.matches('" + "(a?){1000}" * 50 + "')",
    "pattern as long as the text": "big.exists(a, text.matches(text))",
    "deep pattern": "text.matches('" + repeated("(", 5_000, "a", ")") + "')",
    "all matches of nothing": "big.map(a, text.findAll('')).size()",
    "unicode classes": "text.matches('" + "\\\\pL{1,50}" * 20 + "x')",
    # numbers
    "digits of an int": "int('" + "9" * 90_000 + "')",
    "digits of a double": "double('" + "9" * 90_000 + "')",
    "digits of a duration": "duration('" + "9" * 90_000 + "s')",
    "digits of a timestamp": "timestamp('2026-01-01T00:00:00." + "9" * 90_000 + "Z')",
    "literal of digits": "9" * 90_000,
    "literal of hexadecimal digits": "0x" + "f" * 90_000,
    "literal of decimals": "0." + "9" * 90_000,
    "exponent of a literal": "1e" + "9" * 90_000,
    "exponent of a quantity": "quantity('1e999999999').add(quantity('1e-999999999'))",
    "small exponent of a quantity": "quantity('1e-999999999').asApproximateFloat()",
    "digits of a quantity": "quantity('" + "9" * 90_000 + "').add(quantity('1')).asInteger()",
    "quantities in a loop": "big.map(a, quantity('9' + string(a) + 'E').add(quantity('1m'))).size()",
    "digits of a version": "semver('" + "9" * 90_000 + ".0.0')",
    "labels of a version": "isSemver('1.0.0-" + "a." * 40_000 + "a')",
    "length of an address": "isIP('" + "1:" * 40_000 + "')",
    "length of a network": "isCIDR('" + "1." * 40_000 + "/8')",
    "length of a url": "url('https://a/?" + "q=1&" * 20_000 + "').getQuery().size()",
    # texts
    "brackets": repeated("(", 40_000, "1", ")"),
    "brackets of lists": repeated("[", 40_000, "1", "]"),
    "brackets that stay open": "[{(" * 30_000,
    "negations": "!" * 90_000 + "true",
    "minus signs": "-" * 90_000 + "1",
    "sums": " + ".join("1" * 20_000),
    "junctions": " || ".join(["big[0] == 1"] * 5_000),
    "conditions": "true ? 1 : " * 9_000 + "1",
    "fields": "big" + ".a" * 40_000,
    "indices": "big" + "[0]" * 30_000,
    "methods": "text" + ".trim()" * 10_000,
    "list literal": "[" + "1," * 45_000 + "1]",
    "map literal": "{" + ",".join(f"{number}:1" for number in range(12_000)) + "}",
    "text literal": "'" + "a" * 99_000 + "'",
    "escapes": "'" + "\\u00e9" * 16_000 + "'",
    "bytes literal": "b'" + "\\xff" * 24_000 + "'",
    "comments": "//\n" * 30_000 + "1",
    "space": " " * 99_000 + "1",
    "longer than allowed": "1" + " " * 200_000,
    # what only compositions have
    "shared lists, flattened": chain(60, "[1]", "[{0}, {0}]", "{0}.flatten(100).size()"),
    "shared lists, in JSON": chain(60, "[1]", "[{0}, {0}]", "json.marshal({0}).size()"),
    "shared lists, formatted": chain(60, "[1]", "[{0}, {0}]", "'%s'.format([{0}])"),
    "shared lists, distinct": chain(60, "[1]", "[{0}, {0}]", "[{0}, {0}].distinct()"),
    "shared maps, merged": chain(60, "{'x': 1}", "{{'a': {0}, 'b': {0}}}", "deepMerge({0}, {0}).size()"),
    "encoded again and again": chain(90, "b'aaa'", "bytes(base64.encode({0}))", "{0}.size()"),
    "encoded in a loop": "big.map(a, base64.encode(bytes(text))).size()",
    "decoded in a loop": "big.map(a, base64.decode(text)).size()",
    "hashed in a loop": "big.map(a, hash.sha256(text)).size()",
    "JSON in JSON": chain(60, "'\"'", "json.marshal({0})", "{0}.size()"),
    "deep JSON": "json.unmarshal('" + repeated("[", 40_000, "", "]") + "')",
    "JSON that stays open": "json.unmarshal('" + "[" * 90_000 + "')",
    "numbers in JSON": "json.unmarshal('" + "9" * 90_000 + "')",
    "JSON in a loop": "big.map(a, json.unmarshal(json.marshal(table))).size()",
    "merged in a loop": "big.map(a, table.merge(table)).size()",
    "deeply merged in a loop": "big.map(a, deepMerge(table, table)).size()",
    "inserted in a loop": "big.map(a, lists.insertAtIndex(big, 0, a)).size()",
    "set far away": "lists.setAtIndex(big, 9223372036854775807, 1)",
    "random text without end": "random.seededString(1000000000, 'a')",
    "random texts": "big.map(a, random.seededString(10000, string(a))).size()",
    "reversed in a loop": "big.map(a, text.reverse()).size()",
    "bindings of bindings": repeated("cel.bind(a, 1, ", 5_000, "a", ")"),
}

IN_KUBERNETES: Final = {
    "nested loops": repeated("big.all(a, ", 6, "true", ")"),
    "precision without end": "'%.999999999f'.format([1.0])",
    "formatted data": "'%s %s %s'.format([table, table, table]).size()",
    "sets": "sets.equivalent(big, big) && sets.contains(big, big)",
    "sets of lists": "sets.intersects(lists, lists.map(a, a + [8]))",
    "sets in a loop": "big.all(a, sets.contains(big, big))",
    "length of a name": "!format.dns1123Subdomain().validate('" + "a." * 40_000 + "').hasValue()",
    "formats in a loop": "big.all(a, format.qualifiedName().validate(text).hasValue())",
    "length of a version": "isSemver('v" + "0" * 90_000 + "', true)",
    "length of a uri": "format.uri().validate('https://a/" + "%20" * 30_000 + "').hasValue()",
}

BOMBS: Final = [
    pytest.param(environment, text, id=f"{name}: {case}")
    for name, environment, cases in (
        ("kro", kro(), IN_KRO),
        ("kubernetes", kubernetes(), IN_KUBERNETES),
    )
    for case, text in cases.items()
]


@pytest.mark.parametrize(("environment", "text"), BOMBS)
def test_hostile_expression_ends_soon(environment: Environment, text: str) -> None:
    started = time.process_time()
    try:
        program = environment.extend(variables=dict.fromkeys(DATA, DYN)).compile(text)
        as_json(program.evaluate(DATA, budget=BUDGET))
    except CelError as error:
        error.render(text)
    assert time.process_time() - started < SECONDS
