"""Who may refer to what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import NAMESPACE, REFERENCE_GRANT, SECRET, Key, Kind
from edgekeeper.kube.store import Change, NotSyncedError, Store
from edgekeeper.runtime.references import NOT_GRANTED, Reference, References, grants_reference, grants_to
from tests.unit.runtime.world import PART, WIDGET

ACROSS = Reference(WIDGET, "team-a", SECRET, "token", "vault")
FROM = {"group": "example.com", "kind": "Widget", "namespace": "team-a"}
TO = {"group": "", "kind": "Secret"}


def grant(
    namespace: str = "vault", name: str = "grant", *, sources: Any = (FROM,), to: Any = (TO,)
) -> JsonObject:
    return {
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": "1", "uid": name},
        "spec": {"from": sources, "to": to},
    }


def store_of(*grants: JsonObject) -> Store:
    store = Store(REFERENCE_GRANT)
    for each in grants:
        store.put(Key(each["metadata"]["namespace"], each["metadata"]["name"]), msgspec.json.encode(each))
    store.mark_synced()
    return store


def resolve(reference: Reference, *grants: JsonObject) -> Key:
    return References(store_of(*grants)).resolve(reference)


def test_reference_within_a_namespace_needs_no_grant() -> None:
    assert resolve(replace(ACROSS, namespace="")) == Key("team-a", "token")
    assert resolve(replace(ACROSS, namespace="team-a")) == Key("team-a", "token")


def test_reference_to_what_has_no_namespace_needs_no_grant() -> None:
    assert resolve(replace(ACROSS, target=NAMESPACE)) == Key("", "token")


def test_reference_across_namespaces_needs_a_grant_there() -> None:
    assert resolve(ACROSS, grant()) == Key("vault", "token")


@pytest.mark.parametrize(
    "grants",
    [
        pytest.param([], id="no grant"),
        pytest.param([grant("team-a")], id="a grant that one gives oneself"),
        pytest.param([grant("team-c")], id="a grant of somebody else"),
        pytest.param([grant(sources=[{**FROM, "namespace": "team-b"}])], id="from another namespace"),
        pytest.param([grant(sources=[{**FROM, "namespace": "vault"}])], id="from the target's namespace"),
        pytest.param([grant(sources=[{**FROM, "namespace": "*"}])], id="from a pattern"),
        pytest.param([grant(sources=[{**FROM, "kind": "Part"}])], id="from another kind"),
        pytest.param([grant(sources=[{**FROM, "group": "example.org"}])], id="from another group"),
        pytest.param([grant(sources=[{"kind": "Widget", "namespace": "team-a"}])], id="from no group"),
        pytest.param([grant(sources=[])], id="from nobody"),
        pytest.param([grant(to=[{**TO, "kind": "ConfigMap"}])], id="to another kind"),
        pytest.param([grant(to=[{**TO, "group": "example.com"}])], id="to another group"),
        pytest.param([grant(to=[{**TO, "name": "other"}])], id="to another name"),
        pytest.param([grant(to=[])], id="to nothing"),
        pytest.param([grant(to=None), grant(name="two", sources="all")], id="nonsense"),
        pytest.param(
            [grant(to=[]), grant(name="two", sources=[])], id="two grants that would be one together"
        ),
    ],
)
def test_reference_is_refused_by_anything_but_an_exact_grant(grants: list[JsonObject]) -> None:
    with pytest.raises(Stall) as caught:
        resolve(ACROSS, *grants)
    assert caught.value.reason == NOT_GRANTED
    assert "namespace vault has no ReferenceGrant" in caught.value.message


def test_grant_may_name_the_target() -> None:
    assert resolve(ACROSS, grant(to=[{**TO, "name": "token"}])) == Key("vault", "token")
    assert resolve(ACROSS, grant(to=[{**TO, "name": ""}])) == Key("vault", "token")


def test_grant_that_is_taken_back_stops_the_next_use() -> None:
    store = store_of(grant())
    references = References(store)
    assert references.resolve(ACROSS) == Key("vault", "token")
    store.remove(Key("vault", "grant"))
    with pytest.raises(Stall):
        references.resolve(ACROSS)


def test_unknown_grants_neither_grant_nor_deny() -> None:
    references = References(Store(REFERENCE_GRANT))
    with pytest.raises(NotSyncedError):
        references.resolve(ACROSS)
    assert references.resolve(replace(ACROSS, namespace="")) == Key("team-a", "token")


def test_referrer_without_a_namespace_must_name_one_and_be_granted_it() -> None:
    cluster_wide = replace(ACROSS, referrer_namespace="")
    with pytest.raises(Stall, match="must name a namespace"):
        resolve(replace(cluster_wide, namespace=""), grant())
    with pytest.raises(Stall):
        resolve(cluster_wide, grant())


words = st.sampled_from(["", "a", "b", "Widget", "Secret", "example.com", "team-a", "vault", "token"])
entries = st.fixed_dictionaries({}, optional=dict.fromkeys(("group", "kind", "namespace", "name"), words))


@given(
    namespace=words,
    sources=st.lists(entries | words, max_size=3),
    targets=st.lists(entries | words, max_size=3),
)
def test_whatever_is_granted_is_named_in_full(namespace: str, sources: list[Any], targets: list[Any]) -> None:
    if grants_reference(grant(namespace, sources=sources, to=targets), ACROSS):
        assert namespace == "vault"
        assert (
            FROM.items() <= max((each for each in sources if isinstance(each, dict)), key=_likeness).items()
        )
        assert any(isinstance(each, dict) and TO.items() <= each.items() for each in targets)


def _likeness(entry: JsonObject) -> int:
    return len(FROM.items() & entry.items())


@pytest.mark.parametrize(
    ("kind", "woken"),
    [(WIDGET, {Key("team-a", "one"), Key("team-a", "two")}), (PART, set())],
    ids=["ours", "theirs"],
)
def test_change_of_a_grant_concerns_those_it_is_for(kind: Kind, woken: set[Key]) -> None:
    source = grants_to(kind, lambda namespace: [Key(namespace, "one"), Key(namespace, "two")])
    raw = msgspec.json.encode(grant())
    assert source.kind == REFERENCE_GRANT
    assert set(source.concerned(Change(Key("vault", "grant"), raw, None, initial=False))) == woken


@pytest.mark.parametrize(
    ("mark", "why"),
    [(Store.mark_not_served, "does not serve ReferenceGrants"), (Store.mark_forbidden, "may not be listed")],
    ids=["not served", "forbidden"],
)
def test_reference_is_refused_with_the_cause_where_nobody_could_grant_it(
    mark: Callable[[Store], None], why: str
) -> None:
    store = Store(REFERENCE_GRANT)
    mark(store)
    with pytest.raises(Stall, match=why) as caught:
        References(store).resolve(ACROSS)
    assert caught.value.reason == NOT_GRANTED
    assert References(store).resolve(replace(ACROSS, namespace="")) == Key("team-a", "token")
