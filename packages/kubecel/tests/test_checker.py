"""The type checker: what expressions evaluate to, and the words for what is wrong with them."""

from __future__ import annotations

import pytest

from kubecel.checker import CheckOptions, homogeneous_literals, valid_literals
from kubecel.errors import CompileError
from kubecel.syntax import walk
from kubecel.types import BOOL, DYN, INT, ObjectType, list_of, type_of
from packages.kubecel.tests.declared import CONSTANTS, FUNCTIONS, PORT, VARIABLES, checked, declarations

STRICT = declarations(
    options=CheckOptions(cross_type_comparisons=True, validators=(valid_literals, homogeneous_literals))
)


def problems(text: str, **options: CheckOptions) -> list[str]:
    known = declarations(options=options.get("options"))
    with pytest.raises(CompileError) as caught:
        checked(text, known)
    return [issue.message for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("null", "null"),
        ("1", "int"),
        ("1u", "uint"),
        ("1.5", "double"),
        ("b'x'", "bytes"),
        ("1 + 2", "int"),
        ("'a' + text", "string"),
        ("1 + 2 * number == 7 && !flag", "bool"),
        ("any + 1", "int"),
        ("any + any", "dyn"),
        ("any.field[0].other", "dyn"),
        ("any < 1.5", "bool"),
        ("[]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("[1, 2]", "list(int)"),
        ("[1, 'a']", "list(dyn)"),
        ("[[], [1]]", "list(list(int))"),
        ("[1, any]", "list(dyn)"),
        ("{'a': 1, 'b': any}", "map(string, dyn)"),
        ("{'a': 1, 2: 'b'}", "map(dyn, dyn)"),
        ("words + []", "list(string)"),
        ("words[0]", "string"),
        ("counts['a']", "int"),
        ("counts.a", "int"),
        ("flag ? 1 : 2", "int"),
        ("flag ? 1 : any", "dyn"),
        ("flag ? [] : words", "list(string)"),
        ("type(1)", "type(int)"),
        ("type(1) == int", "bool"),
        ("int", "type(int)"),
        ("google.protobuf.Timestamp", "type(timestamp)"),
        ("now - now", "duration"),
        ("now + span", "timestamp"),
        ("size(words) + words.size()", "int"),
        ("maybe.orValue(1)", "int"),
        ("optional.none()", "optional_type(dyn)"),
        ("optional.of(text)", "optional_type(string)"),
        ("counts.?a", "optional_type(int)"),
        ("words[?0]", "optional_type(string)"),
        ("any.?a.b", "optional_type(dyn)"),
        ("[?maybe, 2]", "list(int)"),
        ("{?'a': maybe}", "map(string, int)"),
        ("pkg.version", "string"),
        (".number", "int"),
        ("wrapped + 1", "int"),
        ("wrapped == null", "bool"),
        ("now == null", "bool"),
    ],
)
def test_expression_has_the_type(text: str, outcome: str) -> None:
    assert str(checked(text).type) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("words.all(w, w != '')", "bool"),
        ("words.map(w, size(w))", "list(int)"),
        ("words.filter(w, w == 'a')", "list(string)"),
        ("words.map(w, w != '', {'name': w})", "list(map(string, string))"),
        ("counts.map(k, counts[k])", "list(int)"),
        ("counts.exists(k, v, v > 1 && k != '')", "bool"),
        ("words.transformMap(i, w, w + string(i))", "map(int, string)"),
        ("any.map(x, x.name)", "list(dyn)"),
        ("[].map(x, 1)", "list(int)"),
        ("cel.bind(x, [1], x + [2])", "list(int)"),
        ("maybe.optMap(x, string(x))", "optional_type(string)"),
    ],
)
def test_comprehension_has_the_type(text: str, outcome: str) -> None:
    assert str(checked(text).type) == outcome


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nobody", "undeclared reference to 'nobody' (in container '')"),
        ("nobody.x.y", "undeclared reference to 'nobody' (in container '')"),
        ("nothing(1)", "undeclared reference to 'nothing' (in container '')"),
        ("words.nothing()", "undeclared reference to 'nothing' (in container '')"),
        ("1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"),
        ("1 == 1.0", "found no matching overload for '_==_' applied to '(int, double)'"),
        ("1 == 1u", "found no matching overload for '_==_' applied to '(int, uint)'"),
        ("number == null", "found no matching overload for '_==_' applied to '(int, null)'"),
        ("1 < 1.5", "found no matching overload for '_<_' applied to '(int, double)'"),
        ("text.startsWith(1)", "found no matching overload for 'startsWith' applied to 'string.(int)'"),
        ("size()", "found no matching overload for 'size' applied to '()'"),
        (
            "maybe.orValue('a')",
            "found no matching overload for 'orValue' applied to 'optional_type(int).(string)'",
        ),
        ("words[0] + [1]", "found no matching overload for '_+_' applied to '(string, list(int))'"),
        ("[].size() + {}", "found no matching overload for '_+_' applied to '(int, map(dyn, dyn))'"),
        ("text.length", "type 'string' does not support field selection"),
        ("has(words.x)", "type 'list(string)' does not support field selection"),
        ("maybe.x", "type 'int' does not support field selection"),
        ("spec.nothing", "undefined field 'nothing'"),
        ("spec.ports[0].nothing", "undefined field 'nothing'"),
        ("has(spec.nothing)", "undefined field 'nothing'"),
        ("spec.?nothing", "undefined field 'nothing'"),
        ("flag && 1", "expected type 'bool' but found 'int'"),
        ("[] || flag", "expected type 'bool' but found 'list(dyn)'"),
        ("words.all(w, w)", "expected type 'bool' but found 'string'"),
        ("[?1]", "expected type 'optional_type(int)' but found 'int'"),
        ("{?'a': []}", "expected type 'optional_type(list(dyn))' but found 'list(dyn)'"),
        (
            "number.all(x, true)",
            "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("pkg.nothing", "undeclared reference to 'pkg' (in container '')"),
        ("Nobody{}", "undeclared reference to 'Nobody' (in container '')"),
        ("number{}", "'int' is not a type"),
        ("int{}", "'int' is not a message type"),
    ],
)
def test_mistake_is_named(text: str, message: str) -> None:
    assert problems(text) == [message]


