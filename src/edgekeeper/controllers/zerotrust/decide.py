"""Decide which steps carry out a task, in order. Pure: reads no clock, calls nothing, keeps no state.

    publish     service token with its Secret → reusable policy → application with its policies → tunnel rules → records
    withdraw    records → tunnel rules → application → reusable policy → service token → Secret

*Guarantees*
 - A hostname never leads anywhere before the application that shall protect it is there, nor after it is gone. What is
   withdrawn is withdrawn after what replaces it is there; an application keeps protecting a hostname until its records
   and rules are gone.
 - Nothing is planned while something of others is in the way: conflicts are refused before the first step.
 - What is not provably ours is neither changed nor deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from edgekeeper.controllers.zerotrust import steps as do
from edgekeeper.controllers.zerotrust.decide_access import publish_application, withdraw_applications
from edgekeeper.controllers.zerotrust.decide_names import (
    publish_records,
    publish_rules,
    withdraw_records,
    withdraw_rules,
)
from edgekeeper.controllers.zerotrust.ownership import inherited_things, items_of_others
from edgekeeper.controllers.zerotrust.refusals import check
from edgekeeper.controllers.zerotrust.snapshot import Snapshot
from edgekeeper.controllers.zerotrust.tokens import publish_token, withdraw_tokens
from edgekeeper.core.steps import Plan, Step

QUOTA_PAUSE: Final = timedelta(minutes=30)


def decide(snapshot: Snapshot) -> Plan[Step]:
    """The steps that are left. Raise Stall where a person must act first."""
    if snapshot.subject.is_complete:
        return Plan(())
    claim = tuple(_claim(snapshot))
    if claim:
        check(snapshot)
        return Plan((*claim, *_work(snapshot)))
    if snapshot.writes.failure is not None:
        raise snapshot.writes.failure
    if snapshot.writes.refusals:
        raise snapshot.writes.refusals[0].error
    check(snapshot)
    return Plan(tuple(_work(snapshot)))


def work(snapshot: Snapshot) -> tuple[Step, ...]:
    """What is not as wanted, for one who only looks."""
    check(snapshot)
    return (*_adoption(snapshot), *_work(snapshot))


def _claim(snapshot: Snapshot) -> Iterator[Step]:
    status, subject = snapshot.subject.status, snapshot.subject
    is_claimed = status.phase in ("InProgress", "Failed") and status.observed_generation == subject.generation
    adoption = tuple(_adoption(snapshot))
    if not adoption and (not is_claimed or status.worker_pod != snapshot.worker):
        yield do.Claim(snapshot.worker, reason="nobody carries it out")
    yield from adoption


def _adoption(snapshot: Snapshot) -> Iterator[Step]:
    if things := tuple(inherited_things(snapshot)):
        clusters = ", ".join(cluster.id for cluster in snapshot.lost)
        reason = f"the route of this name in a lost cluster ({clusters}) has left it"
        yield do.Adopt(snapshot.worker, things, reason=reason)


def _work(snapshot: Snapshot) -> Iterator[Step]:
    if not snapshot.subject.is_withdrawal:
        yield from publish_token(snapshot)
        yield from publish_application(snapshot)
    if snapshot.writes.pending:
        yield do.AwaitWrites(reason="they were submitted")
        return
    if not snapshot.subject.is_withdrawal:
        yield from publish_rules(snapshot)
        yield from publish_records(snapshot)
    if foreign := items_of_others(snapshot):
        yield do.Forget(foreign, reason="another cluster publishes it")
        return
    yield from withdraw_records(snapshot)
    yield from withdraw_rules(snapshot)
    yield from withdraw_applications(snapshot)
    yield from withdraw_tokens(snapshot)
