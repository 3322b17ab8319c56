"""Names: the same for the same parts, different for different ones, always within limits, and never to change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from edgekeeper.core.names import (
    AWS_IDENTIFIER,
    AWS_NAME,
    DNS_LABEL,
    DNS_SUBDOMAIN,
    Alphabet,
    bounded_name,
    fingerprint,
)

ALPHABETS = [DNS_LABEL, DNS_SUBDOMAIN, AWS_NAME, AWS_IDENTIFIER, replace(DNS_SUBDOMAIN, separator=".")]
LIMITS = st.integers(14, 80)
PART = st.text(alphabet="ab-._A2é ", max_size=12) | st.text(max_size=60)


# Golden: these names are out there. A change here loses sight of everything that was created before it.
@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("web",), "web"),
        (("widgets", "web"), "widgets-web"),
        (("widgets", "team-a-web"), "widgets-team-a-web"),
        (("my-distribution",), "my-distribution"),
        (("team-a", "web"), "team-a-web-6oj7qleupppv"),
        (("Web_Site",), "web-site-4yovujldnpqs"),
        (("*",), "x-9tyab5bfawon"),
        (("a", ""), "a-7rc4su5ncxwa"),
        (("a" * 80,), f"{'a' * 50}-6fqaewt5qvoc"),
    ],
)
def test_names_never_change(parts: tuple[str, ...], name: str) -> None:
    assert bounded_name(*parts) == name


def test_fingerprints_never_change() -> None:
    assert fingerprint("prod-eu") == "3m45kvdvvn7e"
    assert fingerprint("shop", "web") == "95ffdqk54xb5"


@given(st.lists(PART, min_size=1, max_size=3), LIMITS, st.sampled_from(ALPHABETS))
def test_names_keep_to_limit_and_alphabet(parts: list[str], limit: int, alphabet: Alphabet) -> None:
    assume(any(parts))
    name = bounded_name(*parts, limit=limit, alphabet=alphabet)
    assert len(name) <= limit
    assert name[0] in alphabet.edges
    assert name[-1] in alphabet.edges
    assert set(name) <= set(alphabet.edges + alphabet.inner)


@given(st.integers(1, 3).flatmap(lambda n: st.tuples(*[st.lists(PART, min_size=n, max_size=n)] * 2)), LIMITS)
def test_different_parts_make_different_names(pair: tuple[list[str], list[str]], limit: int) -> None:
    one, other = pair
    assume(one != other and any(one) and any(other))
    assert bounded_name(*one, limit=limit) != bounded_name(*other, limit=limit)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("a-b", "c"), ("a", "b-c"), id="where the parts meet"),
        pytest.param(("Web",), ("web",), id="case"),
        pytest.param(("a_b",), ("a-b",), id="replaced characters"),
        pytest.param(("x" * 99 + "1",), ("x" * 99 + "2",), id="beyond the limit"),
        pytest.param(("a", ""), ("", "a"), id="empty parts"),
        pytest.param(("-a",), ("a",), id="trimmed edges"),
    ],
)
def test_lookalikes_are_told_apart(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert bounded_name(*one) != bounded_name(*other)


@given(PART)
def test_nobody_can_be_called_like_a_shortened_name(part: str) -> None:
    assume(part)
    shortened = bounded_name("team-a", part)
    assert bounded_name(shortened) != shortened
    stem, _, rest = shortened.partition("-")
    assert bounded_name(stem, rest) != shortened


def test_names_of_one_alphabet_may_have_another_separator() -> None:
    dotted = replace(DNS_SUBDOMAIN, separator=".")
    assert bounded_name("team-a", "web", alphabet=dotted) == "team-a.web"


def test_case_stays_where_it_may() -> None:
    assert bounded_name("Team", "Web", alphabet=AWS_NAME) == "Team-Web"
    assert bounded_name("a_B", alphabet=AWS_IDENTIFIER) == "a_B"


@pytest.mark.parametrize("parts", [(), ("",), ("", "")])
def test_names_are_not_made_of_nothing(parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="something to be made of"):
        bounded_name(*parts)


def test_limit_must_leave_room_for_a_hash() -> None:
    assert len(bounded_name("A", limit=14)) == 14
    with pytest.raises(ValueError, match="no room"):
        bounded_name("A", limit=13)


def test_half_characters_have_names_too() -> None:
    assert bounded_name("\ud800") != bounded_name("\ud801")
