"""Tenants are counted when somebody asks: by namespace, and by what their objects say at that moment."""

from __future__ import annotations

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from edgekeeper.controllers.cloudfront.metrics import ERROR_TYPES, TenantMetrics
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import Store

TENANTS = "cloudfront_tenant_operator_tenants_total"


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def store(registry: CollectorRegistry) -> Store:
    store = Store(KIND)
    TenantMetrics(registry).count([store])
    return store


def _put(store: Store, key: Key, ready: str | None) -> None:
    obj: JsonObject = {"metadata": {"name": key.name, "namespace": key.namespace}}
    if ready is not None:
        obj["status"] = {
            "conditions": [{"type": "Synced", "status": "True"}, {"type": "Ready", "status": ready}]
        }
    store.put(key, msgspec.json.encode(obj))


def _counted(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    (family,) = (one for one in registry.collect() if one.name == TENANTS)
    return {(one.labels["namespace"], one.labels["status"]): one.value for one in family.samples}


def test_only_ready_objects_are_ready(registry: CollectorRegistry, store: Store) -> None:
    for number, ready in enumerate(["True", "True", "False", "Unknown", None]):
        _put(store, Key("a", f"t{number}"), ready)
    _put(store, Key("b", "t"), "True")
    store.mark_synced()
    assert _counted(registry) == {("a", "Ready"): 2, ("a", "NotReady"): 3, ("b", "Ready"): 1}


def test_count_follows_the_objects(registry: CollectorRegistry, store: Store) -> None:
    key = Key("a", "t")
    _put(store, key, "False")
    store.mark_synced()
    assert _counted(registry) == {("a", "NotReady"): 1}
    _put(store, key, "True")
    assert _counted(registry) == {("a", "Ready"): 1}
    store.remove(key)
    assert _counted(registry) == {}


def test_nothing_is_counted_before_everything_is_listed(registry: CollectorRegistry, store: Store) -> None:
    _put(store, Key("a", "t"), "True")
    assert _counted(registry) == {}


def test_all_error_types_are_there_from_the_start(registry: CollectorRegistry, store: Store) -> None:
    text = generate_latest(registry).decode()
    for error_type in ERROR_TYPES:
        line = f'cloudfront_tenant_operator_reconcile_errors_total{{error_type="{error_type}"}} 0.0'
        assert line in text.splitlines()
    assert "cloudfront_tenant_operator_drift_detected_total 0.0" in text.splitlines()
    assert f"# TYPE {TENANTS} gauge" in text.splitlines()
