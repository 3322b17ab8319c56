"""Functions of strings: positions in code points, limits before work, and Go's corner cases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.environments import kro, kubernetes
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.library.extensions import strings
from kubecel.limits import MAX_SIZE
from packages.kubecel.tests.library.evaluating import failure, in_kro, in_kubernetes, refusal

words = st.text(alphabet="abé😀", max_size=12)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'é😀x'.charAt(1)", "😀"),
        ("'abc'.charAt(3)", ""),
        ("'hello mellow'.indexOf('ello')", 1),
        ("'hello mellow'.indexOf('ello', 2)", 7),
        ("'hello mellow'.indexOf('jello')", -1),
        ("'hello mellow'.indexOf('ello', 20)", -1),
        ("'abc'.indexOf('')", 0),
        ("'abc'.indexOf('', 7)", 7),
        ("'hello mellow'.lastIndexOf('ello')", 7),
        ("'hello mellow'.lastIndexOf('ello', 6)", 1),
        ("'hello mellow'.lastIndexOf('ello', 7)", 7),
        ("'hello mellow'.lastIndexOf('ello', 20)", -1),
        ("'abc'.lastIndexOf('')", 3),
        ("'abc'.lastIndexOf('', 1)", 1),
        ("'abc'.lastIndexOf('abcd')", -1),
        ("''.lastIndexOf('a')", -1),
        ("'TacoCÆt Xii'.lowerAscii()", "tacocÆt xii"),
        ("'tacocæt ß'.upperAscii()", "TACOCæT ß"),
        ("'hello hello'.replace('he', 'we')", "wello wello"),
        ("'hello hello'.replace('he', 'we', 1)", "wello hello"),
        ("'hello hello'.replace('he', 'we', 0)", "hello hello"),
        ("'hello hello'.replace('he', 'we', -3)", "wello wello"),
        ("'ab'.replace('', '_')", "_a_b_"),
        ("'ab'.replace('', '_', 2)", "_a_b"),
        ("'hello'.replace('l', '')", "heo"),
        ("'a b c'.split(' ')", ["a", "b", "c"]),
        ("'a b c'.split(' ', 0)", []),
        ("'a b c'.split(' ', 1)", ["a b c"]),
        ("'a b c'.split(' ', 2)", ["a", "b c"]),
        ("'a b c'.split(' ', -1)", ["a", "b", "c"]),
        ("'aéb'.split('')", ["a", "é", "b"]),
        ("'aéb'.split('', 2)", ["a", "éb"]),
        ("''.split(',')", [""]),
        ("''.split('')", []),
        ("'tacocat'.substring(4)", "cat"),
        ("'tacocat'.substring(0, 4)", "taco"),
        ("'tacocat'.substring(7)", ""),
        ("'  \\ttrim\\n  '.trim()", "trim"),
        ("'\\u00a0\\u3000x\\u2028\\u0085'.trim()", "x"),
        ("'\\u001cx\\u200b'.trim()", "\x1cx\u200b"),
        ("['x', 'y'].join()", "xy"),
        ("['x', 'y', 'z'].join(', ')", "x, y, z"),
        ("[].join('-')", ""),
        ("strings.quote('say \"hi\"\\n\\\\ \\a')", r'"say \"hi\"\n\\ \a"'),
        ("strings.quote('\\u0001é')", '"\x01é"'),
    ],
)
def test_strings_behave_as_in_cel_go(text: str, value: object) -> None:
    assert in_kro(text) == in_kubernetes(text) == value


def test_reverse_of_strings_is_not_in_kubernetes() -> None:
    assert in_kro("'aé😀'.reverse()") == "😀éa"
    assert "found no matching overload for 'reverse'" in refusal("'a'.reverse()", kubernetes())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'abc'.charAt(4)", "index out of range: 4"),
        ("'abc'.charAt(-1)", "index out of range: -1"),
        ("'abc'.indexOf('a', -1)", "index out of range: -1"),
        ("'abc'.lastIndexOf('a', -1)", "index out of range: -1"),
        ("'abc'.substring(4)", "index out of range: 4"),
        ("'abc'.substring(-1)", "index out of range: -1"),
        ("'abc'.substring(1, 9)", "index out of range: 9"),
        ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
        ("dyn(['a', 1]).join()", "join: invalid input: int"),
    ],
)
def test_positions_outside_of_a_string_are_errors(text: str, problem: str) -> None:
    error = failure(text)

    assert error.message == problem
    assert error.kind is ErrorKind.INVALID_ARGUMENT
    assert not error.pending


@given(words, words, st.integers(min_value=0, max_value=14))
def test_last_position_is_the_largest_one_that_matches(text: str, part: str, start: int) -> None:
    positions = [index for index in range(len(text)) if text.startswith(part, index)]

    if part:
        assert strings.last_index_of(text, part) == max(positions, default=-1)
        within = [index for index in positions if index <= start]
        expected = max(within, default=-1) if start < len(text) else -1
        assert strings.last_index_of_from(text, part, start) == expected


@given(words, words, words, st.integers(min_value=-2, max_value=5))
def test_replacing_is_splitting_and_joining(text: str, old: str, new: str, limit: int) -> None:
    if old:
        pieces = strings.split(text, old, limit + 1 if limit >= 0 else -1)
        assert strings.replace(text, old, new, limit) == new.join(pieces)


@given(words, words.filter(bool), st.integers(min_value=-2, max_value=5))
def test_pieces_are_never_more_than_the_limit_and_join_to_the_whole(
    text: str, separator: str, limit: int
) -> None:
    pieces = strings.split(text, separator, limit)

    assert limit < 0 or len(pieces) <= limit
    assert limit == 0 or separator.join(pieces) == text


@pytest.mark.parametrize(
    "text",
    [
        "big.replace('', big)",
        "big.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
        "lists.range(1000).map(i, big).join()",
        "'%s%s'.format([lists.range(30).map(i, big), 1])",
        "'%.99999999999f'.format([1.0])",
        "'%.999999999999999e'.format([1.0])",
    ],
)
def test_results_that_would_grow_too_large_are_refused(text: str) -> None:
    program = kro().extend(variables={"big": kro().compile("''").type}).compile(text)
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"big": "a" * 500_000}, budget=10**12)

    assert caught.value.kind is ErrorKind.TOO_LARGE


def test_quoting_is_refused_if_the_result_could_be_too_long() -> None:
    with pytest.raises(EvaluationError) as caught:
        strings.quote("a" * (MAX_SIZE // 2 + 1))

    assert caught.value.kind is ErrorKind.TOO_LARGE


def test_searching_backwards_takes_no_quadratic_time() -> None:
    """With Python's own `rfind` this takes minutes."""
    assert strings.last_index_of("a" * 400_000, "b" + "a" * 200_000) == -1
