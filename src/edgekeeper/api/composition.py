"""ResourceGraphDefinition and GraphRevision, in kro's groups, as kro defines them.

A ResourceGraphDefinition describes a kind of its own (`schema`) and what each object of that kind consists of
(`resources`). A GraphRevision is what one of them said at some time. Two fields of resources are additions, both
optional: `dependsOn` and `deletionPolicy`.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from edgekeeper.api.definition import AGE, Column, CustomKind, condition_column
from edgekeeper.api.schema import Rule, admission
from edgekeeper.api.shared import CamelStruct, Conditions

GROUP: Final = "kro.run"
INTERNAL_GROUP: Final = "internal.kro.run"
VERSION: Final = "v1alpha1"
REVISION_HASH_LABEL: Final = "kro.run/graph-revision-hash"

_ONE_SOURCE: Final = Rule(
    "(has(self.template) && !has(self.externalRef)) || (!has(self.template) && has(self.externalRef))",
    "exactly one of template or externalRef must be provided",
)
_ONE_TARGET: Final = Rule(
    "(has(self.name) && !has(self.selector)) || (!has(self.name) && has(self.selector))",
    "exactly one of name or selector must be provided",
)
_SET: Final = {"x-kubernetes-list-type": "set"}


def _immutable(name: str, **bounds: Any) -> dict[str, Any]:
    return admission(Rule("self == oldSelf", f"{name} is immutable"), **bounds)


FreeForm = Annotated[dict[str, Any], Meta(description="Kept as it is written.")]
Names = Annotated[
    list[
        Annotated[str, Meta(extra_json_schema={"maxLength": 63, "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"})]
    ],
    Meta(extra_json_schema={"maxItems": 32, **_SET}),
]
Expressions = Annotated[list[str], Meta(description="Expressions in ${…}, each of type bool; all must hold.")]


class GeneratedMetadata(CamelStruct, frozen=True):
    """Metadata of the definition that is generated."""

    labels: Annotated[dict[str, str], Meta(description="Its labels.")] = {}
    annotations: Annotated[dict[str, str], Meta(description="Its annotations.")] = {}


class PrinterColumn(CamelStruct, frozen=True):
    """A column of `kubectl get`."""

    name: Annotated[str, Meta(description="The heading of the column.")]
    type: Annotated[str, Meta(description="The type of the value: string, integer, number, boolean or date.")]
    json_path: Annotated[str, Meta(description="Where the value is.")]
    description: Annotated[str, Meta(description="What the column shows.")] = ""
    format: Annotated[str, Meta(description="The OpenAPI format of the value, such as int32.")] = ""
    priority: Annotated[int, Meta(description="0: always shown. Greater than 0: shown with -o wide.")] = 0


class InstanceSchema(CamelStruct, frozen=True):
    """The kind that is defined: its name, and what its objects look like."""

    kind: Annotated[
        str,
        Meta(
            description="The kind; it cannot be changed.",
            extra_json_schema=_immutable("kind", pattern="^[A-Z][a-zA-Z0-9]{0,62}$"),
        ),
    ]
    api_version: Annotated[
        str,
        Meta(
            description="Its version, such as v1alpha1, without the group; it cannot be changed.",
            extra_json_schema=_immutable("apiVersion", pattern="^v[0-9]+(alpha[0-9]+|beta[0-9]+)?$"),
        ),
    ]
    group: Annotated[
        str,
        Meta(
            description="Its group; it cannot be changed.",
            extra_json_schema=_immutable("group", default=GROUP),
        ),
    ] = GROUP
    scope: Annotated[
        Literal["Namespaced", "Cluster"],
        Meta(
            description="Whether its objects belong to namespaces; it cannot be changed.",
            extra_json_schema=_immutable("scope", default="Namespaced"),
        ),
    ] = "Namespaced"
    spec: Annotated[
        FreeForm, Meta(description="The fields of spec in SimpleSchema, such as `string | required=true`.")
    ] = {}
    types: Annotated[FreeForm, Meta(description="Types that fields of spec may have, by name.")] = {}
    status: Annotated[
        FreeForm, Meta(description="The fields of status: expressions, in objects and lists as needed.")
    ] = {}
    additional_printer_columns: Annotated[
        list[PrinterColumn], Meta(description="Columns of `kubectl get`, in place of State, Ready and Age.")
    ] = []
    short_names: Annotated[Names, Meta(description="Short names for kubectl.")] = []
    categories: Annotated[Names, Meta(description="Groups of kinds for kubectl.")] = []
    metadata: GeneratedMetadata | None = None


class LabelRequirement(CamelStruct, frozen=True):
    """What a label must be like."""

    key: Annotated[str, Meta(description="The key of the label.")]
    operator: Annotated[str, Meta(description="In, NotIn, Exists or DoesNotExist.")]
    values: Annotated[
        list[str],
        Meta(
            extra_json_schema={"x-kubernetes-list-type": "atomic"},
            description="The values that In and NotIn compare with.",
        ),
    ] = []


class LabelSelector(CamelStruct, frozen=True):
    """Objects by their labels; empty for all. Values may be expressions."""

    match_labels: Annotated[
        dict[str, str] | None, Meta(description="Labels that objects must have, with these values.")
    ] = None
    match_expressions: Annotated[
        Annotated[list[LabelRequirement], Meta(extra_json_schema={"x-kubernetes-list-type": "atomic"})]
        | None,
        Meta(description="Requirements that must all hold."),
    ] = None


class ExternalMetadata(CamelStruct, frozen=True):
    """Which objects are meant: one by name, or all with certain labels."""

    __rules__ = (_ONE_TARGET,)

    name: Annotated[str, Meta(extra_json_schema={"minLength": 1}, description="The name of the object.")] = ""
    namespace: Annotated[
        str,
        Meta(description="The instance's namespace where it is not said; for a selector, all namespaces."),
    ] = ""
    selector: LabelSelector | None = None


class ExternalRef(CamelStruct, frozen=True):
    """Objects that are there already: read, never changed."""

    api_version: Annotated[str, Meta(description="The group and version of the object.")]
    kind: Annotated[str, Meta(description="The kind of the object.")]
    metadata: ExternalMetadata


class Resource(CamelStruct, frozen=True):
    """One node of the graph: an object to create, a collection of them, or objects to read."""

    __rules__ = (_ONE_SOURCE,)

    id: Annotated[str, Meta(description="What expressions call it: lowerCamelCase, unique.")]
    template: Annotated[FreeForm, Meta(description="The object, with expressions in ${…}.")] | None = None
    external_ref: ExternalRef | None = None
    ready_when: Annotated[
        Expressions,
        Meta(description="When it counts as ready; may refer to itself, or `each` in a collection."),
    ] = []
    include_when: Annotated[
        Expressions,
        Meta(description="Whether it is part of an instance; may refer to `schema` and resources."),
    ] = []
    for_each: Annotated[
        list[
            Annotated[
                dict[str, str],
                Meta(
                    description="A variable, and the list that it stands for the elements of.",
                    extra_json_schema={"minProperties": 1, "maxProperties": 1},
                ),
            ]
        ],
        Meta(description="Makes a collection: one object for each element, or combination of elements."),
    ] = []
    depends_on: Annotated[
        list[str],
        Meta(
            description="Ids of resources that must be ready before it, though no expression refers to them.",
            extra_json_schema={"maxItems": 100, **_SET},
        ),
    ] = []
    deletion_policy: Annotated[
        Literal["Delete", "Orphan"],
        Meta(description="Orphan leaves the object when the instance goes, or no longer has this resource."),
    ] = "Delete"


class DefinitionSpec(CamelStruct, frozen=True):
    """A kind, and what its objects consist of."""

    schema: InstanceSchema
    resources: Annotated[list[Resource], Meta(description="What each object of the kind consists of.")] = []


class Dependency(CamelStruct, frozen=True):
    """A resource that another one depends on."""

    id: Annotated[str, Meta(description="The id of a resource that this one depends on.")]


class ResourceInformation(CamelStruct, frozen=True):
    """What a resource depends on."""

    id: Annotated[str, Meta(description="The id of the resource.")]
    dependencies: Annotated[list[Dependency], Meta(description="The resources that it depends on.")] = []


class DefinitionStatus(CamelStruct, frozen=True):
    """Whether the definition is accepted and served."""

    state: Annotated[
        str, Meta(description="Active while the graph is accepted, and its kind served and reconciled.")
    ] = ""
    topological_order: Annotated[
        list[str],
        Meta(
            description="The ids of the resources, in an order in which each comes after what it depends on."
        ),
    ] = []
    conditions: Conditions = []
    resources: Annotated[list[ResourceInformation], Meta(description="The resources with dependencies.")] = []
    last_issued_revision: Annotated[
        int | None, Meta(description="The highest number that a revision ever had.")
    ] = None


class ResourceGraphDefinition(CamelStruct, frozen=True):
    """The object as controllers read it."""

    spec: DefinitionSpec
    status: DefinitionStatus = DefinitionStatus()


class Snapshot(CamelStruct, frozen=True):
    """A ResourceGraphDefinition as it was."""

    name: Annotated[str, Meta(description="The name of the ResourceGraphDefinition.")]
    spec: DefinitionSpec
    generation: Annotated[int | None, Meta(description="Its generation.")] = None


class RevisionSpec(CamelStruct, frozen=True):
    """A numbered snapshot of a definition."""

    __rules__ = (Rule("self == oldSelf", "spec is immutable"),)

    revision: Annotated[int, Meta(description="Counts up for each name of a definition.", ge=1)]
    snapshot: Snapshot


class RevisionStatus(CamelStruct, frozen=True):
    """Whether the snapshot makes a graph."""

    topological_order: Annotated[
        list[str],
        Meta(
            description="The ids of the resources, in an order in which each comes after what it depends on."
        ),
    ] = []
    conditions: Conditions = []
    resources: Annotated[list[ResourceInformation], Meta(description="The resources with dependencies.")] = []


class GraphRevision(CamelStruct, frozen=True):
    """The object as controllers read it."""

    spec: RevisionSpec
    status: RevisionStatus = RevisionStatus()


RESOURCE_GRAPH_DEFINITION = CustomKind(
    group=GROUP,
    version=VERSION,
    kind="ResourceGraphDefinition",
    plural="resourcegraphdefinitions",
    description="A kind that is composed of other kinds.",
    spec=DefinitionSpec,
    status=DefinitionStatus,
    columns=(
        Column("APIVERSION", ".spec.schema.apiVersion"),
        Column("KIND", ".spec.schema.kind"),
        Column("STATE", ".status.state"),
        condition_column("Ready", "READY"),
        Column("TOPOLOGICALORDER", ".status.topologicalOrder", priority=1),
        Column("AGE", AGE.path, AGE.type),
    ),
    short_names=("rgd",),
    scope="Cluster",
)

GRAPH_REVISION = CustomKind(
    group=INTERNAL_GROUP,
    version=VERSION,
    kind="GraphRevision",
    plural="graphrevisions",
    description="What a ResourceGraphDefinition said at some time.",
    spec=RevisionSpec,
    status=RevisionStatus,
    columns=(
        Column("RGD", ".spec.snapshot.name", priority=1),
        Column("REVISION", ".spec.revision", "integer"),
        Column("HASH", r".metadata.labels.kro\.run/graph-revision-hash", priority=1),
        condition_column("Ready", "READY"),
        Column("AGE", AGE.path, AGE.type),
    ),
    short_names=("gr",),
    scope="Cluster",
)
