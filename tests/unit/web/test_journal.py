"""Recent changes: what passes did, and with how many calls."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta

import pytest

from edgekeeper.cloud.call_context import Actor, acting_for, sweeping
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.delta import ABSENT, ChangedField, Difference
from edgekeeper.core.notes import notes
from edgekeeper.core.outcome import Event
from edgekeeper.core.tracing import NO_TRACES, Span, Tracer
from edgekeeper.kube.kinds import Key
from edgekeeper.web.directory import SpecChange
from edgekeeper.web.journal import MOST_ENTRIES, MOST_FIELDS, Journal
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
        with self.journal.call(self.calls.record(target, operation, subject, mutating=mutating)) as span:
            span.end("200")


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


def test_drift_that_another_controller_has_recorded_is_kept_as_it_is(world: World) -> None:
    field = ChangedField("dns[CNAME a].proxied", "false", "true")
    with world.journal.reconciliation("httproute", *SHOP, "id"):
        notes().recorded_drift([field] * (MOST_FIELDS + 1))
    found = world.journal.drift_of(SHOP)
    assert found is not None
    assert found[1] == [field] * MOST_FIELDS


def test_entry_has_the_generation_that_the_pass_has_seen(world: World) -> None:
    with world.journal.reconciliation("distributiontenant", *SHOP, "id"):
        notes().about(7)
        notes().step("create tenant shop", "it does not exist yet", ())
    assert [one.generation for one in world.journal.entries()] == [7]


def test_entry_with_several_steps_says_how_many(world: World) -> None:
    with world.journal.reconciliation("instance", *SHOP, "id"):
        for name in ("a", "b", "c"):
            notes().step(f"create ConfigMap {name}", "the graph wants it", ())
    (entry,) = world.journal.entries()
    assert entry.what == "create ConfigMap a, and 2 more"
    assert [one.what for one in entry.steps] == [f"create ConfigMap {name}" for name in ("a", "b", "c")]


def test_pass_of_an_internal_object_is_told_of_the_object_that_people_know(world: World) -> None:
    task, route = ("CloudflareTask", "system", "t-1"), ("HTTPRoute", "apps", "web")
    with world.journal.reconciliation("cloudflaretask", *task, "id"):
        notes().about(3)
        notes().on_behalf_of(*route)
        notes().step("create Access application", "the route asks for it", ())
        with acting_for(Actor(*task, "uid", 1)):
            world.call("CreateApplication", target="cloudflare")
    with acting_for(Actor(*task, "uid", 1), ACTOR):
        world.call("ChangeDnsRecords", target="cloudflare", subject="/zones/z/batch")
    batch, own = world.journal.entries(route)
    assert world.journal.entries(task) == []
    assert (own.who, own.generation, own.calls[0].operation) == (
        "cloudflaretask controller",
        0,
        "CreateApplication",
    )
    assert (batch.what, batch.subjects) == ("ChangeDnsRecords", [route, SHOP])
    assert batch.steps[0].why == "the changes of 2 objects, in one call"


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


def test_write_that_fails_does_not_hide_a_change_of_somebody_else(world: World) -> None:
    record = world.calls.record("kubernetes", "PATCH distributiontenants", "edge/shop", mutating=True)
    with world.journal.call(record) as span:
        span.end("409", failed=True)
    assert not world.journal.is_own_write(TENANT, Key("edge", "shop"))
    with suppress(TimeoutError), world.journal.call(record):
        raise TimeoutError
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
