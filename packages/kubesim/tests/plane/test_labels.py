"""The syntax of label keys and values, with the API server's wording."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.labels import label_key_problems, label_value_problems, subdomain_problems

NAME_CHARACTERS = st.sampled_from("abcXYZ019-_.")


@pytest.mark.parametrize(
    "key",
    ["a", "App", "1", "a.b_c-d", "example.com/name", "1.2.3.4/5678", "a" * 63, f"{'a' * 253}/{'b' * 63}"],
)
def test_label_key_accepts_names_with_an_optional_dns_prefix(key: str) -> None:
    assert label_key_problems(key) == ()


@pytest.mark.parametrize(
    ("key", "problems"),
    [
        ("", ["name part must be non-empty", "name part must consist of"]),
        ("-a", ["name part must consist of"]),
        ("a\n", ["name part must consist of"]),
        ("é", ["name part must consist of"]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        ("a/", ["name part must be non-empty", "name part must consist of"]),
        ("/a", ["prefix part must be non-empty"]),
        ("A_b/c", ["prefix part a lowercase RFC 1123 subdomain must consist of"]),
        (f"{'x' * 300}/a", ["prefix part must be no more than 253 bytes"]),
        ("a/b/c", ["a valid label key must consist of"]),
    ],
)
def test_label_key_violations_are_named_one_by_one(key: str, problems: list[str]) -> None:
    found = label_key_problems(key)
    assert len(found) == len(problems)
    assert all(text.startswith(start) for text, start in zip(found, problems, strict=True))


def test_label_key_with_two_slashes_explains_the_whole_form() -> None:
    (problem,) = label_key_problems("a/b/c")
    assert problem == (
        "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
        " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
        " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/'"
        " (e.g. 'example.com/MyName')"
    )


@pytest.mark.parametrize("value", ["", "a", "A.b_c-d9", "x" * 63])
def test_label_value_may_be_empty_or_a_name(value: str) -> None:
    assert label_value_problems(value) == ()


@pytest.mark.parametrize(
    ("value", "start"),
    [("-x-", "a valid label must be an empty string"), ("x" * 64, "must be no more than 63 bytes")],
)
def test_label_value_violations_use_the_servers_words(value: str, start: str) -> None:
    (problem,) = label_value_problems(value)
    assert problem.startswith(start)


@given(st.text(NAME_CHARACTERS, min_size=1, max_size=63))
def test_label_name_and_value_agree_on_every_nonempty_text(text: str) -> None:
    assert bool(label_key_problems(text)) == bool(label_value_problems(text))


def test_subdomain_length_counts_bytes() -> None:
    assert subdomain_problems("a." * 126 + "a") == ()
    assert "must be no more than 253 bytes" in subdomain_problems("a." * 127 + "a")
