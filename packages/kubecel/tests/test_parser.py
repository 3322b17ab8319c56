"""The tree of a text: precedence, positions, syntax errors, and limits that hold for any text."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.errors import CompileError
from kubecel.limits import Limits
from kubecel.parser import parse
from kubecel.standard_macros import STANDARD_MACROS
from kubecel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Operator,
    Select,
    StructLiteral,
    children,
    qualified_name,
    walk,
)

MACROS = {(macro.name, macro.arity, macro.member): macro for macro in STANDARD_MACROS}
SYMBOLS = {
    Operator.AND: "&&",
    Operator.OR: "||",
    Operator.ADD: "+",
    Operator.SUBTRACT: "-",
    Operator.MULTIPLY: "*",
    Operator.EQUALS: "==",
    Operator.LESS: "<",
    Operator.IN: "in",
}


def tree(text: str) -> Expr:
    return parse(text, MACROS).root


def shown(node: Expr) -> str:
    """A tree with all brackets that its text left out."""
    match node:
        case Literal():
            return repr(node.value)
        case Ident():
            return node.name
        case Select():
            shown_select = f"{shown(node.operand)}.{node.field}"
            return f"has({shown_select})" if node.test else shown_select
        case Call(function=Operator.CONDITIONAL):
            return f"({shown(node.args[0])} ? {shown(node.args[1])} : {shown(node.args[2])})"
        case Call(function=Operator.INDEX):
            return f"{shown(node.args[0])}[{shown(node.args[1])}]"
        case Call() if node.function in SYMBOLS:
            return f"({shown(node.args[0])} {SYMBOLS[node.function]} {shown(node.args[1])})"
        case Call():
            target = "" if node.target is None else f"{shown(node.target)}."
            return f"{target}{node.function}({', '.join(map(shown, node.args))})"
        case ListLiteral():
            marks = [
                ("?" if index in node.optional else "") + shown(e) for index, e in enumerate(node.elements)
            ]
            return f"[{', '.join(marks)}]"
        case MapLiteral():
            entries = [f"{'?' * e.optional}{shown(e.key)}: {shown(e.value)}" for e in node.entries]
            return f"{{{', '.join(entries)}}}"
        case StructLiteral():
            return f"{node.name}{{{', '.join(f'{init.name}: {shown(init.value)}' for init in node.fields)}}}"
        case Comprehension():
            return f"fold {node.variable} over {shown(node.range)}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("a - b - c", "((a - b) - c)"),
        ("a == b && c < d || e", "(((a == b) && (c < d)) || e)"),
        ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
        ("a || b ? c : d", "((a || b) ? c : d)"),
        ("a in b == c", "((a in b) == c)"),
        ("!a.b", "!_(a.b)"),
        ("!!a", "a"),
        ("---a", "-_(a)"),
        ("-1", "-1"),
        ("- 1 + 2", "(-1 + 2)"),
        ("-a + b", "(-_(a) + b)"),
        ("a.b[0].c(d)", "a.b[0].c(d)"),
        ("(a + b).c", "(a + b).c"),
        (".a.b", ".a.b"),
        (".f(a)", ".f(a)"),
        ("[a, ?b,]", "[a, ?b]"),
        ("{a: b, ?c: d,}", "{a: b, ?c: d}"),
        ("a.b.C{x: 1, y: [2]}", "a.b.C{x: 1, y: [2]}"),
        ("a.?b", "_?._(a, 'b')"),
        ("a[?b]", "_[?_](a, b)"),
        ("a.`b-c`", "a.b-c"),
        ("a.namespace.in_", "a.namespace.in_"),
        ("has(a.b)", "has(a.b)"),
        ("a.all(x, x)", "fold x over a"),
    ],
)
def test_parser_groups_as_the_language_says(text: str, expected: str) -> None:
    assert shown(tree(text)) == expected


def test_parser_balances_long_junctions() -> None:
    root = parse(" && ".join(f"a{index}" for index in range(1000)), {}, Limits(depth=12)).root
    assert [node.name for node in walk(root) if isinstance(node, Ident)] == [
        f"a{index}" for index in range(1000)
    ]


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("a + b", 2),
        ("a.b", 1),
        ("f(a)", 1),
        ("a.f(b)", 3),
        ("a[b]", 1),
        ("a ? b : c", 2),
        ("[a]", 0),
        ("  a", 2),
        ("-1", 0),
    ],
)
def test_nodes_stand_where_errors_about_them_point(text: str, offset: int) -> None:
    assert tree(text).offset == offset


def test_numbers_of_nodes_are_unique() -> None:
    numbers = [node.id for node in walk(tree("[1, 2].map(x, x > 1, {x: has(a.b)}).exists(y, y == -y)"))]
    assert len(numbers) == len(set(numbers))


def test_parser_remembers_which_macro_made_a_node() -> None:
    ast = parse("a.exists(x, x)", MACROS)
    assert ast.macros == {ast.root.id: "exists"}


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("a +", 3),
        ("(a", 2),
        ("a b", 2),
        ("a..b", 2),
        ("a ? b", 5),
        ("[a b]", 3),
        ("{a}", 2),
        ("a.1", 1),
        ("f(,)", 2),
        ("in", 0),
        ("a.in", 2),
        ("while", 0),
        ("if(a)", 0),
        ("!-a", 1),
        ("a ? b ? c : d : e", 6),
        ("9223372036854775808", 0),
        ("'\\ud800'", 0),
        ("f{}{}", 3),
    ],
)
def test_parser_points_at_what_is_wrong(text: str, offset: int) -> None:
    with pytest.raises(CompileError) as caught:
        tree(text)
    position = caught.value.position
    assert position is not None
    assert position.offset == offset


@pytest.mark.parametrize(
    "text",
    ["1.map(2, x)", "a.all(x.y, true)", "a.exists(__result__, true)", "has(a)", "has(a[0])", "a.map(.x, x)"],
)
def test_macros_refuse_what_is_no_name(text: str) -> None:
    with pytest.raises(CompileError):
        tree(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "a" + ")" * 5000,
        "[" * 5000,
        "f(" * 5000,
        "{a:" * 5000,
        "a" + ".b" * 5000,
        "a" + ".f()" * 5000,
        "a" + "[0]" * 5000,
        " + ".join("a" * 5000),
        "a ? b : " * 5000 + "c",
        "[1].map(x, " * 100 + "x" + ")" * 100,
    ],
    ids=[
        "parentheses",
        "lists",
        "calls",
        "maps",
        "fields",
        "methods",
        "indices",
        "sums",
        "conditions",
        "macros",
    ],
)
def test_trees_that_are_too_deep_are_refused(text: str) -> None:
    with pytest.raises(CompileError, match="recursion limit exceeded"):
        tree(text)


@pytest.mark.parametrize(
    "text", ["!" * 9001 + "a", "-" * 9001 + "a", " || ".join("a" * 9000), "[" + "a," * 9000 + "]"]
)
def test_length_alone_is_no_depth(text: str) -> None:
    assert shown(tree(text))


def test_limits_of_length_and_nodes_hold() -> None:
    with pytest.raises(CompileError, match="code point size exceeds limit"):
        parse("a" * 11, {}, Limits(source=10))
    with pytest.raises(CompileError, match="more than 3 nodes"):
        parse("a + b + c", {}, Limits(nodes=3))


def test_qualified_names_are_chains_of_fields_below_a_name() -> None:
    assert qualified_name(tree("a.b.c")) == "a.b.c"
    assert qualified_name(tree("f().b")) is None
    assert qualified_name(tree("a[0].b")) is None


def test_children_are_in_the_order_of_evaluation() -> None:
    assert [shown(child) for child in children(tree("a.f(b, c)"))] == ["a", "b", "c"]
    assert [shown(child) for child in children(tree("{a: b, c: d}"))] == ["a", "b", "c", "d"]
    assert [shown(child) for child in children(tree("M{x: a}"))] == ["a"]


_ATOMS = st.sampled_from(["a", "1", "'s'", "true", "b.c"])
_TEXTS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(list(SYMBOLS.values())), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        inner.map(lambda text: f"[{text}]"),
        st.tuples(inner, inner).map(lambda pair: f"{{{pair[0]}: {pair[1]}}}"),
        st.tuples(inner, inner, inner).map(lambda three: f"({three[0]} ? {three[1]} : {three[2]})"),
    ),
    max_leaves=12,
)


@given(_TEXTS)
def test_a_tree_written_out_parses_to_itself(text: str) -> None:
    once = shown(tree(text))
    assert shown(tree(once)) == once


@given(st.text(alphabet="ab1.'\" []{}()?:&|=!<>+-*/%,", max_size=30))
def test_parser_accepts_or_refuses_but_never_crashes(text: str) -> None:
    with contextlib.suppress(CompileError):
        assert tree(text).offset <= len(text)
