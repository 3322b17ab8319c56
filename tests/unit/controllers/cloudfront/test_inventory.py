"""What an inventory is believed: only what we could have written, and what may be replaced only if it is ours."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.api.cloudfront import DistributionTenantStatus, DomainResult
from edgekeeper.cloud.aws.dns.entries import is_credible
from edgekeeper.cloud.aws.dns.state import ZoneView
from edgekeeper.controllers.cloudfront.records import ENDPOINTS, inventory_of
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from tests.unit.controllers.cloudfront.cases import (
    DNS,
    ENDPOINT,
    absent,
    altered,
    live,
    present,
    record,
    spec,
    zone,
)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="a CNAME"),
        pytest.param({"state": "Planned"}, id="planned"),
        pytest.param({"name": "*.example.com"}, id="of a wildcard"),
        pytest.param({"name": "example.com", "type": "A", "ttl": None}, id="an alias"),
        pytest.param({"name": "example.com", "type": "AAAA", "ttl": None}, id="another alias"),
        pytest.param({"target": ENDPOINT.upper()}, id="a target in capitals"),
    ],
)
def test_what_we_write_is_credible(fields: dict[str, Any]) -> None:
    assert is_credible(record(**fields), ENDPOINTS)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"type": "NS"}, id="name servers"),
        pytest.param({"type": "TXT"}, id="text"),
        pytest.param({"type": "A"}, id="an address"),
        pytest.param({"ttl": None}, id="a CNAME that is an alias"),
        pytest.param({"target": "elsewhere.example.net"}, id="another target"),
        pytest.param({"target": "cloudfront.net.example.net"}, id="a target like ours"),
        pytest.param({"target": "notcloudfront.net"}, id="another target like ours"),
        pytest.param({"target": ""}, id="no target"),
        pytest.param({"name": "SHOP.example.com"}, id="capitals"),
        pytest.param({"name": "shop.example.com."}, id="a dot"),
        pytest.param({"name": "\\163hop.example.com"}, id="an escape"),
        pytest.param({"name": "shop"}, id="no domain"),
        pytest.param({"name": ""}, id="nothing"),
    ],
)
def test_what_we_never_write_is_not_credible(fields: dict[str, Any]) -> None:
    entry = record(**fields)
    assert not is_credible(entry, ENDPOINTS)
    assert inventory_of(spec(dns=DNS), DistributionTenantStatus(inventory=[record(), entry])) == (record(),)


def test_status_from_before_there_was_an_inventory_implies_it() -> None:
    old = DistributionTenantStatus(
        id="dt_1", dns_target=f"{ENDPOINT.upper()}.", domain_results=[DomainResult("SHOP.example.com")]
    )
    assert inventory_of(spec(dns=DNS), old) == (record(),)
    assert inventory_of(spec(), old) == ()


def test_implied_inventory_is_no_more_credible_than_a_written_one() -> None:
    forged = DistributionTenantStatus(
        id="dt_1", dns_target="elsewhere.example.net", domain_results=[DomainResult("shop.example.com")]
    )
    assert inventory_of(spec(dns=DNS), forged) == ()


OTHER = "elsewhere.example.net"


@pytest.mark.parametrize(
    ("snapshot", "is_replaceable"),
    [
        pytest.param(absent(zone=zone("shop.example.com")), True, id="it stands there as written"),
        pytest.param(absent(zone=zone("shop.example.com", ttl=60)), True, id="with another time to live"),
        pytest.param(absent(zone=zone()), True, id="it is gone"),
        pytest.param(
            absent(zone=zone("shop.example.com", target=OTHER)), False, id="something else is there"
        ),
        pytest.param(absent(zone=ZoneView("", None)), False, id="nobody knows what is there"),
        pytest.param(present(zone=zone("shop.example.com", target=OTHER)), True, id="our tenant serves it"),
        pytest.param(present(zone=ZoneView("", None)), True, id="our tenant serves it, nobody knows"),
        pytest.param(
            present(tenant=live("www.example.com"), zone=zone("shop.example.com", target=OTHER)),
            False,
            id="our tenant serves another name",
        ),
    ],
)
def test_record_is_replaced_if_it_is_ours(snapshot: Snapshot, is_replaceable: bool) -> None:
    written = altered(snapshot, inventory=(record(),))
    assert written.records.replaceable(written.served) == ((record(),) if is_replaceable else ())


@pytest.mark.parametrize(
    ("snapshot", "is_replaceable"),
    [
        pytest.param(absent(zone=zone("shop.example.com")), True, id="it stands there as planned"),
        pytest.param(present(zone=zone("shop.example.com")), True, id="it does, and our tenant serves it"),
        pytest.param(absent(zone=zone("shop.example.com", ttl=60)), False, id="with another time to live"),
        pytest.param(absent(zone=zone()), False, id="nothing is there"),
        pytest.param(
            present(zone=zone("shop.example.com", target=OTHER)), False, id="something else is there"
        ),
        pytest.param(present(zone=ZoneView("", None)), False, id="nobody knows what is there"),
    ],
)
def test_planned_record_is_replaced_if_it_was_written_after_all(
    snapshot: Snapshot, is_replaceable: bool
) -> None:
    """A process that dies after the zone was written cannot say that it was."""
    planned = record(state="Planned")
    known = altered(snapshot, inventory=(planned,))
    assert known.records.replaceable(known.served) == ((planned,) if is_replaceable else ())