def test_all_mistakes_are_reported_once_in_the_order_of_the_source() -> None:
    assert problems("nobody.x + 1 == 2 && 1 + 'a' == spec.nothing") == [
        "undeclared reference to 'nobody' (in container '')",
        "found no matching overload for '_+_' applied to '(int, string)'",
        "undefined field 'nothing'",
    ]


def test_mistake_is_placed_where_it_is() -> None:
    with pytest.raises(CompileError) as caught:
        checked("flag &&\n  1 + 'a' == 2")
    position = caught.value.issues[0].position
    assert position is not None
    assert (position.line, position.column) == (2, 4)


def test_loop_variable_hides_other_names_and_ends_with_the_loop() -> None:
    assert str(checked("words.map(number, number)").type) == "list(string)"
    assert problems("words.all(w, true) && w == ''") == ["undeclared reference to 'w' (in container '')"]


def test_loop_variable_hides_names_with_dots() -> None:
    assert str(checked("[{'version': 1}].map(pkg, pkg.version)").type) == "list(int)"


def test_accumulator_cannot_be_named() -> None:
    assert problems("words.exists(w, __result__)") == [
        "undeclared reference to '__result__' (in container '')"
    ]


def test_object_fields_have_their_types() -> None:
    assert checked("spec.ports").type == list_of(PORT)
    assert str(checked("spec.ports.map(p, p.number)").type) == "list(int)"
    assert str(checked("spec.labels.app + spec.image").type) == "string"
    assert str(checked("has(spec.image)").type) == "bool"
    assert str(checked("spec.?ports[?0].?name").type) == "optional_type(string)"


def test_open_object_has_any_field() -> None:
    assert checked("open.known").type == INT
    assert checked("open.unknown.deeper").type == DYN


def test_field_with_another_key_is_noted_by_selection() -> None:
    for text in ("spec.a__dash__b", "has(spec.a__dash__b)", "spec.?a__dash__b"):
        result = checked(text)
        assert result.properties == {result.ast.root.id: "a-b"}


def test_call_keeps_all_overloads_that_may_apply() -> None:
    exact, open_ended = checked("1 + 2"), checked("any + any")
    assert [overload.id for overload in exact.overloads[exact.ast.root.id]] == ["add_int64"]
    assert len(open_ended.overloads[open_ended.ast.root.id]) > 5


