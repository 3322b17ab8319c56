"""Built-in kinds against answers recorded from a real API server by `tools/record_builtin.py`."""

from __future__ import annotations

import re
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.schema.field_error import FieldError, invalid_value, required
from kubesim.plane.errors import invalid
from kubesim.plane.kinds import builtin_resources
from kubesim.plane.kinds.age import render_cell
from kubesim.plane.labels import subdomain_problems
from kubesim.plane.resource import Resource

FOLDER = Path(__file__).parent / "builtin"
ACCEPTED: list[JsonObject] = msgspec.json.decode((FOLDER / "accepted.json").read_bytes())
REFUSED: list[JsonObject] = msgspec.json.decode((FOLDER / "refused.json").read_bytes())
RESOURCES = {(one.api_version, one.kind): one for one in builtin_resources()}
UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAMESPACE = "recorded"
ALLOCATED = ("clusterIP", "clusterIPs", "healthCheckNodePort")


def resource_of(tree: JsonObject) -> Resource:
    return RESOURCES[tree["apiVersion"], tree["kind"]]


def decode(tree: JsonObject) -> JsonObject:
    """What happens to any body before a verb sees it."""
    resource, decoded = resource_of(tree), deepcopy(tree)
    assert resource.schema.prune(decoded) == []
    resource.schema.default(decoded)
    resource.strategy.default(decoded)
    if resource.namespaced:
        decoded["metadata"].setdefault("namespace", NAMESPACE)
    return decoded


def create(sent: JsonObject, metadata: JsonObject) -> JsonObject:
    resource, tree = resource_of(sent), decode(sent)
    tree["metadata"] |= metadata
    if resource.status:
        tree.pop("status", None)
    resource.strategy.prepare_create(tree)
    if resource.to_storage is not None and resource.from_storage is not None:
        tree = resource.from_storage(resource.to_storage(tree))
    return tree


