"""Instances before they reach a cluster: of the right kind, with defaults, and valid as the server would judge them."""

from __future__ import annotations

from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.schema import compile_schema
from edgekeeper.schema.default import copy_json
from edgekeeper.schema.expressions.engine import RuleEngine

DEFAULT_NAMESPACE = "default"


def prepare_instance(graph: Graph, written: JsonObject) -> JsonObject:
    """An instance with its defaults; raises RejectedError where the server would refuse it."""
    schema = graph.spec.schema
    expected = (f"{schema.group}/{schema.api_version}", schema.kind)
    if (written.get("apiVersion"), written.get("kind")) != expected:
        found = f"{written.get('apiVersion')} {written.get('kind')}"
        raise RejectedError(f"it is a {found}, and the definition is of {expected[0]} {expected[1]}", "kind")
    instance: JsonObject = copy_json(written)
    if schema.scope == "Namespaced" and not dig(instance, "metadata", "namespace"):
        instance["metadata"] = {**dig_object(instance, "metadata"), "namespace": DEFAULT_NAMESPACE}
    version = graph.definition["spec"]["versions"][0]
    compiled = compile_schema(version["schema"]["openAPIV3Schema"], rules=RuleEngine())
    compiled.default(instance)
    if unknown := compiled.prune(instance):
        raise RejectedError(f"unknown field {unknown[0]}", unknown[0])
    if errors := compiled.validate(instance):
        raise RejectedError("; ".join(map(str, errors)), str(errors[0]).partition(":")[0])
    return instance
