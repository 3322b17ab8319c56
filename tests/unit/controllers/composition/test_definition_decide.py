"""What is to be done next for a definition: pure decisions, one fact at a time."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from edgekeeper.api.composition import DefinitionSpec
from edgekeeper.controllers.composition.definition_crd import (
    APPLIED_HASH,
    Owner,
    crd_state,
    owned_definition,
    plan_crd,
)
from edgekeeper.controllers.composition.definition_decide import (
    CONTROLLER_READY,
    GRAPH_ACCEPTED,
    KIND_READY,
    REVISIONS_RESOLVED,
    Adopt,
    Discard,
    Install,
    Issue,
    Observed,
    decide,
)
from edgekeeper.controllers.composition.graph import Graph, Problem, compile_definition, read_definition
from edgekeeper.controllers.composition.revision_objects import Revision, new_revision, owner_reference
from edgekeeper.controllers.composition.rights import Need
from edgekeeper.controllers.composition.schemas import KnownSchemas
from edgekeeper.core.json import JsonObject

OWNER = Owner("web-apps", "uid-1")
MAX = 5


def spec(**fields: str) -> DefinitionSpec:
    schema = {"kind": "WebApp", "apiVersion": "v1alpha1", "spec": fields or {"name": "string"}}
    return read_definition({"spec": {"schema": schema}})


def graph(**fields: str) -> Graph:
    compiled = compile_definition(spec(**fields), KnownSchemas()).graph
    assert compiled is not None
    return compiled


def revision(
    number: int = 1, hash_: str = "same", owner: str = OWNER.uid, *, deleting: bool = False
) -> Revision:
    return Revision(f"r{number}", f"u{number}", number, OWNER.name, None, hash_, owner, deleting)


def installed(made: Graph | None = None, *, established: bool = True) -> JsonObject:
    """The CustomResourceDefinition as the server has it."""
    crd = deepcopy(owned_definition((made or graph()).definition, OWNER))
    crd["metadata"] |= {"resourceVersion": "7", "generation": 1}
    status = "True" if established else "False"
    crd["status"] = {
        "conditions": [{"type": "Established", "status": status}],
        "acceptedNames": {"kind": "WebApp"},
    }
    return crd


SETTLED = Observed(
    OWNER, "same", last_issued=1, revisions=(revision(),), graph=graph(), crd=installed(), crd_is_applied=True
)


def test_settled_definition_needs_nothing_and_everything_is_true() -> None:
    decision = decide(SETTLED, MAX)
    assert decision.step is None
    assert decision.in_force
    assert {type_: verdict.status for type_, verdict in decision.verdicts.items()} == {
        REVISIONS_RESOLVED: "True",
        GRAPH_ACCEPTED: "True",
        KIND_READY: "True",
        CONTROLLER_READY: "True",
    }


def test_new_definition_gets_its_first_revision() -> None:
    decision = decide(Observed(OWNER, "new"), MAX)
    assert decision.step == Issue(1)
    assert not decision.in_force


@pytest.mark.parametrize(("last", "highest", "number"), [(0, 1, 2), (7, 1, 8), (3, 5, 6)])
def test_number_of_a_revision_is_above_all_that_ever_were(last: int, highest: int, number: int) -> None:
    observed = replace(SETTLED, spec_hash="other", last_issued=last, revisions=(revision(highest),))
    assert decide(observed, MAX).step == Issue(number)


def test_orphan_is_adopted_before_anything_else() -> None:
    orphan = revision(1, owner="")
    assert decide(replace(SETTLED, spec_hash="other", revisions=(orphan,)), MAX).step == Adopt(orphan)


def test_invalid_definition_issues_nothing_and_what_is_in_force_stays() -> None:
    problem = Problem("spec.resources[0].id", "is wrong")
    decision = decide(replace(SETTLED, spec_hash="other", problems=(problem,)), MAX)
    assert decision.step is None
    assert decision.in_force
    assert decision.verdicts[GRAPH_ACCEPTED].message == "spec.resources[0].id: is wrong"
    assert decision.verdicts[CONTROLLER_READY].status == "True"


def test_invalid_definition_has_its_crd_repaired_for_the_revision_in_force() -> None:
    problem = Problem("spec", "is wrong")
    observed = replace(SETTLED, spec_hash="other", problems=(problem,), crd=None)
    assert isinstance(decide(observed, MAX).step, Install)


def test_kind_that_is_not_allowed_issues_nothing() -> None:
    refusal = Problem("spec.resources[0].template.kind", "is not allowed")
    decision = decide(Observed(OWNER, "new", refusals=(refusal,)), MAX)
    assert decision.step is None
    assert decision.verdicts[GRAPH_ACCEPTED].reason == "KindNotAllowed"


def test_nothing_is_issued_while_the_highest_revision_is_being_deleted() -> None:
    gone = revision(2, deleting=True)
    decision = decide(replace(SETTLED, spec_hash="other", revisions=(revision(), gone)), MAX)
    assert decision.step is None
    assert decision.verdicts[REVISIONS_RESOLVED].reason == "WaitingForGraphRevisionSettlement"


def test_older_revision_that_is_being_deleted_holds_nothing_up() -> None:
    revisions = (revision(1, deleting=True), revision(2))
    assert decide(replace(SETTLED, revisions=revisions), MAX).in_force


@pytest.mark.parametrize(("limit", "discarded"), [(1, True), (2, True), (3, False), (0, False)])
def test_oldest_revision_beyond_the_limit_is_discarded(limit: int, discarded: bool) -> None:
    revisions = tuple(revision(number) for number in (2, 1, 3))
    step = decide(replace(SETTLED, revisions=revisions), limit).step
    assert step == (Discard(revisions[1]) if discarded else None)


@pytest.mark.parametrize(
    "blocked",
    [
        {"crd": None, "graph": None, "error": "unknown identifier"},
        {"missing": (Need("apps", "deployments", ("patch",)),)},
    ],
    ids=["not-compiled", "rights-missing"],
)
def test_no_revision_is_discarded_while_an_older_one_serves(blocked: dict[str, Any]) -> None:
    revisions = tuple(revision(number) for number in (1, 2, 3))
    decision = decide(replace(SETTLED, revisions=revisions, **blocked), 1)
    assert not decision.in_force
    assert decision.step is None


def test_crd_is_not_in_force_before_it_is_established() -> None:
    decision = decide(replace(SETTLED, crd=installed(established=False)), MAX)
    assert not decision.in_force
    assert decision.verdicts[KIND_READY].status == "Unknown"


def test_missing_rights_keep_the_revision_out_of_force() -> None:
    decision = decide(replace(SETTLED, missing=(Need("apps", "deployments", ("create",)),)), MAX)
    assert not decision.in_force
    verdict = decision.verdicts[CONTROLLER_READY]
    assert (verdict.status, verdict.reason) == ("False", "KindNotPermitted")
    assert "create deployments.apps" in decision.obstacle


def test_revision_that_cannot_be_compiled_any_more_is_in_force_without_a_graph() -> None:
    problem = Problem("spec", "schema not found")
    decision = decide(replace(SETTLED, graph=None, error="schema not found", problems=(problem,)), MAX)
    assert decision.in_force
    assert decision.verdicts[REVISIONS_RESOLVED].status == "False"
    assert decision.verdicts[CONTROLLER_READY].reason == "FailedToStart"


# The generated definition


def test_crd_that_is_equal_needs_nothing_even_if_the_server_dropped_what_is_empty() -> None:
    wanted = owned_definition(graph().definition, OWNER)
    wanted["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] = []
    assert plan_crd(installed(), wanted, OWNER).patch is None


@pytest.mark.parametrize("annotated", [True, False])
def test_field_that_goes_is_restored_if_we_wrote_it_and_refused_if_the_definition_changed(
    annotated: bool,
) -> None:
    live = installed(graph(name="string", more="string"))
    wanted = owned_definition(graph().definition, OWNER)
    if annotated:
        live["metadata"]["annotations"][APPLIED_HASH] = wanted["metadata"]["annotations"][APPLIED_HASH]
    plan = plan_crd(live, wanted, OWNER)
    assert (plan.patch is not None) == annotated
    assert bool(plan.refusal) != annotated
    assert plan_crd(live, wanted, replace(OWNER, allow_breaking=True)).patch is not None


def test_minimum_of_zero_is_not_taken_for_none() -> None:
    live = installed(graph(name="string", port="integer | minimum=0"))
    wanted = owned_definition(graph(name="string", port="integer").definition, OWNER)
    assert plan_crd(live, wanted, OWNER).patch is not None


def test_update_has_the_version_that_was_compared_and_removes_names_that_are_gone() -> None:
    live = installed()
    live["spec"]["names"]["shortNames"] = ["wa"]
    plan = plan_crd(live, owned_definition(graph().definition, OWNER), OWNER)
    assert plan.patch == {"metadata": {"resourceVersion": "7"}, "spec": {"names": {"shortNames": None}}}


def test_labels_of_others_stay() -> None:
    live = installed()
    live["metadata"]["labels"]["team"] = "web"
    assert plan_crd(live, owned_definition(graph().definition, OWNER), OWNER).patch is None


def test_definition_that_is_being_deleted_is_not_established() -> None:
    crd = installed()
    crd["status"]["conditions"].append({"type": "Terminating", "status": "True"})
    assert not crd_state(crd).established


def test_definition_with_several_versions_is_refused() -> None:
    live = installed(graph(other="string"))
    live["spec"]["versions"] *= 2
    refusal = plan_crd(live, owned_definition(graph().definition, OWNER), OWNER).refusal
    assert refusal.startswith("failed to check schema compatibility: expected exactly one version")


# Revisions as objects


def test_revision_that_is_written_reads_as_the_same() -> None:
    body = {
        "metadata": {"name": "web-apps", "uid": "uid-1", "generation": 3},
        "spec": {"schema": {"kind": "WebApp", "apiVersion": "v1alpha1", "spec": {"name": "string"}}},
    }
    read = Revision.of(new_revision(body, 4, "hash"))
    assert (read.name, read.number, read.definition, read.owner) == (
        "web-apps-r00004", 4, "web-apps", "uid-1",
    )  # fmt: skip
    assert read.spec == spec()


def test_adoption_replaces_an_owner_of_the_same_kind_and_keeps_others() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}
    orphan = replace(revision(), owners=(other, owner_reference("web-apps", "uid-0")), resource_version="3")
    assert orphan.adoption("web-apps", "uid-1") == {
        "metadata": {
            "resourceVersion": "3",
            "ownerReferences": [other, owner_reference("web-apps", "uid-1")],
        }
    }


def test_revision_that_cannot_be_read_has_no_spec() -> None:
    read = Revision.of(
        {"metadata": {"name": "r"}, "spec": {"snapshot": {"name": "x", "spec": {"schema": 3}}}}
    )
    assert (read.spec, read.hash, read.number) == (None, "", 0)
