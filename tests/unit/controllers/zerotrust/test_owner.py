"""Marks by which things at Cloudflare are found. Their format never changes."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.zerotrust.owner import cluster_mark, cluster_tag, is_marked, route_mark

CLUSTER = "5f0c9e1a-7f55-4c29-9f0e-6d0f3c1f9d11"


def test_marks_have_this_format() -> None:
    assert cluster_tag(CLUSTER) == "edgekeeper-e2e52c083f56"
    assert cluster_mark(CLUSTER) == "edgekeeper e2e52c083f56 "
    assert route_mark(CLUSTER, "shop", "web") == "edgekeeper e2e52c083f56 97375646b1deb3d2d5c4 shop/web"


def test_mark_begins_with_the_mark_of_the_cluster() -> None:
    assert route_mark(CLUSTER, "shop", "web").startswith(cluster_mark(CLUSTER))


def test_mark_is_cut_at_what_cloudflare_takes() -> None:
    mark = route_mark(CLUSTER, "n" * 63, "r" * 253)
    assert len(mark) == 100
    assert is_marked(mark, CLUSTER, "n" * 63, "r" * 253)
    assert not is_marked(mark, CLUSTER, "n" * 63, "r" * 252)


@pytest.mark.parametrize(
    ("cluster", "namespace", "name"),
    [
        ("other", "shop", "web"),
        (CLUSTER, "other", "web"),
        (CLUSTER, "shop", "other"),
        (CLUSTER, "shop-web", ""),
    ],
)
def test_mark_is_of_one_route_only(cluster: str, namespace: str, name: str) -> None:
    mark = route_mark(CLUSTER, "shop", "web")
    assert is_marked(mark, CLUSTER, "shop", "web")
    assert not is_marked(mark, cluster, namespace, name)


@pytest.mark.parametrize("comment", ["", "edgekeeper", "mine", " edgekeeper e2e52c083f56 x"])
def test_mark_of_others_is_none(comment: str) -> None:
    assert not is_marked(comment, CLUSTER, "shop", "web")
    longer = f"{route_mark(CLUSTER, 'shop', 'web').rpartition(' ')[0]}0 shop/web"
    assert not is_marked(longer, CLUSTER, "shop", "web")