def problems(resource: Resource, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
    name = new["metadata"].get("name")
    check_name = resource.strategy.validate_name or subdomain_problems
    errors = [invalid_value("metadata.name", name, why) for why in check_name(name)] if name else []
    if not name:
        errors = [required("metadata.name", "name or generateName is required")]
    return errors + list(resource.strategy.validate(new, old))


def without_allocations(tree: JsonObject) -> JsonObject:
    """Addresses and node ports are drawn from pools; which ones, says nothing."""
    kept = deepcopy(tree)
    if kept["kind"] == "Service":
        spec = kept["spec"]
        for field in ALLOCATED:
            if spec.get(field) not in (None, "None", ["None"]):
                spec[field] = "allocated"
        for port in spec.get("ports", []):
            if "nodePort" in port:
                port["nodePort"] = "allocated"
    return kept


def identity(entry: JsonObject) -> str:
    metadata = entry["sent"]["metadata"]
    return f"{entry['sent']['kind']}-{metadata.get('name') or metadata['generateName']}"


accepted = pytest.mark.parametrize("entry", ACCEPTED, ids=identity)


@accepted
def test_object_is_created_as_by_the_real_server(entry: JsonObject) -> None:
    real = entry["created"]
    given = {key: real["metadata"][key] for key in ("name", "uid", "creationTimestamp")}
    ours = create(entry["sent"], given)
    ours["metadata"].update(
        {key: real["metadata"][key] for key in ("generation",) if key in real["metadata"]}
    )
    assert without_allocations(ours) == without_allocations(real)


@accepted
def test_sound_object_breaks_no_rule(entry: JsonObject) -> None:
    resource = resource_of(entry["sent"])
    given = {
        "name": entry["created"]["metadata"]["name"],
        "uid": "u",
        "creationTimestamp": "2024-01-01T00:00:00Z",
    }
    tree = decode(entry["sent"])
    tree["metadata"] |= given
    resource.strategy.prepare_create(tree)
    assert problems(resource, tree, None) == []
    assert problems(resource, decode(tree), deepcopy(tree)) == []


@accepted
def test_generation_is_counted_where_the_real_server_counts(entry: JsonObject) -> None:
    assert resource_of(entry["sent"]).tracks_generation == ("generation" in entry["created"]["metadata"])


@accepted
def test_normal_form_is_reached_in_one_pass(entry: JsonObject) -> None:
    resource, tree = resource_of(entry["sent"]), deepcopy(entry["created"])
    resource.schema.default(tree)
    resource.strategy.default(tree)
    assert tree == entry["created"]


@accepted
def test_table_row_is_that_of_the_real_server(entry: JsonObject) -> None:
    tree: JsonObject = entry["final"] if "final" in entry else entry["created"]
    columns = resource_of(entry["sent"]).columns
    now = datetime.fromisoformat(entry["now"])
    assert [[one.name, one.type, one.format, one.priority] for one in columns] == entry["columns"]
    assert [render_cell(one.cell(tree), now) for one in columns] == entry["cells"]


def refusal_of(entry: JsonObject) -> str:
    sent: JsonObject = entry["sent"]
    resource = resource_of(sent)
    found = UID.search(entry["message"])
    given = {"uid": found[0] if found else "u", "creationTimestamp": "2024-01-01T00:00:00Z"}
    if "changed" in entry:
        old = entry["live"]
        new = decode(merged(old, entry["changed"]))
        if "status" in old:
            new["status"] = old["status"]
        resource.strategy.prepare_update(new, old)
        errors = problems(resource, new, old)
    else:
        new = decode(sent)
        new["metadata"] |= given
        resource.strategy.prepare_create(new)
        errors = problems(resource, new, None)
    # Both APIs of events speak of the kind they share.
    group = resource.stored_as.group
    return invalid(group, resource.kind, dig(sent, "metadata", "name") or "", errors).message


def merged(tree: Any, change: Any) -> Any:
    if not isinstance(change, dict):
        return change
    result = deepcopy(tree) if isinstance(tree, dict) else {}
    for key, value in change.items():
        result[key] = merged(result.get(key), value)
    return result


def of_metadata(message: str) -> bool:
    return "metadata.labels" in message


@pytest.mark.parametrize("entry", REFUSED, ids=lambda entry: entry["id"])
def test_refusal_is_worded_as_by_the_real_server(entry: JsonObject) -> None:
    message = entry["message"]
    if of_metadata(message):
        # Labels are checked with all other metadata, for every kind alike.
        message = re.sub(r", metadata\.labels: .*\]$", "]", message)
        message = re.sub(r"\[(.*)\]$", r"\1", message) if message.count("metadata.name: ") == 1 else message
    assert refusal_of(entry) == message


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.text(max_size=5)
    | st.floats(allow_nan=False)
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every container in a tree with each of its keys."""
    steps = range(len(tree)) if isinstance(tree, list) else tree if isinstance(tree, dict) else ()
    found = [(tree, step) for step in steps]
    return found + [place for step in steps for place in places(tree[step])]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(ACCEPTED), st.integers(min_value=0), VALUES)
def test_any_object_is_refused_or_accepted_but_breaks_nothing(
    entry: JsonObject, place: int, value: Any
) -> None:
    tree = deepcopy(entry["created"])
    resource = resource_of(tree)
    inner = places({key: held for key, held in tree.items() if key not in ("metadata", "kind", "apiVersion")})
    if inner:
        container, step = inner[place % len(inner)]
        container[step] = value
    if resource.schema.type_errors(tree):
        return
    resource.schema.prune(tree)
    resource.schema.default(tree)
    resource.strategy.default(tree)
    resource.strategy.prepare_create(tree)
    resource.strategy.prepare_update(tree, entry["created"])
    for errors in (
        resource.strategy.validate(tree, None),
        resource.strategy.validate(tree, entry["created"]),
    ):
        assert all(str(error) for error in errors)
    for column in resource.columns:
        column.cell(tree)
