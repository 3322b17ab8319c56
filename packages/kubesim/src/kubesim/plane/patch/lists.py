"""Lists in a strategic merge: matching items by key or by value, and the order in which the result comes out.

Items named by the patch come in the patch's order; items that only the live object has keep theirs, and are woven in
before the first patch item that stood behind them in the live list.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject
from kubesim.plane.patch.golang import go_text, go_type
from kubesim.plane.patch.json_patch import rejected
from kubesim.plane.patch.strategy import unmergeable

Identity: TypeAlias = Hashable
"""What makes two items the same one: its Go type and value, so that `1` and `true` stay apart."""


def item_type(*lists: Sequence[Any]) -> str:
    """Return the Go type that the items of all lists share; a merge of mixed lists has no meaning."""
    types = {go_type(item) for items in lists for item in items}
    if not types:
        raise unmergeable("no elements in any of the given slices")
    if len(types) > 1:
        raise unmergeable(f"list element types are not identical: {go_text(list(lists))}")
    (only,) = types
    if only.startswith("[]"):
        raise rejected()
    return only


def is_object_type(name: str) -> bool:
    return name.startswith("map[")


def key_value(item: Any, merge_key: str) -> Any:
    """Return the value of an item's merge key, which it must have."""
    if not isinstance(item, dict):
        raise unmergeable(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if merge_key not in item:
        raise unmergeable(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def identify(merge_key: str) -> Callable[[Any], Identity]:
    """Return the function that identifies items: by their merge key, or by themselves where there is none."""

    def identity(item: Any) -> Identity:
        value = key_value(item, merge_key) if merge_key else item
        if isinstance(value, dict | list):
            raise unmergeable(f"cannot compare values of type {go_type(value)}")
        return go_type(value), value

    return identity


def positions(items: Sequence[JsonObject], merge_key: str) -> dict[Identity, int]:
    """Return where each identity stands first. Items without the key have none."""
    identity = identify(merge_key)
    found: dict[Identity, int] = {}
    for position, item in enumerate(items):
        if merge_key in item:
            found.setdefault(identity(item), position)
    return found


def arrange(
    merged: Iterable[Any], patch_order: Sequence[Any], live_order: Sequence[Any], merge_key: str
) -> list[Any]:
    """Put merged items into their final order."""
    identity = identify(merge_key)
    patch_rank, live_rank = _ranks(patch_order, identity), _ranks(live_order, identity)
    from_patch: list[Any] = []
    live_only: list[Any] = []
    for item in merged:
        (from_patch if identity(item) in patch_rank else live_only).append(item)
    from_patch.sort(key=lambda item: patch_rank[identity(item)])
    live_only.sort(key=lambda item: live_rank.get(identity(item), len(live_rank)))
    return _weave(live_only, from_patch, lambda item: live_rank.get(identity(item)))


def _ranks(order: Sequence[Any], identity: Callable[[Any], Identity]) -> dict[Identity, int]:
    ranks: dict[Identity, int] = {}
    for rank, item in enumerate(order):
        ranks.setdefault(identity(item), rank)
    return ranks


def _weave(
    live_only: Sequence[Any], from_patch: Sequence[Any], rank: Callable[[Any], int | None]
) -> list[Any]:
    """Interleave two sorted lists: a live item goes first where both are known and it stood in front."""
    woven: list[Any] = []
    waiting = list(reversed(live_only))
    for item in from_patch:
        position = rank(item)
        while waiting and position is not None:
            ahead = rank(waiting[-1])
            if ahead is None or ahead >= position:
                break
            woven.append(waiting.pop())
        woven.append(item)
    return woven + waiting[::-1]
