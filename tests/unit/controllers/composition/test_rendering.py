"""Rendering without a cluster: what is known is in place, the rest is left as it is written and named."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance import prepare_instance
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.rendering import (
    NodeState,
    PendingValue,
    RenderedNode,
    Rendering,
    render,
)
from edgekeeper.core.json import JsonObject
from tests.unit.controllers.composition.cases import config, definition, graph_of, workload


def _instance(spec: JsonObject, **metadata: str) -> JsonObject:
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "App",
        "metadata": {"name": "shop", **metadata},
        "spec": spec,
    }


def _render(body: JsonObject, spec: JsonObject | None = None) -> Rendering:
    graph = graph_of(body)
    return render(graph, prepare_instance(graph, _instance(spec or {})))


def _node(rendering: Rendering, name: str) -> RenderedNode:
    return next(node for node in rendering.nodes if node.id == name)


def test_what_depends_on_the_instance_is_rendered_with_its_defaults() -> None:
    body = definition(
        workload("p", {"replicas": "${schema.spec.n}", "args": ["${schema.metadata.name}"]}),
        spec={"n": "integer | default=3"},
    )
    node = _node(_render(body), "p")
    assert (node.state, node.pending) == (NodeState.RENDERED, [])
    assert node.objects == [
        {
            "apiVersion": "example.com/v1",
            "kind": "Workload",
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"replicas": 3, "args": ["shop"]},
        }
    ]


def test_what_a_template_sets_is_known_to_others() -> None:
    body = definition(
        config("a", value="${schema.spec.s}"),
        config("b", value="${a.metadata.name}/${a.metadata.namespace}/${a.data.key}"),
        spec={"s": "string"},
    )
    rendering = _render(body, {"s": "v"})
    assert _node(rendering, "b").objects[0]["data"] == {"key": "a/default/v"}


def test_what_only_a_cluster_knows_is_pending_and_stays_as_it_is_written() -> None:
    body = definition(
        workload("p"),
        workload("q", {"replicas": "${p.status.ready}", "args": ["x-${p.metadata.uid}"], "paused": True}),
        workload("r", {"replicas": "${q.spec.replicas}", "paused": "${q.spec.paused}"}),
        config("all", value="${json.marshal(p.spec)}"),
    )
    rendering = _render(body)
    q = _node(rendering, "q")
    assert q.state is NodeState.PENDING
    assert q.pending == [
        PendingValue("spec.replicas", "${p.status.ready}", ("p.status.ready",)),
        PendingValue("spec.args[0]", "x-${p.metadata.uid}", ("p.metadata.uid",)),
    ]
    assert q.objects[0]["spec"] == {
        "replicas": "${p.status.ready}",
        "args": ["x-${p.metadata.uid}"],
        "paused": True,
    }
    r = _node(rendering, "r")
    assert [one.waits_for for one in r.pending] == [("q.spec.replicas",)]
    assert r.objects[0]["spec"]["paused"] is True
    assert _node(rendering, "all").pending[0].waits_for == ("p.spec",)


def test_optional_field_that_is_not_set_is_named() -> None:
    body = definition(
        workload("p", {"replicas": "${schema.spec.n}"}),
        config("c", includeWhen=["${schema.spec.on}"]),
        config("d", value="${schema.spec.?s.orValue('none')}"),
        spec={"n": "integer", "on": "boolean", "s": "string"},
    )
    rendering = _render(body)
    assert _node(rendering, "p").pending == [
        PendingValue("spec.replicas", "${schema.spec.n}", ("schema.spec.n",))
    ]
    assert _node(rendering, "c").pending == [
        PendingValue("includeWhen[0]", "${schema.spec.on}", ("schema.spec.on",))
    ]
    assert _node(rendering, "c").state is NodeState.PENDING
    assert _node(rendering, "d").objects[0]["data"] == {"key": "none"}


def test_exclusion_is_contagious() -> None:
    body = definition(
        config("a", includeWhen=["${schema.spec.on}"]),
        config("b", value="${a.data.key}"),
        config("c", dependsOn=["b"]),
        config("d"),
        spec={"on": "boolean | default=false"},
    )
    rendering = _render(body)
    assert {node.id: (node.state, node.message) for node in rendering.nodes} == {
        "a": (NodeState.EXCLUDED, "includeWhen ${schema.spec.on} does not hold"),
        "b": (NodeState.EXCLUDED, "it depends on a, which is excluded"),
        "c": (NodeState.EXCLUDED, "it depends on b, which is excluded"),
        "d": (NodeState.RENDERED, ""),
    }
    assert {node.state for node in _render(body, {"on": True}).nodes} == {NodeState.RENDERED}


def test_condition_about_a_cluster_is_pending() -> None:
    body = definition(workload("p"), config("a", includeWhen=["${p.status.ready > 0}"]))
    node = _node(_render(body), "a")
    assert node.state is NodeState.PENDING
    assert node.pending == [PendingValue("includeWhen[0]", "${p.status.ready > 0}", ("p.status.ready",))]
    assert node.objects[0]["data"] == {"key": "text"}


def test_collections_are_spread_out() -> None:
    resource = config("c", forEach=[{"x": "${schema.spec.l}"}], value="${x}")
    resource["template"]["metadata"]["name"] = "c-${x}"
    body = definition(resource, spec={"l": "[]string"})
    objects = _node(_render(body, {"l": ["a", "b"]}), "c").objects
    assert [(one["metadata"]["name"], one["data"]["key"]) for one in objects] == [("c-a", "a"), ("c-b", "b")]
    assert _node(_render(body, {"l": []}), "c").objects == []


def test_collection_over_what_a_cluster_knows_is_pending() -> None:
    resource = config("c", forEach=[{"x": "${p.status.conditions}"}])
    resource["template"]["metadata"]["name"] = "${x.type}"
    node = _node(_render(definition(workload("p"), resource)), "c")
    assert node.state is NodeState.PENDING
    assert node.pending == [PendingValue("forEach[0]", "${p.status.conditions}", ("p.status.conditions",))]
    assert node.objects == [resource["template"]]


def test_references_are_not_objects_of_ours() -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "${schema.spec.s}"}}
    body = definition(
        {"id": "there", "externalRef": reference},
        config("a", value="${there.metadata.name}"),
        config("b", value="${there.data.key}"),
        spec={"s": "string"},
    )
    rendering = _render(body, {"s": "known"})
    assert _node(rendering, "there").state is NodeState.EXTERNAL
    assert _node(rendering, "a").objects[0]["data"] == {"key": "known"}
    assert _node(rendering, "b").state is NodeState.PENDING


def test_status_is_rendered_as_far_as_it_is_known() -> None:
    body = definition(
        workload("p"),
        status={
            "name": "${p.metadata.name}",
            "ready": "${p.status.ready}",
            "conditions": ["${runtime.newCondition({type: 'Up', status: 'True'})}"],
        },
    )
    rendering = _render(body)
    assert rendering.status == {"name": "p", "ready": "${p.status.ready}"}
    assert [one.path for one in rendering.pending] == ["ready", "conditions[0]"]


def test_failure_of_one_node_is_told_and_the_others_are_rendered() -> None:
    body = definition(
        workload("p", {"replicas": "${10 / schema.spec.n}"}), config("a"), spec={"n": "integer"}
    )
    rendering = _render(body, {"n": 0})
    assert rendering.failed
    assert (_node(rendering, "p").state, _node(rendering, "p").message) == (
        NodeState.FAILED,
        "division by zero",
    )
    assert _node(rendering, "a").state is NodeState.RENDERED


def test_cluster_scoped_instance_has_no_namespace() -> None:
    resource = config("a")
    resource["template"]["metadata"]["namespace"] = "there"
    graph = graph_of(definition(resource, scope="Cluster"))
    instance = prepare_instance(graph, _instance({}))
    assert "namespace" not in instance["metadata"]
    assert render(graph, instance).nodes[0].objects[0]["metadata"]["namespace"] == "there"


def _graph() -> Graph:
    return graph_of(definition(spec={"s": 'string | required=true enum="a,b"', "n": "integer | default=1"}))


def test_instance_is_prepared_and_left_alone() -> None:
    written = _instance({"s": "a"})
    prepared = prepare_instance(_graph(), written)
    assert prepared["spec"] == {"s": "a", "n": 1}
    assert prepared["metadata"]["namespace"] == "default"
    assert written == _instance({"s": "a"})


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        (_instance({}), "spec.s: Required value"),
        (_instance({"s": "c"}), "spec.s: Unsupported value"),
        (_instance({"s": "a", "n": "x"}), "spec.n: Invalid value"),
        (_instance({"s": "a", "typo": 1}), "unknown field spec.typo"),
        (
            _instance({"s": "a"}) | {"kind": "Other"},
            "it is a kro.run/v1alpha1 Other, and the definition is of",
        ),
    ],
)
def test_instance_that_a_server_would_refuse_is_refused(written: JsonObject, complaint: str) -> None:
    with pytest.raises(RejectedError) as refused:
        prepare_instance(_graph(), written)
    assert complaint in refused.value.message
