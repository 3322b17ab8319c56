"""From how things are to the steps that are left: each row is a moment in the life of a tenant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.aws.dns.state import DnsWork, Refusal, ZoneView
from edgekeeper.cloud.aws.dns.steps import WriteRecords
from edgekeeper.cloud.aws.tenants import Customizations, ManagedCertificate, TenantDomain
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.claims import TENANT_NAME
from edgekeeper.controllers.cloudfront.decide import decide
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.drift import Change, Policy
from edgekeeper.core.errors import PassError, Retry, Stall, Wait
from edgekeeper.core.ownership import Owner
from edgekeeper.lifecycle.claims import HOSTNAME, Rival
from tests.unit.controllers.cloudfront.cases import (
    CERTIFICATE,
    DNS,
    GROUP,
    ISSUED_CERTIFICATE,
    MANAGED,
    PENDING_CHANGES,
    absent,
    live,
    present,
    record,
    spec,
    status,
    zone,
)

STRANGER = Owner("elsewhere", "default", "test-tenant", "9-9").tags()
WITH_DNS = spec(dns=DNS)
OWN_CERTIFICATE = spec(customizations={"certificate": {"arn": CERTIFICATE}})
WRITTEN = (record(),)
PLANNED = (record(state="Planned"),)


def _steps(snapshot: Snapshot) -> list[str]:
    return [type(step).__name__ for step in decide(snapshot).steps]


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(absent(), ["CreateTenant"], id="nothing but a tenant"),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone()),
            ["RememberRecords", "WriteRecords", "CreateTenant"],
            id="records first",
        ),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone(), inventory=PLANNED),
            ["WriteRecords", "CreateTenant"],
            id="remembered",
        ),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone(), inventory=PLANNED, work=DnsWork(pending=True)),
            ["AwaitRecords", "CreateTenant"],
            id="handed in",
        ),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone("shop.example.com"), inventory=WRITTEN, changes=PENDING_CHANGES),
            ["AwaitPropagation", "CreateTenant"],
            id="written",
        ),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone("shop.example.com"), inventory=WRITTEN),
            ["CreateTenant"],
            id="known",
        ),
        pytest.param(
            absent(spec=WITH_DNS, zone=ZoneView("", None), inventory=WRITTEN),
            ["CreateTenant"],
            id="in a blind zone",
        ),
        pytest.param(absent(spec=WITH_DNS, zone=zone(), group=None), ["CreateTenant"], id="no endpoint yet"),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone(), taken=frozenset({"shop.example.com"})),
            ["CreateTenant"],
            id="domain of another tenant: no record leads to what is another's",
        ),
    ],
)
def test_creation_goes_from_names_to_the_tenant(snapshot: Snapshot, expected: list[str]) -> None:
    assert _steps(snapshot) == expected


BOTH = spec("shop.example.com", "www.example.com", dns=DNS)
BOTH_WRITTEN = (record(), record("www.example.com"))
BOTH_THERE = zone("shop.example.com", "www.example.com")


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(
            absent(
                spec=WITH_DNS,
                zone=zone("shop.example.com"),
                inventory=WRITTEN,
                is_contested=True,
            ),
            ["RemoveRecords", "CreateTenant"],
            id="records are withdrawn",
        ),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone(), is_contested=True),
            ["CreateTenant"],
            id="and not written again",
        ),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone()),
            ["RememberRecords", "WriteRecords", "CreateTenant"],
            id="unless nobody else has it",
        ),
        pytest.param(
            present(
                generation=2,
                spec=BOTH,
                zone=BOTH_THERE,
                inventory=BOTH_WRITTEN,
                is_contested=True,
            ),
            ["RemoveRecords", "UpdateTenant"],
            id="those of an added domain",
        ),
        pytest.param(
            present(
                generation=2,
                spec=BOTH,
                zone=zone("shop.example.com"),
                inventory=WRITTEN,
                is_contested=True,
            ),
            ["UpdateTenant"],
            id="and only those",
        ),
    ],
)
def test_names_do_not_lead_to_a_domain_that_is_anothers(snapshot: Snapshot, expected: list[str]) -> None:
    assert _steps(snapshot) == expected


def test_tenant_whose_domain_was_anothers_is_created_disabled() -> None:
    """With its records to follow: nobody is served before they are there, and they are not there before it."""
    (step,) = decide(absent(spec=WITH_DNS, zone=zone(), is_contested=True)).steps
    assert isinstance(step, do.CreateTenant)
    assert not step.settings.enabled


def test_first_tenant_of_an_account_is_created_disabled() -> None:
    (step,) = decide(absent(spec=WITH_DNS, zone=zone(), group=None)).steps
    assert isinstance(step, do.CreateTenant)
    assert not step.settings.enabled


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(present(), [], id="all is well"),
        pytest.param(present(tenant=live(status="InProgress")), ["AwaitDeployment"], id="being deployed"),
        pytest.param(
            present(generation=2, spec=spec("new.example.com")), ["UpdateTenant"], id="the spec has changed"
        ),
        pytest.param(
            present(generation=2, spec=spec(enabled=False), tenant=live(status="InProgress")),
            ["UpdateTenant", "AwaitDeployment"],
            id="changed while it is being deployed",
        ),
        pytest.param(present(tenant=live(tags={})), ["MarkTenant"], id="without a mark"),
        pytest.param(
            present(tenant=live(), spec=spec(tags=[{"key": "team"}])), ["MarkTenant"], id="without a tag"
        ),
        pytest.param(
            present(tenant=live(tags={}), may_tag=False), [], id="without a mark, and none may be set"
        ),
        pytest.param(
            present(generation=2, spec=WITH_DNS, zone=zone()),
            ["RememberRecords", "WriteRecords"],
            id="dns added",
        ),
        pytest.param(present(generation=2, inventory=WRITTEN), ["RemoveRecords"], id="dns removed"),
        pytest.param(
            present(
                generation=2,
                spec=spec("new.example.com", dns=DNS),
                zone=zone("shop.example.com"),
                inventory=WRITTEN,
            ),
            ["RememberRecords", "WriteRecords", "RemoveRecords", "UpdateTenant"],
            id="a domain for another",
        ),
        pytest.param(
            present(
                generation=2,
                spec=spec("shop.example.com", "new.example.com", dns=DNS),
                zone=zone("shop.example.com"),
                inventory=WRITTEN,
                taken=frozenset({"new.example.com"}),
            ),
            ["UpdateTenant"],
            id="a domain that is another tenant's",
        ),
        pytest.param(
            present(
                generation=2,
                spec=spec(dns=DNS, connectionGroupId="cg_2"),
                group=replace(GROUP, id="cg_2", routing_endpoint="d2.cloudfront.net"),
                zone=zone("shop.example.com"),
                inventory=WRITTEN,
            ),
            ["UpdateTenant", "RememberRecords", "WriteRecords"],
            id="another connection group: names follow the tenant",
        ),
    ],
)
def test_change_is_carried_out_in_an_order_in_which_no_name_leads_nowhere(
    snapshot: Snapshot, expected: list[str]
) -> None:
    assert _steps(snapshot) == expected


@pytest.mark.parametrize(
    ("policy", "may_correct", "expected"),
    [
        (Policy.ENFORCE, True, ["UpdateTenant"]),
        (Policy.ENFORCE, False, []),
        (Policy.REPORT, True, []),
        (Policy.SUSPEND, True, []),
    ],
)
def test_drift_is_corrected_where_that_is_wanted_and_no_fight(
    policy: Policy, may_correct: bool, expected: list[str]
) -> None:
    plan = decide(present(tenant=live(enabled=False), policy=policy, may_correct=may_correct))
    assert [type(step).__name__ for step in plan.steps] == expected
    assert plan.drift.change is Change.DRIFT
    assert plan.drift.drift_detected
    assert [one.path for one in plan.differences] == ["enabled"]


@pytest.mark.parametrize("policy", list(Policy))
def test_deletion_by_others_is_drift_as_well(policy: Policy) -> None:
    assert _steps(present(tenant=None, policy=policy)) == (
        ["CreateTenant"] if policy is Policy.ENFORCE else []
    )


@pytest.mark.parametrize("policy", list(Policy))
def test_record_that_was_taken_away_is_drift(policy: Policy) -> None:
    snapshot = present(spec=WITH_DNS, zone=zone(), inventory=WRITTEN, policy=policy)
    assert _steps(snapshot) == (["WriteRecords"] if policy is Policy.ENFORCE else [])


def _issued(**fields: Any) -> Snapshot:
    certificate = ManagedCertificate(ISSUED_CERTIFICATE, "issued", "cloudfront")
    wanted = spec(managedCertificateRequest=MANAGED)
    return present(**{"spec": wanted, "certificate": certificate, **fields})


def test_issued_certificate_is_attached_to_the_spec() -> None:
    assert _steps(_issued()) == ["AttachCertificate"]


def test_attached_certificate_is_awaited_until_its_domains_are_active() -> None:
    attached = spec(
        managedCertificateRequest=MANAGED, customizations={"certificate": {"arn": ISSUED_CERTIFICATE}}
    )
    sent = live(
        customizations=Customizations(certificate_arn=ISSUED_CERTIFICATE),
        domains=(TenantDomain("shop.example.com", "inactive"),),
    )
    assert _steps(_issued(spec=attached, tenant=sent)) == ["AwaitCertificate"]


def test_certificate_of_the_user_is_not_replaced_by_the_managed_one() -> None:
    own = spec(managedCertificateRequest=MANAGED, customizations={"certificate": {"arn": CERTIFICATE}})
    found = live(customizations=Customizations(certificate_arn=CERTIFICATE))
    assert "AttachCertificate" not in _steps(_issued(spec=own, tenant=found))


def test_renewed_request_is_sent_and_one_that_was_answered_is_not() -> None:
    wanted = spec(managedCertificateRequest=MANAGED)
    assert _steps(present(generation=2, spec=wanted)) == ["UpdateTenant"]
    pending = ManagedCertificate(ISSUED_CERTIFICATE, "pending-validation", "cloudfront")
    assert _steps(present(spec=wanted, certificate=pending)) == ["AwaitCertificate"]


@pytest.mark.parametrize(
    ("tenant", "may_adopt", "expected"),
    [
        pytest.param(live(), False, "AdoptTenant", id="ours by its mark"),
        pytest.param(live(tags={}), True, "AdoptTenant", id="nobody's, and we may"),
        pytest.param(live(tags={}), False, "NameConflict", id="nobody's"),
        pytest.param(live(tags=STRANGER), True, "NameConflict", id="somebody else's, whatever we may"),
    ],
)
def test_tenant_that_we_do_not_know_is_ours_only_by_proof(
    tenant: Any, may_adopt: bool, expected: str
) -> None:
    snapshot = absent(tenant=tenant, may_adopt=may_adopt)
    assert _outcome(snapshot) == expected


@pytest.mark.parametrize(
    ("tenant", "expected"),
    [
        pytest.param(live(tags=STRANGER), "NameConflict", id="the mark of another"),
        pytest.param(live(tags={}, name="victim"), "NameConflict", id="another name and no mark"),
        pytest.param(live(name="renamed"), "", id="another name and our mark"),
        pytest.param(live(tags={}), "MarkTenant", id="our name and no mark"),
    ],
)
def test_id_that_was_written_down_counts_with_the_name_and_unless_marked_otherwise(
    tenant: Any, expected: str
) -> None:
    assert _outcome(present(tenant=tenant)) == expected


@pytest.mark.parametrize(
    ("rival", "message"),
    [
        (Rival(TENANT_NAME, "x", "a/b"), "the tenant name x belongs to a/b, which is older"),
        (Rival(TENANT_NAME, "x", "a/b", holds=True), "the tenant name x belongs to a/b, whose tenant has it"),
        (Rival(HOSTNAME, "x.io", "a/b"), "the domain x.io is claimed by a/b, which is older"),
        (Rival(HOSTNAME, "x.io", "a/b", holds=True), "the domain x.io is served by the tenant of a/b"),
        (
            Rival(HOSTNAME, "x.io", "httproute a/b", is_same_kind=False),
            "the domain x.io is claimed by httproute a/b, which is older",
        ),
        (
            Rival(HOSTNAME, "x.io", "httproute a/b", holds=True, is_same_kind=False),
            "the domain x.io is served by httproute a/b",
        ),
    ],
)
def test_conflict_names_who_has_the_better_right(rival: Rival, message: str) -> None:
    with pytest.raises(Stall) as refusal:
        decide(absent(rivals=(rival,)))
    assert refusal.value.message == message


def _outcome(snapshot: Snapshot) -> str:
    try:
        return next(iter(_steps(snapshot)), "")
    except Stall as refusal:
        return refusal.reason


@pytest.mark.parametrize(
    ("snapshot", "reason"),
    [
        pytest.param(absent(rivals=(Rival(TENANT_NAME, "x", "a/b"),)), "NameConflict", id="name of an elder"),
        pytest.param(
            absent(rivals=(Rival(HOSTNAME, "x", "a/b"),)), "DomainConflict", id="domain of an elder"
        ),
        pytest.param(absent(spec=spec("no domain")), "ValidationFailed", id="no domain"),
        pytest.param(absent(refusals=("no",)), "ValidationFailed", id="not allowed"),
        pytest.param(absent(distribution=None), "ValidationFailed", id="no distribution"),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone(), certificate_names=("x.io",)),
            "CertificateSANMismatch",
            id="uncovered",
        ),
        pytest.param(
            absent(spec=OWN_CERTIFICATE, certificate_names=("x.io",)),
            "CertificateSANMismatch",
            id="uncovered, without DNS",
        ),
        pytest.param(
            present(generation=2, spec=OWN_CERTIFICATE, certificate_names=("x.io",)),
            "CertificateSANMismatch",
            id="uncovered from now on",
        ),
        pytest.param(
            absent(spec=OWN_CERTIFICATE, certificate_names=()), "InvalidSpec", id="no issued certificate"
        ),
        pytest.param(
            absent(spec=OWN_CERTIFICATE, certificate_is_anothers=True),
            "ValidationFailed",
            id="certificate of another tenant",
        ),
        pytest.param(
            absent(tenant=live(tags={}), may_adopt=True, losses=("it serves x.io",)),
            "DomainConflict",
            id="tenant with names of others",
        ),
        pytest.param(
            present(tenant=live(tags={}), losses=("it serves x.io",)),
            "DomainConflict",
            id="tenant with names of others, though the id is ours",
        ),
        pytest.param(
            absent(spec=spec(dns=DNS, connectionGroupId="cg_0"), zone=zone(), group=None),
            "InvalidSpec",
            id="no group",
        ),
        pytest.param(
            absent(
                spec=spec(dns=DNS, connectionGroupId="cg_1"),
                zone=zone(),
                group=replace(GROUP, routing_endpoint=""),
            ),
            "InvalidSpec",
            id="group without an endpoint",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_done(snapshot: Snapshot, reason: str) -> None:
    with pytest.raises(Stall) as refusal:
        decide(snapshot)
    assert refusal.value.reason == reason


def test_distribution_that_may_not_be_read_is_not_taken_for_missing() -> None:
    assert _steps(absent(distribution=None, distribution_known=False)) == ["CreateTenant"]


def test_endpoint_that_is_not_known_yet_is_waited_for_where_there_is_a_tenant() -> None:
    with pytest.raises(Wait):
        decide(present(spec=WITH_DNS, zone=zone(), group=None, inventory=WRITTEN))


DISABLED = live(enabled=False)
FAILED = DnsWork(error=Retry("no"))
REFUSED = DnsWork(refused=(Refusal(record(), removing=True, error=Stall("DNSError", "denied")),))


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(
            present(inventory=WRITTEN), ["RemoveRecords", "DisableTenant", "DeleteTenant"], id="all of it"
        ),
        pytest.param(
            present(inventory=WRITTEN, work=DnsWork(pending=True)),
            ["AwaitRecords", "DisableTenant", "DeleteTenant"],
            id="records on their way out",
        ),
        pytest.param(present(), ["DisableTenant", "DeleteTenant"], id="no records"),
        pytest.param(
            present(tenant=replace(DISABLED, status="InProgress")),
            ["AwaitDeployment", "DeleteTenant"],
            id="disabled",
        ),
        pytest.param(present(tenant=DISABLED), ["DeleteTenant"], id="disabled everywhere"),
        pytest.param(
            present(tenant=DISABLED, changes=PENDING_CHANGES),
            ["AwaitPropagation", "DeleteTenant"],
            id="names still known",
        ),
        pytest.param(present(tenant=None), [], id="gone"),
        pytest.param(absent(), [], id="never there"),
        pytest.param(
            absent(tenant=live()), ["DisableTenant", "DeleteTenant"], id="created and not written down"
        ),
        pytest.param(absent(tenant=live(tags={})), [], id="somebody else's"),
        pytest.param(present(tenant=live(tags=STRANGER)), [], id="another object's, though the id is ours"),
        pytest.param(
            present(inventory=WRITTEN, work=FAILED),
            ["DisableTenant"],
            id="tenant stays while names lead to it",
        ),
        pytest.param(
            present(inventory=WRITTEN, work=REFUSED),
            ["DisableTenant"],
            id="records may not be removed",
        ),
        pytest.param(
            present(inventory=(*WRITTEN, record("www.example.com")), work=REFUSED),
            ["RemoveRecords", "DisableTenant"],
            id="one of the records may not be removed",
        ),
        pytest.param(
            present(tenant=live(tags={}), rivals=(Rival(TENANT_NAME, "x", "a/b"),)),
            [],
            id="without a mark, and an older object has the name",
        ),
        pytest.param(
            present(spec=spec("no domain"), rivals=(Rival(TENANT_NAME, "x", "a/b"),)),
            ["DisableTenant", "DeleteTenant"],
            id="whatever is wrong with the spec",
        ),
    ],
)
def test_deletion_goes_back_to_front_and_touches_only_what_is_ours(
    snapshot: Snapshot, expected: list[str]
) -> None:
    assert _steps(replace(snapshot, deleting=True)) == expected


@pytest.mark.parametrize(
    ("work", "expected"),
    [pytest.param(FAILED, Retry, id="a failure that may pass"), pytest.param(REFUSED, Stall, id="a refusal")],
)
def test_deletion_that_waits_for_nothing_but_its_records_says_what_keeps_them(
    work: DnsWork, expected: type[PassError]
) -> None:
    waiting = replace(DISABLED, status="InProgress")
    with pytest.raises(expected):
        decide(present(tenant=waiting, inventory=WRITTEN, work=work, deleting=True))


_SNAPSHOTS = st.builds(
    present,
    generation=st.integers(1, 2),
    spec=st.sampled_from(
        [spec(), WITH_DNS, spec("a.example.com", "b.example.com", dns=DNS), spec(enabled=False)]
    ),
    status=st.sampled_from([status(), status(id=""), status(id="dt_0")]),
    tenant=st.sampled_from(
        [None, live(), DISABLED, live(tags={}), live(tags=STRANGER), live(status="InProgress")]
    ),
    zone=st.sampled_from([zone(), zone("shop.example.com"), ZoneView("", None)]),
    inventory=st.sampled_from([(), WRITTEN, PLANNED, (record("old.example.com"),)]),
    policy=st.sampled_from(list(Policy)),
    may_adopt=st.booleans(),
    deleting=st.booleans(),
    changes=st.sampled_from([(), PENDING_CHANGES]),
    work=st.sampled_from([DnsWork(), DnsWork(pending=True)]),
)


@given(_SNAPSHOTS)
def test_tenant_that_is_not_provably_ours_is_never_touched(snapshot: Snapshot) -> None:
    details = snapshot.details
    if details is None or details.tags != STRANGER:
        return
    try:
        plan = decide(snapshot)
    except (Stall, Wait):
        return
    touching = (do.UpdateTenant, do.DisableTenant, do.DeleteTenant, do.MarkTenant, do.AdoptTenant)
    assert not any(isinstance(step, touching) for step in plan.steps)


@given(_SNAPSHOTS)
def test_record_is_in_the_inventory_before_it_is_written(snapshot: Snapshot) -> None:
    try:
        steps = decide(snapshot).steps
    except (Stall, Wait):
        return
    if steps and isinstance(steps[0], WriteRecords):
        known = {(one.zone, one.name, one.type, one.target) for one in snapshot.records.inventory}
        assert {(one.zone, one.name, one.type, one.target) for one in steps[0].records} <= known


@given(_SNAPSHOTS)
def test_same_snapshot_gives_the_same_plan(snapshot: Snapshot) -> None:
    def outcome() -> object:
        try:
            plan = decide(snapshot)
            return plan.steps, plan.drift, plan.differences, str(plan.refusal)
        except (Stall, Wait) as error:
            return error.reason, error.message

    assert outcome() == outcome()
