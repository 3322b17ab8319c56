"""The definitions that we ship: servers take them with all their rules, and refuse and show objects as we expect."""

from __future__ import annotations

import secrets
from typing import Any

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT, FINALIZER
from edgekeeper.core.json import JsonObject
from tests.conformance.client import MERGE_PATCH, Client, eventually
from tests.conformance.definitions import condition, define, define_afresh, established, widget
from tests.conformance.kinds import DEFINITIONS, Kind
from tests.conformance.test_representations import TABLE
from tests.tenants.system import loosened
from tests.unit.api.admission_cases import ADMITTED, PREDECESSOR, STALE, domains
from tests.unit.api.admission_cases import REFUSED as REFUSED_TENANTS
from tests.unit.api.sample_kind import REFUSED, SPEC, STATUS, gauge

_VERSION: JsonObject = {**DISTRIBUTION_TENANT.definition()["spec"]["versions"][0], "name": "v1"}


def spec(**fields: Any) -> JsonObject:
    return {"distributionId": "E1XNX8R2GOAABC", **domains("shop.example.com"), **fields}


async def test_our_definition_refuses_with_field_and_remedy(api: Client, namespace: str) -> None:
    kind = await define(api, _VERSION)
    for row in REFUSED_TENANTS:
        wanted, field, remedy = row.values
        answer = await api.create(kind.path(namespace), kind.new("bad", spec=spec(**wanted)))
        told = answer.refuse(422, "Invalid")["message"]
        assert f"{field}: " in told, row.id
        assert remedy in told, row.id


async def test_our_definition_admits_what_cloudfront_takes(api: Client, namespace: str) -> None:
    kind = await define(api, _VERSION)
    for number, wanted in enumerate([*(row.values[0] for row in ADMITTED), *PREDECESSOR]):
        answer = await api.create(kind.path(namespace), kind.new(f"good-{number}", spec=spec(**wanted)))
        stored = answer.expect(201)["spec"]
        assert wanted.items() <= stored.items()


async def test_our_definition_leaves_objects_of_a_looser_one_alone(api: Client, namespace: str) -> None:
    kind = await define_afresh(api, loosened(_VERSION), kind=widget())
    path = kind.path(namespace, "old")
    old = kind.new("old", spec=spec(**STALE), metadata={"finalizers": [FINALIZER]})
    (await api.create(kind.path(namespace), old)).expect(201)
    await _tighten(api, kind, namespace)

    async def merged(patch: JsonObject, to: str = path) -> JsonObject:
        return (await api.patch(to, patch, content_type=MERGE_PATCH)).expect(200)

    assert (await merged({"spec": {"enabled": False}}))["spec"]["enabled"] is False
    assert (await merged({"spec": {"dns": {"ttl": 60}}}))["spec"]["dns"]["ttl"] == 60
    await merged({"status": {"id": "dt_1"}}, kind.path(namespace, "old", "status"))
    (await api.delete(path)).expect(200)
    await merged({"metadata": {"finalizers": None}})
    assert (await api.get(path)).status == 404


async def _tighten(api: Client, kind: Kind, namespace: str) -> None:
    """Put our definition in place of the looser one, and wait until the server applies it."""
    name = f"{kind.plural}.{kind.group}"
    known = (await api.get(DEFINITIONS.path(name=name))).expect(200)
    known["spec"]["versions"] = [_VERSION]
    (await api.put(DEFINITIONS.path(name=name), known)).expect(200)
    bad = kind.new("bad", spec=spec(**domains("not a domain")))

    async def refused() -> bool | None:
        return (await api.create(kind.path(namespace), bad, dryRun="All")).status == 422 or None

    await eventually(refused, what="the definition is in force")


async def test_our_columns_show_reason_domain_and_pause(api: Client, namespace: str) -> None:
    kind = await define(api, _VERSION)
    wanted = spec(**domains("shop.example.com", "www.example.com"))
    (await api.create(kind.path(namespace), kind.new("shop", spec=wanted))).expect(201)
    since = {"lastTransitionTime": "2026-01-01T00:00:00Z", "message": ""}
    conditions = [
        {**since, "type": "Ready", "status": "False", "reason": "DomainConflict"},
        {**since, "type": "Paused", "status": "True", "reason": "Paused"},
    ]
    status = kind.path(namespace, "shop", "status")
    (await api.patch(status, {"status": {"conditions": conditions}}, content_type=MERGE_PATCH)).expect(200)
    table = (await api.get(kind.path(namespace, "shop"), accept=TABLE)).expect(200)
    names = [column["name"] for column in table["columnDefinitions"]]
    cells = dict(zip(names, table["rows"][0]["cells"], strict=True))
    assert (cells["Reason"], cells["Domains"], cells["Paused"]) == (
        "DomainConflict",
        "shop.example.com",
        "True",
    )


async def test_definition_with_maps_floats_and_free_form_is_taken_and_keeps_values(api: Client) -> None:
    kind = Kind(
        f"g{secrets.token_hex(4)}.conformance.example", "v1", "pressuregauges", "PressureGauge", False
    )
    (await api.create(DEFINITIONS.path(), gauge(kind.group).definition())).expect(201)
    accepted = await established(api, kind)
    assert condition(accepted, "NonStructuralSchema") is None
    assert accepted["status"]["acceptedNames"]["singular"] == "gauge"
    (await api.create(kind.path(), kind.new("main", spec=SPEC))).expect(201)
    path = kind.path(name="main", subresource="status")
    stored = (await api.patch(path, {"status": STATUS}, content_type=MERGE_PATCH)).expect(200)
    assert (stored["spec"], stored["status"]) == (SPEC, STATUS)
    for wanted, why in REFUSED:
        answer = await api.create(kind.path(), kind.new("bad", spec=wanted))
        assert why in answer.refuse(422, "Invalid")["message"]
