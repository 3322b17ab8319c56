"""Resources of a definition as nodes of a graph: what kind of object each one is, and which expressions it has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

from edgekeeper.api.composition import ExternalRef, Resource
from edgekeeper.controllers.composition.expressions import Expression, read_standalone
from edgekeeper.controllers.composition.rejection import RejectedError, quoted, rejected_below
from edgekeeper.controllers.composition.schemas import KindSchema
from edgekeeper.controllers.composition.template import Variable, find_variables
from edgekeeper.core.json import JsonObject, dig_object

RESERVED_PREFIXES: Final = ("kro.run/", "internal.kro.run/")
"""Of labels and annotations that only we write."""

_API_VERSION: Final = re.compile(r"([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
_KIND: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_CUSTOM_RESOURCE_DEFINITION: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


class NodeKind(StrEnum):
    """What a node stands for."""

    RESOURCE = "Resource"
    COLLECTION = "Collection"
    EXTERNAL = "External"
    EXTERNAL_COLLECTION = "ExternalCollection"

    @property
    def is_list(self) -> bool:
        """Whether expressions see a list of objects."""
        return self in (NodeKind.COLLECTION, NodeKind.EXTERNAL_COLLECTION)

    @property
    def is_external(self) -> bool:
        """Whether the objects are only read."""
        return self in (NodeKind.EXTERNAL, NodeKind.EXTERNAL_COLLECTION)


@dataclass(frozen=True, slots=True)
class Dimension:
    """An iterator of a collection, and the list it goes through."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Node:
    """A resource, read but not yet checked against others."""

    id: str
    index: int
    kind: NodeKind
    template: JsonObject
    variables: tuple[Variable, ...]
    known: KindSchema | None
    """What is known about its kind; None if nothing is."""
    include_when: tuple[Expression, ...] = ()
    ready_when: tuple[Expression, ...] = ()
    for_each: tuple[Dimension, ...] = ()
    depends_on: tuple[str, ...] = ()
    orphaned: bool = False
    """Whether its objects stay when the instance goes."""

    @property
    def api_version(self) -> str:
        return str(self.template["apiVersion"])

    @property
    def object_kind(self) -> str:
        return str(self.template["kind"])

    @property
    def namespaced(self) -> bool | None:
        """Whether its objects belong to namespaces; None if that is not known."""
        return self.known.namespaced if self.known is not None else None

    @property
    def schema(self) -> JsonObject | None:
        """The schema of one of its objects, if it is known."""
        return self.known.schema if self.known is not None else None

    @property
    def iterators(self) -> tuple[str, ...]:
        return tuple(dimension.name for dimension in self.for_each)

    @property
    def place(self) -> str:
        """Where it stands in the definition."""
        return f"spec.resources[{self.index}]"


def written_object(resource: Resource) -> JsonObject:
    """The object that a resource describes; raises RejectedError if it is none."""
    place = f"resource {quoted(resource.id)}"
    if resource.template is None and resource.external_ref is None:
        raise _combination(f"{place}: exactly one of template or externalRef must be provided")
    if resource.template is not None and resource.external_ref is not None:
        raise _combination(f"{place}: cannot use externalRef with template")
    if resource.external_ref is not None and resource.for_each:
        raise _combination(f"{place}: cannot use externalRef with forEach")
    if resource.external_ref is not None:
        external: JsonObject = msgspec.to_builtins(resource.external_ref)
        return external
    written = resource.template or {}
    if complaint := _structure_complaint(written):
        raise RejectedError(
            f"resource {resource.id} is not a valid Kubernetes object: {complaint}", "template"
        )
    return written


def _check_reference(resource: str, reference: ExternalRef) -> None:
    metadata = reference.metadata
    if bool(metadata.name.strip()) == (metadata.selector is not None):
        words = f"invalid external ref metadata for resource {resource}"
        raise RejectedError(
            f"{words}: exactly one of name or selector must be provided", "externalRef.metadata"
        )


def _combination(message: str) -> RejectedError:
    return RejectedError(f"invalid combination of resource fields: {message}")


def _structure_complaint(written: JsonObject) -> str:
    for name, kind, word in (
        ("apiVersion", str, "string"),
        ("kind", str, "string"),
        ("metadata", dict, "map"),
    ):
        if name not in written:
            return f"{name} field not found"
        if not isinstance(written[name], kind):
            return f"{name} field is not a {word}"
    return ""


