"""What can be known to fail is refused before anything is done, in the words of the field; what works already goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgekeeper.cloud.aws.distributions import ConnectionGroup
from edgekeeper.cloud.aws.dns.state import ZoneView
from edgekeeper.controllers.cloudfront.decide import decide
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.errors import Stall
from tests.unit.controllers.cloudfront.cases import DNS, GROUP, OWNER, absent, live, present, record, spec

NAMED = spec(connectionGroupId="cg_2")
OTHER = replace(GROUP, id="cg_2")
DENIED = Stall("DNSError", "AWS AssumeRole failed: AccessDenied: no")
UNREACHABLE = ZoneView("", None, DENIED)
WITH_ROLE = spec(dns={**DNS, "assumeRoleArn": "arn:aws:iam::111122223333:role/dns"})
TAGGED = spec(tags=[{"key": f"k{number}", "value": ""} for number in range(47)])


def steps(snapshot: Snapshot) -> list[str]:
    return [type(step).__name__ for step in decide(snapshot).steps]


@pytest.mark.parametrize(
    ("group", "told"),
    [
        (None, "spec.connectionGroupId: there is no connection group cg_2"),
        (replace(OTHER, enabled=False), "spec.connectionGroupId: connection group cg_2 is disabled"),
    ],
    ids=["missing", "disabled"],
)
@pytest.mark.parametrize("tenant", [None, live()], ids=["new tenant", "tenant that moves"])
def test_connection_group_must_be_there_and_enabled(
    tenant: object, group: ConnectionGroup | None, told: str
) -> None:
    before = absent() if tenant is None else present(generation=2)
    with pytest.raises(Stall) as refusal:
        decide(replace(before, spec=NAMED, group=group, group_known=True))
    assert (refusal.value.reason, refusal.value.message) == ("InvalidSpec", told)


def test_connection_group_that_nobody_could_look_for_is_left_to_cloudfront() -> None:
    assert steps(absent(spec=NAMED, group=None, group_known=False)) == ["CreateTenant"]


def test_tenant_stays_in_a_connection_group_that_was_disabled() -> None:
    inside = live(connection_group_id="cg_2")
    disabled = replace(OTHER, enabled=False)
    assert steps(present(spec=NAMED, tenant=inside, group=disabled, group_known=True)) == []


def test_nothing_is_remembered_or_created_where_the_role_may_not_be_assumed() -> None:
    with pytest.raises(Stall) as refusal:
        decide(absent(spec=WITH_ROLE, zone=UNREACHABLE))
    assert refusal.value is not DENIED, "it is raised once for each object, and keeps nothing of their passes"
    assert refusal.value.reason == "DNSError"
    assert refusal.value.message == "spec.dns.assumeRoleArn: AWS AssumeRole failed: AccessDenied: no"


def test_tenant_at_rest_is_not_disturbed_by_a_role_that_may_not_be_assumed() -> None:
    written = record(role="arn:aws:iam::111122223333:role/dns")
    assert steps(present(spec=WITH_ROLE, zone=UNREACHABLE, inventory=(written,))) == []


def test_tags_that_are_too_many_are_refused_unless_they_are_not_set_anyway() -> None:
    with pytest.raises(Stall, match="AWS allows 50") as refusal:
        decide(absent(spec=TAGGED))
    assert refusal.value.reason == "ValidationFailed"
    assert steps(absent(spec=TAGGED, may_tag=False)) == ["NoteCreation", "CreateTenant"]


def test_tags_of_a_tenant_that_is_not_ours_do_not_count() -> None:
    many = {f"k{number}": "" for number in range(50)}
    with pytest.raises(Stall) as refusal:
        decide(absent(tenant=live(tags=many)))
    assert refusal.value.reason == "NameConflict"


def test_tags_of_others_count() -> None:
    fitting = spec(tags=[{"key": f"k{number}", "value": ""} for number in range(46)])
    assert steps(absent(spec=fitting)) == ["CreateTenant"]
    with pytest.raises(Stall, match="plus 1 set by others are 51"):
        decide(present(spec=fitting, tenant=live(tags={**OWNER.tags(), "theirs": "1"})))
