"""Lists: what is found, in which order, on which page."""

from __future__ import annotations

import pytest

from edgekeeper.kube.kinds import Key
from edgekeeper.web.directory import Listed
from edgekeeper.web.queries import ListQuery, ObjectPage, QueryError, list_objects
from tests.unit.web.fleet import DEPLOYING, READY, REFUSED, TENANT, row, tenant

ROWS = [
    row(tenant("shop", READY)),
    row(tenant("docs", DEPLOYING)),
    row(tenant("intranet", REFUSED, creationTimestamp="2026-02-01T00:00:00Z")),
    row(tenant("shop", READY, namespace="test")),
]


def listing(**parameters: str) -> ObjectPage:
    return list_objects(
        [Listed(one, one.text, TENANT, Key(one.namespace, one.name)) for one in ROWS],
        ListQuery.parse(parameters),
    )


def names(**parameters: str) -> list[str]:
    return [f"{one.namespace}/{one.name}" for one in listing(**parameters).items]


def test_list_begins_with_problems() -> None:
    assert names() == ["edge/intranet", "edge/docs", "edge/shop", "test/shop"]


@pytest.mark.parametrize(
    ("sort", "first"), [("name", "edge/docs"), ("kind", "edge/docs"), ("newest", "edge/intranet")]
)
def test_list_is_sorted_as_asked_for(sort: str, first: str) -> None:
    assert names(sort=sort)[0] == first


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("shop", {"edge/shop", "test/shop"}),
        ("SHOP.Example", {"edge/shop", "test/shop"}),
        ("shop test", {"test/shop"}),
        ("validationfailed", {"edge/intranet"}),
        ("distributiontenant docs", {"edge/docs"}),
        ("<script>", set()),
    ],
)
def test_search_finds_names_hostnames_namespaces_and_reasons(search: str, found: set[str]) -> None:
    assert set(names(q=search)) == found


def test_filters_limit_the_list_and_keep_the_counts() -> None:
    page = listing(namespace="edge", state="ready")
    assert [one.name for one in page.items] == ["shop"]
    assert page.states == {"attention": 1, "progressing": 1, "ready": 1}
    assert page.kinds == {"DistributionTenant": 4}
    assert names(kind="HTTPRoute") == []


def test_pages_have_every_object_once() -> None:
    pages = [listing(size="3", page=str(number)) for number in (1, 2)]
    assert [len(page.items) for page in pages] == [3, 1]
    assert len({one.id for page in pages for one in page.items}) == 4
    assert listing(size="3", page="9").page == 2
    assert listing(q="nothing").pages == 1


@pytest.mark.parametrize(
    "given",
    [
        {"page": "0"},
        {"page": "x"},
        {"page": "²"},
        {"size": "201"},
        {"size": "-1"},
        {"page": "9" * 30},
        {"size": "0000000019999"},
        {"size": "1" + "0" * 5000},
        {"state": "bad"},
        {"sort": "bad"},
        {"q": "x" * 201},
    ],
)
def test_parameter_that_is_not_valid_is_refused_by_name(given: dict[str, str]) -> None:
    with pytest.raises(QueryError, match=next(iter(given))):
        ListQuery.parse(given)
