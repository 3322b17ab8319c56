"""A ResourceGraphDefinition, compiled; or everything that is wrong with it.

    compilation = compile_definition(spec, schemas)
    compilation.graph                # None while there are problems
    compilation.problems             # each with the path of the field, in kro's words
    compilation.dependencies         # known even where something else is wrong

Problems of one resource do not hide those of another. What is not known is assumed to be right: a kind without a schema
is dynamic, which `warnings` report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from edgekeeper.api.composition import DefinitionSpec, Resource
from edgekeeper.controllers.composition import names
from edgekeeper.controllers.composition.checking import CompiledNode, Scope, compile_node, scope_of
from edgekeeper.controllers.composition.dag import apply_orders, topological_order
from edgekeeper.controllers.composition.definition import instance_definition
from edgekeeper.controllers.composition.inspection import Inspector, node_dependencies
from edgekeeper.controllers.composition.node import Node, build_node, check_node, written_object
from edgekeeper.controllers.composition.rejection import RejectedError, quoted
from edgekeeper.controllers.composition.schemas import SchemaSource, with_metadata
from edgekeeper.controllers.composition.simple_schema import to_openapi
from edgekeeper.controllers.composition.status import CompiledStatus, compile_status
from edgekeeper.core.json import JsonObject, dig_object
from kubecel.types import DYN

_RESOURCES: Final = "spec.resources"


@dataclass(frozen=True, slots=True)
class Options:
    """What an installation allows."""

    omit_allowed: bool = False
    """The feature gate CELOmitFunction."""
    kinds_must_be_known: bool = False
    """Whether a kind that nobody serves is a problem."""
    most_dimensions: int = names.MOST_DIMENSIONS


@dataclass(frozen=True, slots=True)
class Problem:
    """One error or warning, and the path of the field."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Graph:
    """A definition that can be carried out."""

    spec: DefinitionSpec
    nodes: Mapping[str, CompiledNode]
    """By id, in topological order."""
    apply_orders: Mapping[str, int]
    status: CompiledStatus
    definition: JsonObject
    """The CustomResourceDefinition of its instances."""
    instance_schema: JsonObject
    """What expressions see of an instance: everything but its status."""

    @property
    def dependencies(self) -> dict[str, tuple[str, ...]]:
        return {node.id: node.dependencies for node in self.nodes.values()}

    @property
    def order(self) -> list[str]:
        return list(self.nodes)


@dataclass
class Compilation:
    """The result of compiling a definition: what was found out, and the problems."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    spec_schema: JsonObject | None = None
    """The schema of the instances' spec."""
    schema_error: str = ""
    """Why there is none, in the words of SimpleSchema."""
    dependencies: dict[str, list[str]] | None = None
    order: list[str] | None = None
    apply_orders: dict[str, int] | None = None
    graph: Graph | None = None

    def note(self, error: RejectedError) -> None:
        self.problems.append(Problem(error.path, error.message))


def read_definition(body: JsonObject) -> DefinitionSpec:
    """The spec of a definition as typed data; raises RejectedError where a field is of another type."""
    spec = _without_nulls(dig_object(body, "spec"))
    if isinstance(spec.get("schema"), dict):
        spec["schema"] = _without_nulls(spec["schema"])
    if isinstance(spec.get("resources"), list):
        spec["resources"] = [_read_resource(one) for one in spec["resources"]]
    try:
        return msgspec.convert(spec, DefinitionSpec)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        raise RejectedError(message, f"spec{place.removesuffix('`')}") from error


def _read_resource(written: Any) -> Any:
    if not isinstance(written, dict):
        return written
    fields = _without_nulls(written)
    reference = fields.get("externalRef")
    if isinstance(reference, dict) and reference.get("metadata") is None:
        fields["externalRef"] = {**reference, "metadata": {}}
    return fields


def _without_nulls(fields: JsonObject) -> dict[str, Any]:
    """As the API server reads them: a field that is null is not there."""
    return {name: value for name, value in fields.items() if value is not None}


def compile_definition(
    spec: DefinitionSpec, source: SchemaSource, options: Options | None = None
) -> Compilation:
    """Check a definition and compile it."""
    return _Compiler(spec, source, options or Options()).run()


