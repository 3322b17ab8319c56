"""Cutting up streams and lists loses nothing and invents nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.kube.pages import BrokenLineError, parse_page, split_lines
from kubesim.virtual import run_virtual


async def _stream(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _cut(text: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def _lines(chunks: list[bytes]) -> list[bytes]:
    async def collect() -> list[bytes]:
        return [line async for line in split_lines(_stream(chunks))]

    return run_virtual(collect)


@given(
    lines=st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line)),
    cuts=st.lists(st.integers(0, 200)),
)
def test_lines_are_the_same_wherever_the_stream_is_cut(lines: list[bytes], cuts: list[int]) -> None:
    text = b"".join(line + b"\n" for line in lines)
    assert _lines(_cut(text, cuts)) == lines


@given(lines=st.lists(st.just(b"{}")), rest=st.binary(min_size=1).filter(lambda rest: b"\n" not in rest))
def test_line_without_an_end_is_never_taken_for_one(lines: list[bytes], rest: bytes) -> None:
    with pytest.raises(BrokenLineError, match="in the middle of a line"):
        _lines([*(line + b"\n" for line in lines), rest])


@given(
    items=st.lists(st.dictionaries(st.text(), st.integers(-(2**31), 2**31) | st.text() | st.none())),
    token=st.text(),
)
def test_page_has_the_items_of_the_list(items: list[dict[str, object]], token: str) -> None:
    tree = {"kind": "List", "metadata": {"resourceVersion": "7", "continue": token}, "items": items}
    page, following = parse_page(msgspec.json.encode(tree))
    assert [json.loads(item) for item in page.items] == items
    assert (page.resource_version, page.last, following) == ("7", not token, token)


def test_page_leaves_items_as_they_were_written() -> None:
    """Bytes that nobody looks at cost nothing, and numbers keep all their digits."""
    page, _ = parse_page(b'{"items": [ {"a" : 1.000,"b":123456789012345678901234567890} ]}')
    assert page.items == [b'{"a" : 1.000,"b":123456789012345678901234567890}']
