"""The codec of states, and names."""

from __future__ import annotations

import string
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.api.zerotrust_task import (
    CredentialSecretRef,
    InventoryItem,
    Operations,
    RouteRef,
    TaskResult,
    TaskSpec,
    TenantRef,
)
from edgekeeper.controllers.zerotrust.names import deletion_names, label_value, object_names, token_name
from edgekeeper.controllers.zerotrust.route_index import STATE_INDEXES, TASK_INDEXES
from edgekeeper.controllers.zerotrust.state import (
    DRIFT,
    DRIFT_FIELDS,
    Origin,
    RouteState,
    read_state,
    route_of,
    write_state,
)
from edgekeeper.core.delta import ChangedField
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig

ROUTE = RouteRef("shop", "web", "u-1")
TENANT = TenantRef("main", "web")
SPEC = TaskSpec(ROUTE, TENANT, "shop.example.com", Operations(), hostnames=["shop.example.com"])
STATE = RouteState(
    ROUTE,
    "abc",
    TENANT,
    "a" * 32,
    CredentialSecretRef("token", "web"),
    "shop.example.com",
    "tunnel-1",
    "zone-1",
    (
        InventoryItem(kind="TunnelHostname", name="shop.example.com", parent="tunnel-1"),
        InventoryItem(kind="AccessApplication", id="app-1", name="shop.example.com"),
    ),
    SPEC,
    TaskResult(hostname_route_id="tunnel-1", access_app_id="app-1", access_policy_ids="p-1,p-2"),
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 6, 1, tzinfo=UTC),
    task="uid/3",
    taken_over_from=Origin.V0_2,
)


def stored(state: RouteState) -> JsonObject:
    body = write_state(state)
    body["metadata"]["name"] = "cfzt-web-shop"
    return body


def test_state_is_read_as_it_was_written() -> None:
    read = read_state(stored(STATE))
    assert read.ids.resolved_zone_id == "zone-1"
    assert (read.route, read.inventory, read.applied) == (STATE.route, STATE.inventory, STATE.applied)
    assert (read.hash, read.task, read.taken_over_from) == ("abc", "uid/3", Origin.V0_2)
    assert (read.tenant, read.account_id, read.credential) == (
        STATE.tenant,
        STATE.account_id,
        STATE.credential,
    )
    assert (read.last_sync_time, read.token_expires_at) == (STATE.last_sync_time, STATE.token_expires_at)
    assert stored(read) == stored(STATE)


def test_state_has_the_keys_that_readers_of_the_described_operator_know() -> None:
    body = stored(STATE)
    assert body["data"]["annotation_hash"] == "abc"
    assert body["data"]["cloudflare_ids"] == (
        '{"access_app_id":"app-1","access_policy_ids":"p-1,p-2","hostname":"shop.example.com",'
        '"hostname_route_id":"tunnel-1","tunnel_id":"tunnel-1","zone_id":"zone-1"}'
    )
    assert (body["data"]["httproute_namespace"], body["data"]["httproute_name"]) == ("web", "shop")
    assert body["metadata"]["labels"]["app.kubernetes.io/component"] == "state-tracker"
    assert body["metadata"]["annotations"]["cfzt.cloudflare.com/httproute-uid"] == "u-1"


def test_drift_note_is_read_from_the_annotation() -> None:
    body = stored(STATE)
    body["metadata"]["annotations"][DRIFT] = "write the record"
    assert read_state(body).drift == "write the record"


def test_fields_of_drift_are_read_as_they_were_written_and_go_with_the_note() -> None:
    fields = (
        ChangedField("dns[CNAME a].proxied", "false", "true"),
        ChangedField("policies.door", '"bypass"'),
    )
    drifted = replace(STATE, drift="write the record", drift_fields=fields)
    assert read_state(stored(drifted)).drift_fields == fields
    annotations = stored(replace(drifted, drift=""))["metadata"]["annotations"]
    assert annotations[DRIFT_FIELDS] is None
    body = stored(drifted)
    body["metadata"]["annotations"][DRIFT_FIELDS] = '{"'
    assert (read_state(body).drift, read_state(body).drift_fields) == ("write the record", ())


@pytest.mark.parametrize("key", ["inventory", "applied", "credential", "cloudflare_ids", "last_sync_time"])
def test_state_that_cannot_be_read_is_refused_with_its_name(key: str) -> None:
    body = stored(STATE)
    body["data"][key] = '{"'
    with pytest.raises(Stall, match="ConfigMap cfzt-web-shop cannot be read") as raised:
        read_state(body)
    assert raised.value.reason == "StateUnreadable"


def test_dns_only_state_of_the_described_operator_has_no_tunnel_hostname() -> None:
    data = {
        "hostname": "shop.example.com",
        "tunnel_id": "tunnel-1",
        "zone_id": "zone-1",
        "cloudflare_ids": '{"dns_record_id": "r-1", "dns_record_ip": "10.0.0.1"}',
        "httproute_namespace": "web",
        "httproute_name": "shop",
    }
    (record,) = read_state({"metadata": {"name": "x"}, "data": data}).inventory
    assert (record.kind, record.id, record.type, record.content) == ("DnsRecord", "r-1", "A", "10.0.0.1")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["inventory", "applied", "cloudflare_ids", "httproute_name", "httproute_namespace", "x"]
)


@given(st.dictionaries(KEYS, anything, max_size=6), anything)
def test_indexes_and_codec_expect_anything(data: JsonObject, more: object) -> None:
    body: JsonObject = {"metadata": more, "data": data, "spec": more, "status": data}
    for index in (*STATE_INDEXES.values(), *TASK_INDEXES.values()):
        assert all(isinstance(value, str) for value in index(body))
    try:
        read_state(body)
    except Stall:
        return
    assert route_of(body) is not None


names = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=250).map(
    lambda text: f"a{text.strip('-')}a"
)


@given(names, names, names, names)
def test_hashed_names_are_unambiguous_and_bounded(ns: str, name: str, other_ns: str, other: str) -> None:
    one, two = object_names(ns[:63], name), object_names(other_ns[:63], other)
    assert all(len(each) <= 253 for each in (*one, *two))
    if (ns[:63], name) != (other_ns[:63], other):
        assert one[-1] != two[-1]


def test_plain_names_are_those_of_the_described_operator() -> None:
    assert object_names("web", "shop")[0] == "cfzt-web-shop"
    assert deletion_names("cfzt-web-shop", "web", "shop")[0] == "cfzt-delete-web-shop"
    assert token_name("web", "shop", is_taken=False) == "shop-service-token"
    assert object_names("a-b", "c")[0] == object_names("a", "b-c")[0]
    assert object_names("a-b", "c")[1] != object_names("a", "b-c")[1]


@pytest.mark.parametrize("text", ["x" * 64, "x" * 63 + ".", "a.b-c", "x" * 253])
def test_label_values_are_valid(text: str) -> None:
    value = label_value(text)
    assert len(value) <= 63
    assert value[0].isalnum()
    assert value[-1].isalnum()
    if len(text) <= 63:
        assert value == text


def test_labels_of_long_names_are_there_since_states_are_selected_by_them() -> None:
    body = write_state(RouteState(RouteRef("x" * 253, "web")))
    assert dig(body, "metadata", "labels", "cfzt.cloudflare.com/httproute-name")