class _Compiler:
    """The stages of a compilation; each uses what the ones before it have found."""

    def __init__(self, spec: DefinitionSpec, source: SchemaSource, options: Options) -> None:
        self._spec = spec
        self._source = source
        self._options = options
        self._found = Compilation()
        self._unsound: set[str] = set()
        """Nodes whose objects do not fit their kinds."""

    def run(self) -> Compilation:
        self._read_schema()
        if self._check_names():
            nodes = self._build_nodes()
            inspector = Inspector(
                [one.id for one in self._spec.resources], omit_allowed=self._options.omit_allowed
            )
            dependencies = self._inspect(nodes, inspector)
            self._arrange(dependencies)
            self._check(nodes, dependencies, inspector)
        return self._found

    def _check_names(self) -> bool:
        """Whether names can be relied on."""
        schema, resources = self._spec.schema, self._spec.resources
        ids = [resource.id for resource in resources]
        with self._noting("failed to validate resourcegraphdefinition", "spec.schema"):
            names.check_kind(schema.kind)
            names.check_version(schema.api_version)
        before = len(self._found.problems)
        with self._noting("failed to validate resourcegraphdefinition", _RESOURCES):
            names.check_ids(ids)
        for index, resource in enumerate(resources):
            with self._noting("failed to validate resourcegraphdefinition", f"{_RESOURCES}[{index}]"):
                names.check_iterators(resource.id, resource.for_each, ids, self._options.most_dimensions)
        return len(self._found.problems) == before

    def _read_schema(self) -> None:
        schema = self._spec.schema
        try:
            self._found.spec_schema = to_openapi(schema.spec, schema.types)
        except RejectedError as error:
            self._found.schema_error = error.message
            words = "failed to build OpenAPI schema for instance"
            self._found.note(error.below(words, "spec.schema"))

    def _build_nodes(self) -> dict[str, Node]:
        """Nodes that could be read. What is wrong with their objects does not hide what they depend on."""
        nodes: dict[str, Node] = {}
        for index, resource in enumerate(self._spec.resources):
            place = f"{_RESOURCES}[{index}]"
            words = f"failed to build resource {quoted(resource.id)}"
            with self._noting(words, place):
                nodes[resource.id] = self._build_node(resource, index)
            if resource.id in nodes:
                with self._noting(words, place):
                    self._check_node(resource, nodes[resource.id])
        return nodes

    def _build_node(self, resource: Resource, index: int) -> Node:
        written = written_object(resource)
        return build_node(resource, index, self._source.find(written["apiVersion"], written["kind"]))

    def _check_node(self, resource: Resource, node: Node) -> None:
        self._unsound.add(node.id)
        if node.known is None:
            self._miss_schema(node)
        check_node(resource, node, cluster_scoped_instance=self._spec.schema.scope == "Cluster")
        self._unsound.discard(node.id)

    def _miss_schema(self, node: Node) -> None:
        kind = f"{node.api_version} {node.object_kind}"
        if self._options.kinds_must_be_known:
            raise RejectedError(
                f"failed to get schema for resource {node.id}: schema not found: {kind}", "template"
            )
        message = f"no schema of {kind} is known: fields of resource {quoted(node.id)} are not checked"
        self._found.warnings.append(Problem(node.place, message))

    def _inspect(self, nodes: Mapping[str, Node], inspector: Inspector) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node in nodes.values():
            with self._noting("failed to build dependency graph", node.place):
                found[node.id] = node_dependencies(node, inspector)
        return found

    def _arrange(self, dependencies: Mapping[str, list[str]]) -> None:
        """Set the dependencies and the order, if the dependencies of all resources are known."""
        if len(dependencies) < len(self._spec.resources):
            return
        self._found.dependencies = dict(dependencies)
        with self._noting("failed to build dependency graph", _RESOURCES):
            self._found.order = topological_order(dependencies)
            self._found.apply_orders = apply_orders(dependencies, self._found.order)

    def _check(
        self, nodes: Mapping[str, Node], dependencies: Mapping[str, list[str]], inspector: Inspector
    ) -> None:
        instance = self._instance_schema()
        scope = scope_of(nodes.values(), instance)
        if len(nodes) < len(self._spec.resources):
            scope = self._with_unknown(scope)
        compiled: dict[str, CompiledNode] = {}
        for name, needed in dependencies.items():
            if name in self._unsound:
                continue  # it would be reported twice
            node = nodes[name]
            with self._noting(f"failed to validate resource {quoted(name)}", node.place):
                compiled[name] = compile_node(node, needed, scope, inspector)
        with self._noting("", "spec.schema.status"):
            status = compile_status(self._spec.schema.status, scope, inspector)
            if not self._found.problems and instance is not None:
                self._finish(compiled, status, instance)

    def _with_unknown(self, scope: Scope) -> Scope:
        """Resources that could not be read are dynamic, so that others are checked all the same."""
        unknown = {one.id for one in self._spec.resources} - scope.types.keys()
        return Scope({**scope.types, **dict.fromkeys(unknown, DYN)})

    def _instance_schema(self) -> JsonObject | None:
        spec = self._found.spec_schema
        if spec is None:
            return None
        schema = {"type": "object", "properties": {"spec": spec}}
        return with_metadata(schema, namespaced=self._spec.schema.scope != "Cluster")

    def _finish(
        self, nodes: Mapping[str, CompiledNode], status: CompiledStatus, instance: JsonObject
    ) -> None:
        found = self._found
        self._found.graph = Graph(
            spec=self._spec,
            nodes={name: nodes[name] for name in found.order or ()},
            apply_orders=found.apply_orders or {},
            status=status,
            definition=instance_definition(self._spec.schema, found.spec_schema or {}, status.schema),
            instance_schema=instance,
        )

    def _noting(self, words: str, path: str) -> _Noting:
        return _Noting(self._found, words, path)


class _Noting:
    """Keeps a rejection as a problem, and goes on."""

    def __init__(self, found: Compilation, words: str, path: str) -> None:
        self._found = found
        self._words = words
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, RejectedError):
            return False
        self._found.note(error.below(self._words, self._path))
        return True
