"""Long lists in pages, and which state of the world a list shows."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client, eventually
from tests.conformance.kinds import CONFIG_MAPS, config_map, labelled


def names(body: JsonObject) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


def after(token: str, limit: int) -> dict[str, Any]:
    """The parameters of the next page: Python cannot pass one of them by name."""
    return {"continue": token, "limit": limit}


async def fill(api: Client, namespace: str, count: int) -> None:
    for index in range(count):
        (await api.create(CONFIG_MAPS.path(namespace), config_map(f"item-{index}"))).expect(201)


async def test_pages_join_to_the_whole_list(api: Client, namespace: str) -> None:
    await fill(api, namespace, 5)
    path = CONFIG_MAPS.path(namespace)
    pages = [(await api.get(path, limit=2)).expect(200)]
    while token := pages[-1]["metadata"].get("continue"):
        pages.append((await api.get(path, **after(token, 2))).expect(200))
    assert [names(page) for page in pages] == [["item-0", "item-1"], ["item-2", "item-3"], ["item-4"]]
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [3, 1, None]
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1


async def test_page_that_holds_everything_is_the_last(api: Client, namespace: str) -> None:
    await fill(api, namespace, 2)
    metadata = (await api.get(CONFIG_MAPS.path(namespace), limit=2)).expect(200)["metadata"]
    assert "continue" not in metadata
    assert "remainingItemCount" not in metadata


async def test_pages_show_one_moment_while_objects_change(api: Client, namespace: str) -> None:
    await fill(api, namespace, 4)
    path = CONFIG_MAPS.path(namespace)
    first = (await api.get(path, limit=2)).expect(200)
    await api.create(path, config_map("item-2-new"))
    await api.delete(CONFIG_MAPS.path(namespace, "item-3"))
    await api.patch(CONFIG_MAPS.path(namespace, "item-2"), {"data": {"colour": "red"}})
    second = (await api.get(path, **after(first["metadata"]["continue"], 2))).expect(200)
    assert names(second) == ["item-2", "item-3"]
    assert second["items"][0]["data"] == {"colour": "green"}
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_remaining_count_is_left_out_with_a_selector(api: Client, namespace: str) -> None:
    for name in "abc":
        await api.create(CONFIG_MAPS.path(namespace), labelled(name, app="web"))
    body = (await api.get(CONFIG_MAPS.path(namespace), limit=2, labelSelector="app=web")).expect(200)
    assert names(body) == ["a", "b"]
    assert body["metadata"]["continue"]
    assert "remainingItemCount" not in body["metadata"]


async def test_selector_fills_pages_with_what_it_selects(api: Client, namespace: str) -> None:
    for index in range(6):
        body = labelled(f"item-{index}", parity="odd" if index % 2 else "even")
        await api.create(CONFIG_MAPS.path(namespace), body)
    path = CONFIG_MAPS.path(namespace)
    first = (await api.get(path, limit=2, labelSelector="parity=odd")).expect(200)
    token = first["metadata"]["continue"]
    second = await api.get(path, labelSelector="parity=odd", **after(token, 2))
    assert names(first) + names(second.expect(200)) == ["item-1", "item-3", "item-5"]


async def test_unreadable_continue_token_is_refused(api: Client, namespace: str) -> None:
    status = (await api.get(CONFIG_MAPS.path(namespace), **after("nonsense", 2))).refuse(400, "BadRequest")
    assert status["message"].startswith("invalid continue token: continue key is not valid")


async def test_continue_token_excludes_a_resource_version(api: Client, namespace: str) -> None:
    await fill(api, namespace, 3)
    path = CONFIG_MAPS.path(namespace)
    token = (await api.get(path, limit=2)).expect(200)["metadata"]["continue"]
    status = (await api.get(path, resourceVersion="5", **after(token, 2))).refuse(400, "BadRequest")
    assert status["message"] == "specifying resource version is not allowed when using continue"


async def test_expired_continue_token_offers_an_inconsistent_one(api: Client, namespace: str) -> None:
    await fill(api, namespace, 3)
    path = CONFIG_MAPS.path(namespace)
    token = (await api.get(path, limit=2)).expect(200)["metadata"]["continue"]
    await api.create(path, config_map("later"))
    api.server.compact()

    async def refused() -> JsonObject | None:
        answer = await api.get(path, **after(token, 2))
        return answer.body if answer.status != 200 else None

    status = await eventually(refused, what="the token expires")
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith(
        "The provided continue parameter is too old to display a consistent list result."
    )
    fresh = status["metadata"]["continue"]
    rest = (await api.get(path, **after(fresh, 9))).expect(200)
    assert names(rest) == ["item-2", "later"]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"resourceVersion": "0"},
        {"resourceVersion": "{seen}"},
        {"resourceVersion": "{seen}", "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan"},
    ],
    ids=["latest", "any", "at-least", "not-older-than", "not-older-than-zero"],
)
async def test_list_is_at_least_as_fresh_as_asked(
    api: Client, namespace: str, parameters: dict[str, str]
) -> None:
    created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    seen = created["metadata"]["resourceVersion"]
    sent = {name: value.format(seen=seen) for name, value in parameters.items()}

    async def shown() -> JsonObject | None:
        body = (await api.get(CONFIG_MAPS.path(namespace), **sent)).expect(200)
        # Any age will do for `0`, so only then may the object be missing at first.
        assert names(body) == ["one"] or sent.get("resourceVersion") == "0"
        return body if body["items"] else None

    body = await eventually(shown, what="the object is listed")
    assert int(body["metadata"]["resourceVersion"]) >= int(seen)


async def test_exact_match_shows_the_past(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    first = (await api.create(path, config_map("one"))).expect(201)["metadata"]["resourceVersion"]
    await api.create(path, config_map("two"))
    body = (await api.get(path, resourceVersion=first, resourceVersionMatch="Exact")).expect(200)
    assert names(body) == ["one"]
    assert body["metadata"]["resourceVersion"] == first


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"resourceVersionMatch": "Exact"}, "resourceVersionMatch"),
        ({"resourceVersion": "0", "resourceVersionMatch": "Exact"}, "resourceVersionMatch"),
        ({"resourceVersion": "1", "resourceVersionMatch": "Sometimes"}, "resourceVersionMatch"),
    ],
    ids=["without-version", "exactly-zero", "unknown"],
)
async def test_impossible_version_match_is_refused(
    api: Client, namespace: str, parameters: dict[str, Any], field: str
) -> None:
    status = (await api.get(CONFIG_MAPS.path(namespace), **parameters)).refuse(422, "Invalid")
    assert status["message"].startswith('ListOptions.meta.k8s.io "" is invalid: ')
    assert status["details"]["causes"][0]["field"] == field


async def test_malformed_resource_version_is_refused(api: Client, namespace: str) -> None:
    status = (await api.get(CONFIG_MAPS.path(namespace), resourceVersion="abc")).refuse(400, "BadRequest")
    assert 'resourceVersion: Invalid value: "abc"' in status["message"]


async def test_malformed_number_is_refused(api: Client, namespace: str) -> None:
    for parameter in ("limit", "timeoutSeconds"):
        (await api.get(CONFIG_MAPS.path(namespace), **{parameter: "abc"})).refuse(
            400, "BadRequest", 'strconv.ParseInt: parsing "abc": invalid syntax'
        )


async def test_version_from_the_future_is_too_large(api: Client, namespace: str) -> None:
    status = (await api.get(CONFIG_MAPS.path(namespace), resourceVersion="99999999999")).refuse(
        504, "Timeout"
    )
    assert status["message"].startswith("Timeout: Too large resource version: 99999999999, current: ")
    assert status["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert status["details"]["retryAfterSeconds"] == 1


async def test_get_accepts_the_version_it_has_seen(api: Client, namespace: str) -> None:
    created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    path = CONFIG_MAPS.path(namespace, "one")
    read = await api.get(path, resourceVersion=created["metadata"]["resourceVersion"])
    assert read.expect(200) == created


async def test_continue_token_is_opaque_but_readable_base64(api: Client, namespace: str) -> None:
    """Tools show it in logs; it must survive as a URL parameter."""
    await fill(api, namespace, 2)
    token = (await api.get(CONFIG_MAPS.path(namespace), limit=1)).expect(200)["metadata"]["continue"]
    decoded = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    assert decoded["v"] == "meta.k8s.io/v1"
