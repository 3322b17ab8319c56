"""When a certificate is requested and which goes into the spec: each row is a moment between two requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from edgekeeper.cloud.aws.tenants import Customizations, ManagedCertificate, TenantDomain
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.certificates import (
    certificate_to_attach,
    is_request_due,
    recorded_request,
    settings_to_send,
)
from edgekeeper.controllers.cloudfront.decide import decide
from edgekeeper.controllers.cloudfront.desired import request_fingerprint, sent_fingerprint
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.drift import Change, Policy
from tests.unit.controllers.cloudfront.cases import (
    CERTIFICATE,
    DNS,
    GROUP,
    ISSUED_CERTIFICATE,
    MANAGED,
    PENDING_CHANGES,
    live,
    present,
    record,
    spec,
    status,
    zone,
)

SHOP, WWW, ALL = "shop.example.com", "www.example.com", "*.example.com"
ISSUED, PENDING, EXPIRED = "issued", "pending-validation", "expired"
SUCCESSOR = "arn:aws:acm:us-east-1:111122223333:certificate/successor"
SELF_HOSTED = {**MANAGED, "validationTokenHost": "self-hosted"}
ONE, BOTH = spec(managedCertificateRequest=MANAGED), spec(SHOP, WWW, managedCertificateRequest=MANAGED)


def moment(
    *names: str,
    wanted: Any = BOTH,
    served: tuple[str, ...] = (SHOP,),
    inactive: tuple[str, ...] = (),
    is_now: str = ISSUED,
    sent: Any = ONE,
    **fields: Any,
) -> Snapshot:
    """A certificate for these names, of a tenant that serves these domains, whose request was sent with that spec."""
    domains = tuple(TenantDomain(name, "active") for name in served)
    domains += tuple(TenantDomain(name, "inactive") for name in inactive)
    known = status(
        certificate_request=sent_fingerprint(sent) if sent else "", certificate_arn=ISSUED_CERTIFICATE
    )
    found: dict[str, Any] = {
        "generation": 2,
        "spec": wanted,
        "status": known,
        "tenant": live(domains=domains),
        "certificate": ManagedCertificate(ISSUED_CERTIFICATE, is_now, "cloudfront"),
        "managed_names": names or None,
    }
    return present(**{**found, **fields})


@pytest.mark.parametrize(
    ("snapshot", "is_due"),
    [
        pytest.param(moment(SHOP), True, id="a domain is added"),
        pytest.param(moment(SHOP, is_now=PENDING), True, id="added while it is pending"),
        pytest.param(moment(SHOP, is_now=EXPIRED), True, id="added after it has failed"),
        pytest.param(moment(ALL), False, id="added, and covered by a wildcard"),
        pytest.param(moment(), True, id="added to one that nobody tells the names of"),
        pytest.param(moment(SHOP, served=(SHOP, WWW)), False, id="served by another certificate already"),
        pytest.param(moment(SHOP, inactive=(WWW,)), True, id="added by somebody who requested nothing"),
        pytest.param(moment(SHOP, inactive=(WWW,), sent=BOTH), False, id="requested, and not shown yet"),
        pytest.param(moment(SHOP, WWW, wanted=ONE, sent=BOTH), False, id="a domain is removed"),
        pytest.param(
            moment(SHOP, WWW, wanted=ONE, sent=BOTH, is_now=PENDING), True, id="removed while it is pending"
        ),
        pytest.param(
            moment(SHOP, WWW, wanted=ONE, sent=BOTH, is_now=EXPIRED), True, id="removed before it has failed"
        ),
        pytest.param(moment(WWW, wanted=ONE, served=(WWW,)), False, id="it was sent, whatever is shown"),
        pytest.param(
            moment(WWW, wanted=ONE, served=(WWW,), sent=None), True, id="a domain in place of another"
        ),
        pytest.param(moment(SHOP, WWW, inactive=(WWW,)), False, id="the answer was lost"),
        pytest.param(
            moment(SHOP, WWW, inactive=(WWW,), is_now=EXPIRED), False, id="the certificate has failed"
        ),
        pytest.param(moment(SHOP, wanted=ONE), False, id="nothing is new"),
        pytest.param(moment(SHOP, wanted=ONE, sent=None), False, id="sent by somebody else"),
        pytest.param(moment(wanted=ONE, sent=None, certificate=None), True, id="never sent"),
        pytest.param(moment(wanted=ONE, certificate=None), False, id="CloudFront made nothing of it"),
        pytest.param(
            moment(SHOP, wanted=spec(managedCertificateRequest=SELF_HOSTED)), True, id="another request"
        ),
        pytest.param(
            moment(
                SHOP,
                wanted=spec(managedCertificateRequest=SELF_HOSTED),
                certificate=ManagedCertificate(SUCCESSOR, PENDING, "self-hosted"),
            ),
            False,
            id="another request whose answer was lost",
        ),
        pytest.param(moment(SHOP, wanted=spec(SHOP, WWW)), False, id="no request at all"),
    ],
)
def test_certificate_is_requested_for_what_has_none_and_once(snapshot: Snapshot, is_due: bool) -> None:
    assert is_request_due(snapshot) is is_due
    requests = [one for one in decide(snapshot).steps if isinstance(one, do.UpdateTenant) and one.certificate]
    assert len(requests) == is_due


@pytest.mark.parametrize("policy", list(Policy))
def test_request_that_is_due_is_no_drift(policy: Policy) -> None:
    stuck = moment(SHOP, inactive=(WWW,), is_now=PENDING, generation=1, policy=policy)
    plan = decide(stuck)
    assert (plan.drift.change, plan.drift.drift_detected, plan.drift.event) == (Change.NO_CHANGE, False, "")
    step = plan.next
    assert isinstance(step, do.UpdateTenant)
    assert step.certificate is not None
    assert step.reason == "a certificate is requested"


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(moment(SHOP, WWW, inactive=(WWW,)), sent_fingerprint(BOTH), id="the answer was lost"),
        pytest.param(moment(SHOP, wanted=ONE, sent=None), sent_fingerprint(ONE), id="sent by somebody else"),
        pytest.param(
            moment(ALL, wanted=ONE, sent=None), request_fingerprint(ONE), id="and for other domains"
        ),
        pytest.param(
            moment(SHOP, WWW, wanted=ONE, sent=BOTH), sent_fingerprint(BOTH), id="a domain is removed"
        ),
        pytest.param(moment(SHOP), sent_fingerprint(ONE), id="one is due"),
        pytest.param(moment(SHOP, wanted=spec()), sent_fingerprint(ONE), id="no request at all"),
    ],
)
def test_status_knows_what_was_requested_last(snapshot: Snapshot, expected: str) -> None:
    assert recorded_request(snapshot) == expected


def _names(snapshot: Snapshot) -> list[str]:
    """The steps, but for the end of them: a certificate that is pending is waited for."""
    *steps, last = (type(step).__name__ for step in decide(snapshot).steps)
    assert last == "AwaitCertificate"
    return steps


def _with_dns(*names: str, **fields: Any) -> Snapshot:
    """A domain is added to a tenant whose names are kept in a zone that has these."""
    wanted = spec(SHOP, WWW, dns=DNS, managedCertificateRequest=MANAGED)
    inventory = tuple(record(name) for name in names)
    return moment(SHOP, wanted=wanted, is_now=PENDING, zone=zone(*names), inventory=inventory, **fields)


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(
            _with_dns(SHOP), ["RememberRecords", "WriteRecords", "UpdateTenant"], id="records first"
        ),
        pytest.param(
            _with_dns(SHOP, WWW, changes=PENDING_CHANGES),
            ["AwaitPropagation", "UpdateTenant", "AwaitPropagation"],
            id="and known",
        ),
        pytest.param(_with_dns(SHOP, WWW), ["UpdateTenant"], id="then the tenant and its request"),
        pytest.param(
            _with_dns(SHOP, taken=frozenset({WWW})),
            ["UpdateTenant", "UpdateTenant"],
            id="not with a domain that may be another's",
        ),
    ],
)
def test_cloudfront_is_asked_once_it_can_see_the_names(snapshot: Snapshot, expected: list[str]) -> None:
    assert _names(snapshot) == expected


def test_request_waits_for_names_that_follow_the_tenant_to_another_endpoint() -> None:
    wanted = spec(SHOP, WWW, dns=DNS, connectionGroupId="cg_2", managedCertificateRequest=MANAGED)
    group = replace(GROUP, id="cg_2", routing_endpoint="d2.cloudfront.net")
    inventory = (record(),)
    moved = moment(SHOP, wanted=wanted, is_now=PENDING, group=group, zone=zone(SHOP), inventory=inventory)
    updates = [one for one in decide(moved).steps if isinstance(one, do.UpdateTenant)]
    assert [one.certificate is not None for one in updates] == [False, True]
    assert _names(moved) == ["UpdateTenant", "RememberRecords", "WriteRecords", "UpdateTenant"]


ATTACHED = spec(
    SHOP, WWW, managedCertificateRequest=MANAGED, customizations={"certificate": {"arn": ISSUED_CERTIFICATE}}
)
NEXT = ManagedCertificate(SUCCESSOR, ISSUED, "cloudfront")
OWN = spec(managedCertificateRequest=MANAGED, customizations={"certificate": {"arn": CERTIFICATE}})


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(moment(SHOP), ISSUED_CERTIFICATE, id="good for one of the domains"),
        pytest.param(moment(), ISSUED_CERTIFICATE, id="of names that nobody tells"),
        pytest.param(moment("old.example.com"), "", id="good for none of them"),
        pytest.param(moment(SHOP, is_now=PENDING), "", id="not issued"),
        pytest.param(moment(SHOP, wanted=ATTACHED), "", id="there already"),
        pytest.param(
            moment(SHOP, WWW, wanted=ATTACHED, certificate=NEXT, attached_is_managed=True),
            SUCCESSOR,
            id="the successor of a managed one",
        ),
        pytest.param(moment(SHOP, wanted=OWN), "", id="in place of the user's own"),
    ],
)
def test_issued_certificate_goes_into_the_spec_where_it_is_of_use(snapshot: Snapshot, expected: str) -> None:
    assert certificate_to_attach(snapshot) == expected


def test_certificate_that_cloudfront_has_attached_first_is_no_difference() -> None:
    """Even if the listing of certificates does not say yet that it is issued."""
    ahead = live(SHOP, WWW, customizations=Customizations(certificate_arn=SUCCESSOR))
    known = status(certificate_request=sent_fingerprint(BOTH), certificate_arn=SUCCESSOR)
    pending = ManagedCertificate(SUCCESSOR, PENDING, "cloudfront")
    managed = moment(
        SHOP,
        WWW,
        wanted=ATTACHED,
        status=known,
        tenant=ahead,
        certificate=pending,
        attached_is_managed=True,
    )
    assert decide(managed).differences == ()
    users = replace(managed, attached_is_managed=False)
    assert [one.path for one in decide(users).differences] == ["certificate"]


def test_certificate_that_has_failed_is_not_sent_again() -> None:
    """CloudFront refuses an update that names it. By itself that is no reason to change the tenant."""
    found = live(SHOP, WWW, customizations=Customizations(certificate_arn=ISSUED_CERTIFICATE))
    failed = moment(
        SHOP,
        WWW,
        wanted=ATTACHED,
        tenant=found,
        is_now=EXPIRED,
        attached_is_managed=True,
        attached_has_failed=True,
    )
    assert decide(failed).differences == ()
    assert settings_to_send(failed, found).customizations.certificate_arn == ""
    assert settings_to_send(moment(SHOP, WWW, wanted=ATTACHED), found).customizations.certificate_arn