def build_node(resource: Resource, index: int, known: KindSchema | None) -> Node:
    """Read a resource; raises RejectedError with a path below the resource."""
    written = written_object(resource)
    source = "externalRef" if resource.external_ref is not None else "template"
    _check_identity(resource.id, written, source)
    words = f"failed to extract CEL expressions from schema for resource {resource.id}"
    with rejected_below(words, source):
        variables = tuple(find_variables(written))
    return Node(
        id=resource.id,
        index=index,
        kind=_node_kind(resource),
        template=written,
        variables=variables,
        known=known,
        include_when=_standalone(resource.include_when, "includeWhen"),
        ready_when=_standalone(resource.ready_when, "readyWhen"),
        for_each=_dimensions(resource),
        depends_on=tuple(resource.depends_on),
        orphaned=resource.deletion_policy == "Orphan",
    )


def check_node(resource: Resource, node: Node, *, cluster_scoped_instance: bool) -> None:
    """Raise RejectedError, with a path below the resource, if a node's object may not be what it is."""
    if resource.external_ref is not None:
        _check_reference(resource.id, resource.external_ref)
    source = "externalRef" if node.kind.is_external else "template"
    with rejected_below("", f"{source}.metadata"):
        _check_namespace(node, cluster_scoped_instance=cluster_scoped_instance)
        _check_reserved(node)
    if (node.api_version, node.object_kind) == _CUSTOM_RESOURCE_DEFINITION:
        _check_definition(node)
    elif not node.kind.is_external:
        words = f"failed to extract CEL expressions from schema for resource {node.id}"
        with rejected_below(words, "template"):
            find_variables(node.template, node.schema)  # it checks what it walks over


def _node_kind(resource: Resource) -> NodeKind:
    if resource.external_ref is None:
        return NodeKind.COLLECTION if resource.for_each else NodeKind.RESOURCE
    is_selected = resource.external_ref.metadata.selector is not None
    return NodeKind.EXTERNAL_COLLECTION if is_selected else NodeKind.EXTERNAL


def _check_identity(resource: str, written: JsonObject, source: str) -> None:
    """The kind and version must be known before anything is evaluated."""
    version, kind = written["apiVersion"], written["kind"]
    words = f"failed to extract GVK from resource {resource}"
    if not _API_VERSION.fullmatch(version):
        raise RejectedError(f"{words}: invalid apiVersion format: {version}", f"{source}.apiVersion")
    if not _KIND.fullmatch(kind.lower()):
        raise RejectedError(f"{words}: invalid kind {quoted(kind)}", f"{source}.kind")


def _check_namespace(node: Node, *, cluster_scoped_instance: bool) -> None:
    place = f"resource {quoted(node.id)}"
    metadata = dig_object(node.template, "metadata")
    if node.namespaced is False and "namespace" in metadata:
        raise RejectedError(f"{place} is cluster-scoped and must not set metadata.namespace", "namespace")
    if not node.namespaced or not cluster_scoped_instance or node.kind is NodeKind.EXTERNAL_COLLECTION:
        return
    value = metadata.get("namespace")
    if not isinstance(value, str) or not value.strip():
        required = "must set metadata.namespace when the instance CRD is cluster-scoped"
        raise RejectedError(f"{place} is namespaced and {required}", "namespace")


def _check_reserved(node: Node) -> None:
    for field, word in (("labels", "label"), ("annotations", "annotation")):
        for key in dig_object(node.template, "metadata", field):
            for prefix in RESERVED_PREFIXES:
                if key.startswith(prefix):
                    reserved = f"{field} with prefix {quoted(prefix)} are reserved for internal use"
                    raise RejectedError(f"invalid {word} for resource {quoted(node.id)}. {reserved}", field)


def _check_definition(node: Node) -> None:
    for variable in node.variables:
        if variable.steps[0] != "metadata":
            place = f"found in path {quoted(variable.path)}, resource {node.id}"
            message = f"CEL expressions in CRDs are only supported for metadata fields, {place}"
            raise RejectedError(message, f"template.{variable.path}")


def _standalone(texts: list[str], field: str) -> tuple[Expression, ...]:
    found: list[Expression] = []
    for index, text in enumerate(texts):
        with rejected_below(f"failed to parse {field} expressions", f"{field}[{index}]"):
            found.append(read_standalone(text))
    return tuple(found)


def _dimensions(resource: Resource) -> tuple[Dimension, ...]:
    found: list[Dimension] = []
    for index, written in enumerate(resource.for_each):
        for name, text in written.items():
            words = (
                f"failed to parse forEach dimensions: invalid forEach expression for dimension {quoted(name)}"
            )
            with rejected_below(words, f"forEach[{index}]"):
                found.append(Dimension(name, read_standalone(text)))
    return tuple(found)


def is_identity_path(variable: Variable, *, namespaced: bool | None) -> bool:
    """Whether a value is part of what an object is called."""
    if variable.steps == ("metadata", "name"):
        return True
    return variable.steps == ("metadata", "namespace") and namespaced is not False
