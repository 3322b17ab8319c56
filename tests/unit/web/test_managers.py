"""Who changed an object last, in words that people use."""

from __future__ import annotations

import msgspec
import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.web.managers import last_manager, last_person


def managed(*entries: tuple[str, str, str] | tuple[str, str, str, str]) -> JsonObject:
    names = ("manager", "operation", "time", "subresource")
    fields = [{**dict(zip(names, entry, strict=False)), "fieldsV1": {"f:spec": {}}} for entry in entries]
    return {"metadata": {"name": "a", "managedFields": fields}}


@pytest.mark.parametrize(
    ("manager", "operation", "shown"),
    [
        ("kubectl-client-side-apply", "Update", "kubectl apply"),
        ("kubectl", "Apply", "kubectl apply --server-side"),
        ("kubectl-edit", "Update", "kubectl edit"),
        ("kubectl-annotate", "Update", "kubectl annotate"),
        ("helm", "Update", "Helm"),
        ("argocd-controller", "Apply", "Argo CD"),
        ("kustomize-controller", "Apply", "Flux (kustomize-controller)"),
        ("kro.run/applyset", "Apply", "edgekeeper, for a composed instance"),
        ("our-tool", "Update", "our-tool"),
        ("edgekeeper-up", "Apply", "edgekeeper up"),
        ("Authorization: Bearer s3cret-s3cret", "Update", "Authorization: Bearer [redacted]"),
    ],
)
def test_manager_is_shown_as_people_know_it(manager: str, operation: str, shown: str) -> None:
    found = last_person(managed((manager, operation, "2026-01-01T00:00:00Z")))
    assert found is not None
    assert found.shown == shown


def test_last_manager_is_the_newest_that_did_not_write_the_status() -> None:
    obj = managed(
        ("kubectl-edit", "Update", "2026-01-02T00:00:00Z"),
        ("helm", "Update", "2026-01-01T00:00:00Z"),
        ("edgekeeper", "Update", "2026-01-02T00:00:00Z"),
        ("gateway", "Update", "2026-01-03T00:00:00Z", "status"),
    )
    found = last_manager(msgspec.json.encode(obj))
    assert found is not None
    assert (found.shown, found.time) == ("kubectl edit", "2026-01-02T00:00:00Z")


@pytest.mark.parametrize("name", ["edgekeeper", "edgekeeper-certificate", "kro.run/applyset-parent"])
def test_operator_is_not_the_last_person(name: str) -> None:
    obj = managed(("kubectl-edit", "Update", "2026-01-01T00:00:00Z"), (name, "Apply", "2026-01-02T00:00:00Z"))
    person, manager = last_person(obj), last_manager(msgspec.json.encode(obj))
    assert person is not None
    assert manager is not None
    assert (person.shown, manager.shown) == ("kubectl edit", name)


@pytest.mark.parametrize("content", [{}, {"metadata": 5}, {"metadata": {"managedFields": [1]}}, managed()])
def test_any_content_is_accepted(content: JsonObject) -> None:
    assert last_person(content) is None
    assert last_manager(msgspec.json.encode(content)) is None
