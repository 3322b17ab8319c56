"""Recent changes: what passes did, and with how many calls."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta

import pytest

from edgekeeper.cloud.call_context import Actor, acting_for, sweeping
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.delta import ABSENT, Difference
from edgekeeper.core.notes import notes
from edgekeeper.core.outcome import Event
from edgekeeper.core.tracing import NO_TRACES, Span, Tracer
from edgekeeper.kube.kinds import Key
from edgekeeper.web.directory import SpecChange
from edgekeeper.web.journal import MOST_ENTRIES, Journal
from tests.unit.web.fleet import TENANT

SHOP = ("DistributionTenant", "edge", "shop")
ACTOR = Actor(*SHOP, "uid", 1)
READ, WRITE = "GetDistributionTenant", "UpdateDistributionTenant"


class World:
    """A journal, and passes that are played."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.journal = Journal(NO_TRACES, self.clock)
        self.calls = Calls()

    def call(
        self, operation: str, *, target: str = "cloudfront", subject: str = "dt_1", mutating: bool = True
    ) -> None:
        with self.journal.call(self.calls.record(target, operation, subject, mutating=mutating)):
            pass


@pytest.fixture
def world() -> World:
    return World()


def test_pass_that_changes_something_is_an_entry_with_its_calls(world: World) -> None:
    with world.journal.reconciliation("distributiontenant", *SHOP, "id") as span:
        world.call(READ, mutating=False)
        world.call(WRITE)
        notes().step("update tenant dt_1", "the spec has changed", (Difference("enabled", True, False),))
        notes().event(Event("Normal", "Updated", "updated tenant dt_1"))
        span.end("requeue_after")
    (entry,) = world.journal.entries()
    assert (entry.who, entry.what, entry.result) == (
        "distributiontenant controller",
        "update tenant dt_1",
        "requeue_after",
    )
    assert [(one.operation, one.count, one.writes) for one in entry.calls] == [
        (READ, 1, False),
        (WRITE, 1, True),
    ]
    assert [(one.path, one.before, one.after) for one in entry.steps[0].fields] == [
        ("enabled", "true", "false")
    ]
    assert [one.reason for one in entry.events] == ["Updated"]


def test_pass_that_only_looks_is_no_entry(world: World) -> None:
    with world.journal.reconciliation("distributiontenant", *SHOP, "id") as span:
        world.call(READ, mutating=False)
        world.call("PATCH distributiontenants/status", target="kubernetes")
        span.end("success")
    assert world.journal.entries() == []


def test_pass_that_raises_is_an_entry_too(world: World) -> None:
    def fail() -> None:
        with world.journal.reconciliation("distributiontenant", *SHOP, "id"):
            world.call(WRITE)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert len(world.journal.entries()) == 1


def test_drift_of_an_object_is_kept_field_by_field(world: World) -> None:
    with world.journal.reconciliation("distributiontenant", *SHOP, "id"):
        notes().drift((Difference("enabled", False, True), Difference("tags[team]", "b", ABSENT)))
    found = world.journal.drift_of(SHOP)
    assert found is not None
    assert [(one.path, one.before, one.after) for one in found[1]] == [
        ("enabled", "false", "true"),
        ("tags[team]", '"b"', None),
    ]


def test_call_of_a_batch_is_an_entry_of_all_its_objects(world: World) -> None:
    other = Actor("DistributionTenant", "edge", "docs", "uid", 1)
    with acting_for(ACTOR, other):
        world.call("ChangeResourceRecordSets", target="route53", subject="Z1")
    assert [one.what for one in world.journal.entries(SHOP)] == ["ChangeResourceRecordSets Z1"]
    assert world.journal.entries(("DistributionTenant", "edge", "other")) == []


def test_batch_that_a_pass_has_started_is_not_its_own(world: World) -> None:
    other = Actor("DistributionTenant", "edge", "docs", "uid", 1)
    with world.journal.reconciliation("distributiontenant", *SHOP, "id"):
        notes().step("write CNAME shop.example.com", "it is missing", ())
        with acting_for(ACTOR):
            world.call(READ, mutating=False)
        with acting_for(ACTOR, other):
            world.call("ChangeResourceRecordSets", target="route53", subject="Z1")
    own, batch = world.journal.entries(SHOP)
    assert [one.operation for one in own.calls] == [READ]
    assert [one.operation for one in batch.calls] == ["ChangeResourceRecordSets"]


def test_listing_of_a_mirror_is_nobodys(world: World) -> None:
    with sweeping():
        world.call("ListDistributionTenants", mutating=False)
        world.call(WRITE)
    assert world.journal.entries() == []


def test_notes_after_the_end_of_a_pass_are_not_counted(world: World) -> None:
    with world.journal.reconciliation("distributiontenant", *SHOP, "id"):
        late = notes()
        notes().step("create tenant shop", "it does not exist yet", ())
    assert late is not notes()
    world.call(WRITE)
    assert world.journal.entries()[0].calls == []


def test_secrets_are_not_in_the_journal(world: World) -> None:
    with world.journal.reconciliation("distributiontenant", *SHOP, "id"):
        changes = (
            Difference("data.token", "s3cret", "n3w"),
            Difference("spec", {"password": "s3cret"}, ABSENT),
        )
        notes().step("write Authorization: Bearer s3cret", "token=s3cret", changes)
        notes().event(Event("Warning", "Failed", "https://user:s3cret@host/ failed"))
    text = repr(world.journal.entries())
    assert "s3cret" not in text
    assert "n3w" not in text


def test_journal_is_bounded_and_newest_first(world: World) -> None:
    for number in range(MOST_ENTRIES + 5):
        world.journal.spec_changed(SpecChange(TENANT, Key("edge", f"t{number}"), "created"))
    found = world.journal.entries(limit=10_000)
    assert len(found) == MOST_ENTRIES
    assert [entry.id for entry in found[:2]] == [MOST_ENTRIES + 5, MOST_ENTRIES + 4]
    assert [entry.id for entry in world.journal.entries(limit=1, before=found[0].id)] == [found[1].id]


def test_own_write_counts_once_and_not_for_long(world: World) -> None:
    def write() -> None:
        world.call("PATCH distributiontenants", target="kubernetes", subject="edge/shop")

    write()
    assert world.journal.is_own_write(TENANT, Key("edge", "shop"))
    assert not world.journal.is_own_write(TENANT, Key("edge", "shop"))
    write()
    world.clock.advance(timedelta(minutes=1))
    assert not world.journal.is_own_write(TENANT, Key("edge", "shop"))


def test_spans_reach_the_tracer_below() -> None:
    ended: list[str] = []

    class Below(Span):
        def end(self, result: str, *, failed: bool = False) -> None:
            ended.append(result)

    class TracerBelow(Tracer):
        def reconciliation(self, *_: str) -> AbstractContextManager[Span]:
            return nullcontext(Below())

    journal = Journal(TracerBelow(), VirtualClock())
    with journal.reconciliation("distributiontenant", *SHOP, "id") as span:
        span.end("success")
    assert ended == ["success"]
