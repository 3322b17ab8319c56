"""The two environments: what each offers, and how strict it is."""

from __future__ import annotations

import pytest

from kubecel.environment import Environment
from kubecel.environments import kro, kubernetes
from kubecel.errors import CompileError, EvaluationError
from kubecel.types import STRING
from packages.kubecel.tests.library.evaluating import refusal


@pytest.mark.parametrize("environment", [kro, kubernetes])
def test_environment_is_made_once(environment: object) -> None:
    assert kro() is kro()
    assert kubernetes() is kubernetes()
    assert kro() is not kubernetes()


@pytest.mark.parametrize(
    "text",
    [
        "cel.bind(x, 1, x)",
        "base64.encode(b'a')",
        "'a'.reverse()",
        "omit()",
        "json.marshal(1)",
        "hash.md5('a')",
        "{}.merge({})",
        "random.seededString(1, 'a')",
        "lists.removeAtIndex([1], 0)",
        "[1, 'a']",
    ],
)
def test_expression_is_for_kro_only(text: str) -> None:
    kro().compile(text).evaluate({})
    refusal(text, kubernetes())


@pytest.mark.parametrize(
    "text",
    [
        "sets.contains([1], [1])",
        "format.uuid().validate('x')",
        "semver('v1', true)",
        "isSemver('v1', true)",
        "1 < 1.5",
        "1u >= 1",
    ],
)
def test_expression_is_for_kubernetes_only(text: str) -> None:
    kubernetes().compile(text).evaluate({})
    refusal(text, kro())


@pytest.mark.parametrize("environment", [kro(), kubernetes()], ids=["kro", "kubernetes"])
@pytest.mark.parametrize(
    "text",
    [
        "[1, 2].map(x, x * 2).exists(x, x == 4)",
        "{'a': 1}.transformMap(k, v, v + 1)",
        "[1, 2].transformList(i, v, i + v)",
        "optional.of(1).optMap(x, x + 1).orValue(0)",
        "{'a': 1}[?'b'].orValue(2)",
        "[1].first().value()",
        "quantity('1Gi').isGreaterThan(quantity('1M'))",
        "url('https://a/b').getHost()",
        "ip('::1').family() + cidr('::/0').prefixLength()",
        "'a1'.find('[0-9]')",
        "[3, 1].sort() == [1, 3] && [1, 3].isSorted()",
        "'%s-%d'.format(['a', 1])",
        "strings.quote('a')",
        "semver('1.2.3').minor()",
    ],
)
def test_expression_is_for_both(environment: Environment, text: str) -> None:
    environment.compile(text).evaluate({})


@pytest.mark.parametrize(
    "text",
    [
        "math.greatest(1, 2)",
        "authorizer.path('/').check('get').allowed()",
        "'a'.notAFunction()",
        "quantity('1').sign()",
        "1 == 1.0",
        "net.Foo",
    ],
)
def test_expression_is_for_neither(text: str) -> None:
    refusal(text, kro())
    refusal(text, kubernetes())


@pytest.mark.parametrize("text", ["timestamp('x')", "duration('x')", "'a'.matches('(')"])
def test_broken_literals_are_refused_by_kubernetes_and_fail_in_kro(text: str) -> None:
    refusal(text, kubernetes())
    program = kro().compile(text)
    with pytest.raises(EvaluationError):
        program.evaluate({})


def test_callers_add_variables_without_changing_what_is_shared() -> None:
    extended = kro().extend(variables={"name": STRING})

    assert extended.compile("name.upperAscii()").evaluate({"name": "a"}) == "A"
    with pytest.raises(CompileError):
        kro().compile("name.upperAscii()")


@pytest.mark.parametrize("environment", [kro(), kubernetes()], ids=["kro", "kubernetes"])
@pytest.mark.parametrize(
    "text", ["'a'.indexOf('a')", "[1].indexOf(1)", "dyn('a').indexOf('a')", "dyn([1]).indexOf(1)"]
)
def test_functions_of_the_same_name_are_told_apart_by_their_arguments(
    environment: Environment, text: str
) -> None:
    assert environment.compile(text).evaluate({}) == 0
