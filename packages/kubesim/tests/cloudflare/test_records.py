"""DNS as Cloudflare keeps it: which records may be, beside which others, and all or nothing in a batch."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cloudflare.wire import Refusal
from packages.kubesim.tests.cloudflare.place import Place, place, refused

A: dict[str, Any] = {"type": "A", "name": "a", "content": "192.0.2.1", "ttl": 120}
AAAA: dict[str, Any] = {"type": "AAAA", "name": "a", "content": "2001:db8::1", "ttl": 120}
CNAME: dict[str, Any] = {"type": "CNAME", "name": "a", "content": "b.example.net", "ttl": 1, "proxied": True}
TXT: dict[str, Any] = {"type": "TXT", "name": "a", "content": "hello", "ttl": 120}
NS: dict[str, Any] = {"type": "NS", "name": "a", "content": "ns.example.net", "ttl": 120}


@pytest.mark.parametrize(
    ("present", "added", "code"),
    [
        pytest.param(A, {**A, "content": "192.0.2.2"}, None, id="another-address"),
        pytest.param(A, AAAA, None, id="both-versions"),
        pytest.param(A, TXT, None, id="text-beside"),
        pytest.param(A, A, 81058, id="identical"),
        pytest.param(A, {**A, "ttl": 300}, 81057, id="same-target"),
        pytest.param(CNAME, CNAME, 81058, id="identical-cname"),
        pytest.param(CNAME, {**CNAME, "content": "c.example.net"}, 81053, id="second-cname"),
        pytest.param(A, CNAME, 81053, id="cname-beside-address"),
        pytest.param(CNAME, A, 81054, id="address-beside-cname"),
        pytest.param(NS, A, 81056, id="address-beside-delegation"),
    ],
)
def test_records_stand_beside_each_other_as_cloudflare_allows(
    present: dict[str, Any], added: dict[str, Any], code: int | None
) -> None:
    here = place()
    here.records("POST", present)
    if code is None:
        here.records("POST", added)
        assert len(here.zone.records) == 2
        return
    with refused(code):
        here.records("POST", added)
    assert len(here.zone.records) == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"type": "A6"}, 9003),
        ({"name": ""}, 9000),
        ({"name": None}, 9000),
        ({"name": "a b"}, 9000),
        ({"name": "-a"}, 9000),
        ({"name": "a." * 130}, 9000),
        ({"content": "2001:db8::1"}, 9005),
        ({"content": "host"}, 9005),
        ({"content": ""}, 9009),
        ({"type": "AAAA"}, 9006),
        ({"type": "CNAME", "content": "192.0.2.1"}, 9007),
        ({"ttl": 30}, 9021),
        ({"ttl": 86401}, 9021),
        ({"ttl": "120"}, 9021),
        ({"type": "TXT", "proxied": True}, 9004),
        ({"comment": "a\nb"}, 9082),
        ({"tags": "a:b"}, 9301),
    ],
    ids=str,
)
def test_record_that_cannot_be_is_refused(fields: dict[str, Any], code: int) -> None:
    here = place()
    with refused(code):
        here.records("POST", {**A, **fields})
    assert not here.zone.records


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("a", "a.example.com"),
        ("@", "example.com"),
        ("A.Example.COM.", "a.example.com"),
        ("*", "*.example.com"),
    ],
)
def test_record_is_shown_with_its_whole_name(name: str, stored: str) -> None:
    assert place().records("POST", {**A, "name": name})["name"] == stored


def test_proxied_record_has_the_automatic_ttl() -> None:
    assert place().records("POST", {**A, "proxied": True})["ttl"] == 1


def test_free_plan_takes_short_comments_no_tags_and_few_records() -> None:
    here = place("free")
    with refused(9083):
        here.records("POST", {**A, "comment": "x" * 101})
    with refused(9300):
        here.records("POST", {**A, "tags": ["a:b"]})
    here.records("POST", {**A, "comment": "x" * 100})
    for number in range(199):
        here.records("POST", {**A, "name": f"host-{number}"})
    with refused(81045):
        here.records("POST", {**A, "name": "one-too-many"})


def test_put_resets_what_it_leaves_out_and_patch_does_not() -> None:
    here = place()
    made = here.records("POST", {**A, "proxied": True, "comment": "ours", "tags": ["a:b"]})
    patched = here.records("PATCH", {"content": "192.0.2.2"}, made["id"])
    assert (patched["content"], patched["proxied"], patched["comment"]) == ("192.0.2.2", True, "ours")
    put = here.records("PUT", A, made["id"])
    assert (put["content"], put["proxied"], put["comment"], put["tags"]) == ("192.0.2.1", False, None, [])
    assert put["created_on"] == made["created_on"]


def test_type_of_a_record_cannot_be_changed() -> None:
    here = place()
    made = here.records("POST", A)
    for method in ("PUT", "PATCH"):
        with refused(9008):
            here.records(method, CNAME, made["id"])


def test_rewriting_a_record_may_not_make_it_collide() -> None:
    here = place()
    here.records("POST", A)
    other = here.records("POST", {**A, "name": "b"})
    with refused(81058):
        here.records("PUT", A, other["id"])
    here.records("PUT", {**A, "name": "b"}, other["id"])


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_record_that_is_not_there_is_not_found(method: str) -> None:
    with refused(81044):
        place().records(method, A, "0" * 32)


def test_batch_deletes_before_it_creates() -> None:
    here = place()
    old = here.records("POST", A)
    done = here.records("POST", {"posts": [CNAME], "deletes": [{"id": old["id"]}]}, "batch")
    assert [len(done[part]) for part in ("deletes", "patches", "puts", "posts")] == [1, 0, 0, 1]
    assert [record["type"] for record in here.zone.records.values()] == ["CNAME"]


@pytest.mark.parametrize(
    "bad",
    [
        {"posts": [{**A, "name": "b"}, A]},
        {"posts": [{**A, "name": "b"}, {**A, "name": "c", "ttl": 5}]},
        {"posts": [{**A, "name": "b"}], "deletes": [{"id": "none"}]},
        {"posts": [{**A, "name": "b"}], "patches": [{"id": "none", "content": "192.0.2.9"}]},
        {"posts": [{**A, "name": "b"}], "puts": [{"id": "none", **A}]},
        {"posts": [{**A, "name": "b"}, "nonsense"]},
    ],
    ids=["collision", "invalid", "delete", "patch", "put", "shape"],
)
def test_batch_does_all_or_nothing(bad: dict[str, Any]) -> None:
    here = place()
    here.records("POST", A)
    before = dict(here.zone.records)
    with pytest.raises(Refusal):
        here.records("POST", bad, "batch")
    assert here.zone.records == before


def test_batch_has_a_largest_size_by_plan() -> None:
    posts = [{**A, "name": f"host-{number}"} for number in range(201)]
    with refused(9208):
        place("free").records("POST", {"posts": posts}, "batch")
    place("pro").records("POST", {"posts": posts}, "batch")


def _three() -> Place:
    here = place()
    here.records("POST", {**A, "comment": "Ours: 1"})
    here.records("POST", {**AAAA, "comment": "ours: 2"})
    here.records("POST", {**CNAME, "name": "c", "comment": "theirs"})
    return here


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ({}, ["A", "AAAA", "CNAME"]),
        ({"type": "A"}, ["A"]),
        ({"name": "A.example.com"}, ["A", "AAAA"]),
        ({"name.exact": "c.example.com"}, ["CNAME"]),
        ({"comment.startswith": "ours"}, ["A", "AAAA"]),
        ({"comment.contains": ": 2"}, ["AAAA"]),
        ({"content.endswith": "example.net"}, ["CNAME"]),
        ({"proxied": "true"}, ["CNAME"]),
        ({"type": "A", "comment": "theirs"}, []),
        ({"type": "A", "comment": "theirs", "match": "any"}, ["A", "CNAME"]),
        ({"order": "type", "direction": "desc"}, ["CNAME", "AAAA", "A"]),
        ({"per_page": "2"}, ["A", "AAAA"]),
        ({"per_page": "2", "page": "2"}, ["CNAME"]),
        ({"page": "9"}, []),
    ],
    ids=str,
)
def test_listing_filters_orders_and_pages(query: dict[str, str], types: list[str]) -> None:
    assert [record["type"] for record in _three().records("GET", **query)] == types


@pytest.mark.parametrize("query", [{"per_page": "0"}, {"per_page": "x"}, {"page": "-1"}], ids=str)
def test_listing_refuses_pages_that_cannot_be(query: dict[str, str]) -> None:
    with refused(1100):
        place().records("GET", **query)
