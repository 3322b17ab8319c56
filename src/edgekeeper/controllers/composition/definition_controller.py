"""The controllers of ResourceGraphDefinitions and of their revisions, and what they share.

A definition is looked at again when

    it changes                                   spec, annotations, deletion
    a revision of it comes or goes
    its CustomResourceDefinition changes         edited or deleted by others, established
    a CustomResourceDefinition of a group that its resources use changes
                                                 a kind is installed later, its schema changes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.controllers.composition.definition_admission import DefinitionValidator
from edgekeeper.controllers.composition.definition_index import CrdSource, RevisionSource
from edgekeeper.controllers.composition.definition_observe import Observer
from edgekeeper.controllers.composition.definition_options import (
    DEFINITION_CONTROLLER,
    REVISION_CONTROLLER,
    CompositionOptions,
    Mode,
)
from edgekeeper.controllers.composition.definition_reconciler import DefinitionReconciler
from edgekeeper.controllers.composition.registry import GraphRegistry
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND, FINALIZER
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.controllers.composition.revision_reconciler import RevisionReconciler
from edgekeeper.controllers.composition.rights import Rights
from edgekeeper.controllers.composition.served_schemas import ServedCompiler, ServedSchemas, graph_options
from edgekeeper.lifecycle.controller import Runnable, Upkeep, UpkeptController
from edgekeeper.lifecycle.module import Process
from edgekeeper.lifecycle.predecessor import ANY_NAMESPACE, Predecessor, PreviousOperator
from edgekeeper.runtime.contract import ControllerOptions, Services

RESYNC: Final = timedelta(hours=1)
"""How often a definition at rest is looked at: that rights were taken away is reported by no watch."""
KRO: Final = PreviousOperator(
    "kro", lease_name="6f0f64a5.kro.run", deployment_labels="app.kubernetes.io/name=kro"
)


@dataclass(frozen=True)
class Composition:
    """What the controllers of composition share in one process."""

    services: Services
    options: CompositionOptions
    graphs: GraphRegistry
    compiler: ServedCompiler
    predecessor: Predecessor | None
    """Watches for a running kro; None if compositions are ours whether kro runs or not."""

    @classmethod
    def of(cls, services: Services, options: CompositionOptions) -> Composition:
        schemas = ServedSchemas(services.client, services.clock)
        compiler = ServedCompiler(schemas, graph_options(options))
        return cls(services, options, GraphRegistry(), compiler, kro_watch(services, options))

    def is_active(self) -> bool:
        """Whether compositions are ours, as far as is known: only the process that leads looks for kro."""
        return self.predecessor is None or not self.predecessor.sign


def kro_watch(services: Services, options: CompositionOptions) -> Predecessor | None:
    """Watches for a running kro, if compositions are left to it."""
    if options.mode is not Mode.AUTO:
        return None
    return Predecessor(services, KRO, options.kro_namespace or ANY_NAMESPACE)


class DefinitionController(UpkeptController):
    """The controller of ResourceGraphDefinitions. `running` runs beside it: the controllers of instances."""

    def __init__(self, services: Services, shared: Composition, running: Sequence[Runnable] = ()) -> None:
        options = shared.options
        self._observer = Observer(
            services.client,
            shared.compiler,
            Rights(services.client, services.clock, services.namespaces),
            options,
        )
        schemas = shared.compiler.schemas
        super().__init__(
            ControllerOptions(
                DEFINITION_CONTROLLER,
                DEFINITION_KIND,
                finalizer=FINALIZER,
                max_concurrent=options.max_concurrent,
                resync=RESYNC,
                validator=DefinitionValidator(schemas, options, shared.is_active),
            ),
            DefinitionReconciler(services.client, services.clock, self._observer, shared.graphs, options),
            services,
            [CrdSource(self._observer.index, schemas), RevisionSource()],
            Upkeep(running, predecessor=shared.predecessor),
        )

    def informers_changed(self) -> None:
        super().informers_changed()
        for informer in self.informers:
            if informer.kind == REVISION:
                self._observer.revisions = informer.store


class RevisionController(UpkeptController):
    """The controller of GraphRevisions."""

    def __init__(self, services: Services, shared: Composition) -> None:
        super().__init__(
            ControllerOptions(
                REVISION_CONTROLLER,
                REVISION,
                finalizer=FINALIZER,
                max_concurrent=shared.options.max_concurrent,
            ),
            RevisionReconciler(shared.compiler, services.clock),
            services,
            upkeep=Upkeep(predecessor=kro_watch(services, shared.options)),
        )


def composition_of(process: Process, options: CompositionOptions) -> Composition:
    """What the controllers of composition share: made by the first one that asks for it."""
    if Composition not in process.made:
        process.made[Composition] = Composition.of(process.services, options)
    made: Composition = process.made[Composition]
    return made


def definition_controller(process: Process, options: CompositionOptions) -> DefinitionController:
    return DefinitionController(process.services, composition_of(process, options))


def revision_controller(process: Process, options: CompositionOptions) -> RevisionController:
    return RevisionController(process.services, composition_of(process, options))
