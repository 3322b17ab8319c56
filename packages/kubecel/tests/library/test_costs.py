"""Costs: what calls are charged at run time, and what is estimated before. The figures are kube-apiserver's."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kubecel.checker import check
from kubecel.environments import kro, kubernetes
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.estimate import estimate
from kubecel.library.nesting import DEEPEST, check_depth, flattened_size, walk_weight
from kubecel.sizes import LARGEST, NOTHING, Estimate
from kubecel.types import DYN, INT, STRING, list_of
from packages.kubecel.tests.library.evaluating import cost

SIZES: Final = {
    ("s",): Estimate(0, 100),
    ("t",): Estimate(2, 7),
    ("l",): Estimate(0, 9),
    ("l", "@items"): Estimate(0, 13),
    ("n",): Estimate(0, 9),
    ("b",): Estimate(0, 9),
    ("b", "@items"): Estimate(0, 30),
}
DECLARED: Final = kubernetes().extend(
    variables={
        "s": STRING,
        "t": STRING,
        "l": list_of(STRING),
        "n": list_of(INT),
        "b": list_of(list_of(INT)),
        "i": INT,
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s.lowerAscii()", 11),
        ("s.upperAscii()", 11),
        ("s.trim()", 11),
        ("s.substring(1)", 11),
        ("s.substring(1, 5)", 11),
        ("s.charAt(1)", 2),
        ("s.replace('b', 'c')", 21),
        ("s.split(',')", 21),
        ("s.indexOf('b')", 11),
        ("s.lastIndexOf('b')", 11),
        ("l.join('-')", 111),
        ("l.join()", 101),
        ("s.find('[0-9]+')", 23),
        ("quantity(t)", 2),
        ("quantity(t).add(1)", 3),
        ("quantity(t) == quantity(t)", 5),
        ("isQuantity(s)", 11),
        ("isIP(s)", 11),
        ("isCIDR(s)", 11),
        ("isSemver(s)", 11),
        ("url('/' + s).getHost()", 24),
        ("ip('1.2.3.4').family()", 2),
        ("ip.isCanonical('1.2.3.4')", 2),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", 3),
        ("cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))", 3),
        ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", 6),
        ("cidr('2001:db8::/33').containsCIDR(cidr('2001:db8::/64'))", 7),
        ("cidr('10.0.0.0/8').ip()", 2),
        ("semver('1.2.3').compareTo(semver('1.2.4'))", 3),
        ("n.sum()", 51),
        ("n.max()", 51),
        ("l.min()", 51),
        ("n.isSorted()", 51),
        ("l.indexOf('x')", 51),
        ("n.slice(0, 10)", 22),
        ("n.reverse()", 62),
        ("b.flatten()", 14),
        ("n.distinct()", 5012),
        ("l.distinct()", 5262),
        ("n.sort()", 5012),
        ("l.sort()", 5262),
        ("lists.range(100)", 111),
        ("sets.contains(n, n)", 2503),
        ("sets.equivalent(n, n)", 5003),
        ("sets.intersects(n, b[0])", 104),
        ("format.dns1123Label().validate(s)", 90),
        ("format.named('uuid')", 1),
        ("strings.quote(t)", 2),
        ("'%s'.format([i])", 12),
    ],
)
def test_calls_cost_what_the_api_server_charges(text: str, expected: int) -> None:
    values = {
        "s": "a" * 100,
        "t": "1Gi",
        "l": ["a" * 10] * 50,
        "n": list(range(50)),
        "b": [[1, 2], [3]],
        "i": 3,
    }
    assert DECLARED.compile(text).measure(values).cost == expected


@pytest.mark.parametrize(
    ("text", "smaller", "larger"),
    [
        ("'%s'.format([v])", "a", "a" * 100_000),
        ("strings.quote(v)", "a", "a" * 100_000),
        ("v.reverse()", "a", "a" * 100_000),
        ("v.replace('a', 'bbbbbbbbbb')", "a", "a" * 10_000),
        ("base64.encode(bytes(v))", "a", "a" * 100_000),
        ("base64.decode(v)", "aaaa", "a" * 100_000),
        ("hash.fnv64a(v)", "a", "a" * 100_000),
        ("hash.sha256(v)", "a", "a" * 100_000),
        ("json.marshal(v)", "a", "a" * 100_000),
        ("json.unmarshal(v)", "1", f"[{'1,' * 10_000}1]"),
        ("random.seededInt(0, 9, v)", "a", "a" * 100_000),
        ("v.merge(v)", {"a": 1}, {str(i): i for i in range(10_000)}),
        ("v.deepMerge(v)", {"a": 1}, {str(i): i for i in range(10_000)}),
        ("lists.removeAtIndex(v, 0)", [1], [1] * 10_000),
        ("url(v).getQuery()", "/?a", "/?" + "a=1&" * 2500),
        ("v.findAll('a')", "b", "b" * 1000),
        ("v.flatten()", [[1]], [[1] * 1000] * 100),
    ],
)
def test_work_that_grows_is_charged_for(text: str, smaller: Any, larger: Any) -> None:
    assert cost(text, kro(), v=larger) >= cost(text, kro(), v=smaller) + 900


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("v.find('" + "a{1000}" * 3 + "')", "a" * 10_000),
        ("v.findAll('')", "a" * 20_000),
        ("v.join()", [1] * 200_000),
        ("''.find(v)", "a" * 50_000),
        ("lists.range(v)", 20_000),
    ],
)
def test_work_beyond_the_budget_is_never_begun(text: str, value: Any) -> None:
    program = kro().extend(variables={"v": DYN}).compile(text)
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"v": value}, budget=10_000)

    assert caught.value.kind is ErrorKind.COST_EXCEEDED


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("s.charAt(1)", 2, 2),
        ("s.indexOf(t)", 2, 12),
        ("s.indexOf(t, 1)", 2, 12),
        ("s.lastIndexOf(t)", 2, 12),
        ("s.lowerAscii()", 1, 11),
        ("s.upperAscii().size()", 2, 12),
        ("s.trim()", 1, 11),
        ("s.substring(1)", 1, 11),
        ("s.substring(1, i) + t", 4, 24),
        ("s.replace(t, 'abc') + t", 4, 39),
        ("s.replace('a', 'abc') + t", 3, 53),
        ("s.replace('', 'abc') + t", 3, 63),
        ("s.replace(t, '') + t", 4, 34),
        ("s.replace(t, s).replace(t, s) + t", 7, 26027),
        ("t.replace(s, 'x').trim()", 4, 6),
        ("s.split(t).all(x, x == t)", 3, 623),
        ("s.split(t, 3).all(x, x == t)", 3, 41),
        ("s.split(t, i).all(x, x == t)", 4, 624),
        ("l.join().trim()", 1, 25),
        ("l.join(t).trim()", 2, 38),
        ("['a','b'].join(t)", 12, 1844674407370955275),
        ("s.find(t)", 3, 24),
        ("s.find('[0-9]+').trim()", 3, 33),
        ("s.findAll(t).all(x, x == t)", 4, 625),
        ("s.findAll(t, 2).all(x, x == t)", 4, 625),
        ("strings.quote(s).trim()", 2, 32),
        ("'%s'.format([s])", 12, 12),
        ("s.format([s])", 12, 22),
        ("l.isSorted()", 1, 28),
        ("n.isSorted()", 1, 10),
        ("n.sum()", 1, 10),
        ("n.max() + 1", 2, 11),
        ("l.min().trim()", 1, 1844674407370955292),
        ("l.indexOf(t)", 2, 29),
        ("n.lastIndexOf(3)", 1, 10),
        ("url(s).getHost()", 2, 12),
        ("url(s) == url(t)", 4, 14),
        ("isURL(s)", 2, 2),
        ("ip(s).family()", 2, 12),
        ("isIP(s)", 1, 11),
        ("ip.isCanonical(s)", 1, 21),
        ("cidr(s).containsIP(t)", 4, 17),
        ("cidr(s).containsIP(ip(t))", 4, 17),
        ("cidr(s).containsCIDR(t)", 6, 20),
        ("cidr(s).containsCIDR(cidr(t))", 6, 20),
        ("cidr(s).masked().prefixLength()", 3, 13),
        ("cidr(s).ip() == ip(t)", 5, 15),
        ("isCIDR(s)", 1, 11),
        ("string(ip(s)).trim()", 2, 1844674407370955276),
        ("quantity(s).add(quantity(t))", 4, 14),
        ("isQuantity(s)", 1, 11),
        ("quantity(s) == quantity(t)", 4, 14),
        ("semver(s).major()", 2, 12),
        ("semver(s, true).compareTo(semver(t))", 4, 14),
        ("isSemver(s)", 1, 11),
        ("isSemver(s, true)", 1, 11),
        ("format.dns1123Label().validate(s)", 2, 322),
        ("format.named(s)", 2, 2),
        ("format.named('uuid').value() == format.uuid()", 4, 10),
        ("n.slice(1, 3).sum()", 16, 16),
        ("n.slice(1, i).sum()", 29, 29),
        ("n.slice(i, 3).sum()", 19, 19),
        ("n.slice(5, 3).sum()", 18446744073709551615, LARGEST),
        ("n.reverse().sum()", 12, 30),
        ("b.flatten().sum()", 12, 30),
        ("b.flatten(2).size()", 13, 31),
        ("b.flatten(i).size()", 14, LARGEST),
        ("lists.range(5).sum()", 21, 21),
        ("lists.range(i).size()", 18446744073709551615, LARGEST),
        ("n.distinct().sum()", 12, 255),
        ("l.distinct().size()", 13, 175),
        ("n.sort().sum()", 12, 255),
        ("l.sort().join()", 12, 1844674407370955447),
        ("n.sortBy(x, -x).sum()", 35, 404),
        ("n.sortBy(x, s).sum()", 35, 404),
        ("sets.contains(n, n)", 3, 84),
        ("sets.equivalent(l, l)", 3, 165),
        ("sets.intersects(n, [1,2])", 12, 30),
        ("l.first().orValue('').trim()", 3, 1844674407370955267),
        ("n.map(x, s.find(t))", 12, 336),
        ("l.map(x, x.trim()).join(',').trim()", 12, 3689348814741910675),
    ],
)
def test_estimates_are_those_of_the_api_server(text: str, least: int, most: int) -> None:
    assert _estimated(text) == Estimate(least, most)


def _estimated(text: str) -> Estimate:
    checked = check(DECLARED.parse(text), DECLARED.declarations)
    return estimate(checked, lambda path: SIZES.get(tuple(path)), presence_test_cost=NOTHING)


def test_walk_counts_every_part_as_often_as_it_occurs() -> None:
    part = ["a" * 100, 1, None, {"key": b"x" * 20}]

    assert walk_weight(part) == 10 + 1 + 1 + 0 + 2
    assert walk_weight([part, part]) == 2 * walk_weight(part)
    assert walk_weight("é" * 100) == 20
    assert walk_weight([]) == 0


def test_size_of_a_flattened_list_is_known_before() -> None:
    inner = [1, [2, 3], [[4]]]

    assert flattened_size(inner, 0) == 3
    assert flattened_size(inner, 1) == 4
    assert flattened_size([inner, inner], 2) == 8
    assert flattened_size([], 5) == 0


def test_depth_has_a_limit() -> None:
    check_depth(DEEPEST)
    with pytest.raises(EvaluationError) as caught:
        check_depth(DEEPEST + 1)

    assert caught.value.kind is ErrorKind.TOO_DEEP
