"""Register ResourceGraphDefinitions and GraphRevisions with the process: flags and controllers.

There is no preview: `edgekeeper validate`, `render` and `diff` show what a definition would do, and the definition itself
changes nothing but its own revisions and the CustomResourceDefinition that is generated from it.

What compiles expressions is imported when a controller is built: processes without compositions do not load it.
"""

from __future__ import annotations

from typing import ClassVar

from edgekeeper.api.composition import GRAPH_REVISION, RESOURCE_GRAPH_DEFINITION
from edgekeeper.api.definition import CustomKind
from edgekeeper.controllers.composition.definition_options import (
    ALLOWED_KINDS,
    ALLOWED_NAMESPACES,
    DEFINITION_CONTROLLER,
    MOST_DIMENSIONS,
    MOST_ITEMS,
    MOST_REVISIONS,
    REVISION_CONTROLLER,
    CompositionOptions,
    Mode,
    parse_count,
    parse_gates,
    parse_kind,
    parse_mode,
    parse_seconds,
)
from edgekeeper.controllers.composition.predecessor import KRO
from edgekeeper.controllers.composition.rbac import DEFINITIONS, REVISIONS
from edgekeeper.controllers.composition.remedies import REMEDIES
from edgekeeper.lifecycle.module import Cloud, CommonOptions, Flag, FlagValues, KindModule, Process, Role
from edgekeeper.runtime.controller import Controller

_FLAGS = (
    Flag(
        "--composition",
        "Whether compositions are reconciled: `auto` leaves them to kro while kro is running, `on`, `off`.",
        metavar="auto|on|off",
        default=str(Mode.AUTO),
        parse=parse_mode,
    ),
    Flag(
        "--kro-namespace",
        "Where `--composition auto` looks for kro.  [default: all namespaces]",
        metavar="NAME",
    ),
    Flag(
        "--allow-crd-deletion",
        "Delete the CustomResourceDefinition of a composition when its definition is deleted.",
        metavar="[BOOL]",
        default="false",
        switch=True,
    ),
    Flag(
        "--feature-gates",
        "kro's feature gates, such as `CELOmitFunction=true`, which allows omit() in templates.",
        metavar="GATE=BOOL,…",
        parse=parse_gates,
    ),
    Flag(
        "--rgd-max-graph-revisions",
        "Revisions that are kept of each composition; 0 for all.",
        metavar="NUMBER",
        default=str(MOST_REVISIONS),
        parse=parse_count,
    ),
    Flag(
        "--rgd-max-collection-size",
        "Objects that a collection of a composition may have.",
        metavar="NUMBER",
        default=str(MOST_ITEMS),
        parse=parse_count,
    ),
    Flag(
        "--rgd-max-collection-dimension-size",
        "Iterators that a collection of a composition may have.",
        metavar="NUMBER",
        default=str(MOST_DIMENSIONS),
        parse=parse_count,
    ),
    Flag(
        ALLOWED_KINDS,
        "Allow compositions to use only these kinds. Repeatable.  [default: any]",
        metavar="KIND.GROUP",
        multiple=True,
        parse=parse_kind,
    ),
    Flag(
        ALLOWED_NAMESPACES,
        "Allow compositions to create and read objects in these namespaces only. Repeatable.  [default: any]",
        metavar="NAME",
        multiple=True,
    ),
    Flag(
        "--resource-graph-definition-concurrent-reconciles",
        "Definitions of compositions that are reconciled at the same time; 0 for --max-concurrent-reconciles.",
        metavar="NUMBER",
        default="0",
        parse=parse_count,
    ),
    Flag(
        "--dynamic-controller-concurrent-reconciles",
        "Instances of a composition that are reconciled at the same time; 0 for --max-concurrent-reconciles.",
        metavar="NUMBER",
        default="0",
        parse=parse_count,
    ),
    Flag(
        "--dynamic-controller-default-resync-period",
        "The longest time between two looks at an instance of a composition, in seconds.",
        metavar="SECONDS",
        default="36000",
        parse=parse_seconds,
    ),
)


class CompositionModule(KindModule):
    """A controller of composition."""

    role: ClassVar = Role.MANAGER
    clouds: ClassVar = frozenset[Cloud]()
    remedies: ClassVar = REMEDIES
    predecessor: ClassVar = KRO

    def is_enabled(self, values: FlagValues) -> bool:
        return values.get("composition") != Mode.OFF


class DefinitionModule(CompositionModule):
    """ResourceGraphDefinition: kinds that a platform team defines."""

    name: ClassVar = DEFINITION_CONTROLLER
    definition: ClassVar[CustomKind | None] = RESOURCE_GRAPH_DEFINITION
    flags: ClassVar = _FLAGS
    rules: ClassVar = DEFINITIONS

    def build(self, process: Process, values: FlagValues) -> Controller:
        from edgekeeper.controllers.composition import definition_controller as wiring  # noqa: PLC0415 # as above

        return wiring.definition_controller(process, composition_options(process.options, values))


class RevisionModule(CompositionModule):
    """GraphRevision: what definitions said at some time."""

    name: ClassVar = REVISION_CONTROLLER
    definition: ClassVar[CustomKind | None] = GRAPH_REVISION
    rules: ClassVar = REVISIONS

    def build(self, process: Process, values: FlagValues) -> Controller:
        from edgekeeper.controllers.composition import definition_controller as wiring  # noqa: PLC0415 # as above

        return wiring.revision_controller(process, composition_options(process.options, values))


def composition_options(common: CommonOptions, values: FlagValues) -> CompositionOptions:
    """The options of composition, from the common options and its flags."""
    defaults = CompositionOptions()
    return CompositionOptions(
        mode=Mode(values.get("composition") or Mode.AUTO),
        kro_namespace=values.get("kro_namespace") or "",
        allow_crd_deletion=bool(values.get("allow_crd_deletion")),
        omit_allowed=values.get("feature_gates") is True,
        max_revisions=values.get("rgd_max_graph_revisions", MOST_REVISIONS),
        max_collection_size=values.get("rgd_max_collection_size", MOST_ITEMS),
        max_dimensions=values.get("rgd_max_collection_dimension_size", MOST_DIMENSIONS),
        allowed_kinds=frozenset(values.get("composition_allowed_kinds", ())) or None,
        allowed_namespaces=frozenset(values.get("composition_allowed_namespaces", ())) or None,
        max_concurrent=values.get("resource_graph_definition_concurrent_reconciles") or common.max_concurrent,
        instance_max_concurrent=values.get("dynamic_controller_concurrent_reconciles")
        or common.max_concurrent,
        instance_resync=values.get("dynamic_controller_default_resync_period") or defaults.instance_resync,
    )