def test_call_of_a_function_with_a_dotted_name_has_no_target() -> None:
    result = checked("optional.of(1)")
    assert result.functions == {result.ast.root.id: "optional.of"}
    assert checked("text.startsWith('a')").functions == {}


def test_identifiers_and_dotted_names_are_noted() -> None:
    result = checked("pkg.version + text")
    assert set(result.names.values()) == {"pkg.version", "text"}


def test_longest_dotted_name_wins() -> None:
    known = declarations({"a": DYN, "a.b": INT, "a.b.c": BOOL})
    assert checked("a.b.c", known).type == BOOL
    assert checked("a.b", known).type == INT
    assert checked("a.x", known).type == DYN


def test_every_node_has_a_type_without_parameters() -> None:
    result = checked("words.map(w, {'name': w, 'tags': []}).filter(x, x.name != '')[0].?tags.orValue([any])")
    assert all(node.id in result.types for node in walk(result.ast.root))
    assert not any(subject.generic for subject in result.types.values())


def test_expected_type_is_part_of_the_check() -> None:
    assert checked("1 + number", expected=INT).type == INT
    assert checked("any", expected=BOOL).type == DYN
    with pytest.raises(CompileError, match="expected type 'bool' but found 'int'"):
        checked("1 + number", expected=BOOL)


def test_numbers_of_different_types_compare_only_where_allowed() -> None:
    assert checked("1 < 1.5 && 2u >= 1", STRICT).type == BOOL
    # As in cel-go, the first comprehension lifts the ban for what follows.
    assert checked("[1].all(x, x < 1.5) && 1 < 1.5").type == BOOL
    assert problems("1 < 1.5 && [1].all(x, x < 1.5)") == [
        "found no matching overload for '_<_' applied to '(int, double)'"
    ]


def test_messages_are_built_from_known_fields_of_fitting_types() -> None:
    condition = ObjectType("Condition", {"type": DYN, "status": BOOL})
    known = declarations()
    known = type(known)(FUNCTIONS, VARIABLES, {**CONSTANTS, "Condition": (type_of(condition), None)})
    assert checked("Condition{type: 'Ready', status: true}", known).type == condition
    assert checked("Condition{?status: optional.of(true)}.status", known).type == BOOL
    with pytest.raises(CompileError) as caught:
        checked("Condition{status: 1, nothing: 2}", known)
    assert [issue.message for issue in caught.value.issues] == [
        "expected type of field 'status' is 'bool' but provided type is 'int'",
        "undefined field 'nothing'",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("duration('1 fortnight') > span", "invalid duration argument"),
        ("timestamp('yesterday') > now", "invalid timestamp argument"),
        ("text.matches('(')", "invalid matches argument"),
        ("[1, 'a'].size() > 1", "expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'c'}.a == 1", "expected type 'int' but found 'string'"),
        ("{'a': 1, 2: 1}.size() > 1", "expected type 'string' but found 'int'"),
        ("[1, any].size() > 1", "expected type 'int' but found 'dyn'"),
    ],
)
def test_strict_environment_asks_for_more(text: str, message: str) -> None:
    checked(text)
    with pytest.raises(CompileError) as caught:
        checked(text, STRICT)
    assert [issue.message for issue in caught.value.issues] == [message]


@pytest.mark.parametrize(
    "text",
    [
        "duration('1h') > span",
        "text.matches('^a+$')",
        "timestamp(text) > now",
        "matches('(', 'a')",
        "[?maybe, 2].size() > 1",
        "{?'a': maybe, 'b': 1}.size() > 1",
        "[wrapped, 1].size() > 1",
    ],
)
def test_strict_environment_accepts_what_is_sound(text: str) -> None:
    assert checked(text, STRICT).type == BOOL


def test_outcomes_remembered_for_one_environment_serve_its_extensions() -> None:
    base = declarations()
    extended = base.extend({"extra": INT, "text": INT})
    assert checked("extra + text", extended).type == INT
    assert str(checked("text + text", base).type) == "string"


def test_depth_that_the_parser_accepts_is_no_problem() -> None:
    text = "any" + ".field" * 200
    assert checked(text).type == DYN
    assert checked("[" * 100 + "1" + "]" * 100).type.params[0].params[0].name == "list"
