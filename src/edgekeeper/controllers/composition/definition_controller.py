"""The controllers of ResourceGraphDefinitions and of their revisions, and what they share.

A definition is looked at again when

    it changes                                   spec, annotations, deletion
    a revision of it comes or goes
    its CustomResourceDefinition changes         edited or deleted by others, established
    a CustomResourceDefinition of a group that its resources use changes
                                                 a kind is installed later, its schema changes
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.controllers.composition.definition_admission import DefinitionValidator
from edgekeeper.controllers.composition.definition_index import CrdSource, RevisionSource
from edgekeeper.controllers.composition.definition_instances import InstanceRunner
from edgekeeper.controllers.composition.definition_observe import Observer
from edgekeeper.controllers.composition.definition_options import (
    DEFINITION_CONTROLLER,
    REVISION_CONTROLLER,
    CompositionOptions,
)
from edgekeeper.controllers.composition.definition_reconciler import DefinitionReconciler
from edgekeeper.controllers.composition.definition_shared import Composition, guarded, kro_watch
from edgekeeper.controllers.composition.labels import FINALIZER
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.controllers.composition.revision_reconciler import RevisionReconciler
from edgekeeper.controllers.composition.rights import Rights
from edgekeeper.lifecycle.controller import Upkeep, UpkeptController
from edgekeeper.lifecycle.module import Process
from edgekeeper.runtime.contract import ControllerOptions, Services

RESYNC: Final = timedelta(hours=1)
"""How often a definition at rest is looked at: that rights were taken away is reported by no watch."""


class DefinitionController(UpkeptController):
    """The controller of ResourceGraphDefinitions, and beside it those of instances."""

    def __init__(self, services: Services, shared: Composition) -> None:
        options = shared.options
        services = guarded(services, shared.predecessor)
        self._instances = InstanceRunner(services, shared)
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
            Upkeep([self._instances], predecessor=shared.predecessor),
        )

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        super().set_namespaces(namespaces)
        self._observer.rights.set_namespaces(namespaces)
        self._instances.set_namespaces(namespaces)

    def informers_changed(self) -> None:
        super().informers_changed()
        for informer in self.informers:
            if informer.kind == REVISION:
                self._observer.revisions = informer.store


class RevisionController(UpkeptController):
    """The controller of GraphRevisions."""

    def __init__(self, services: Services, shared: Composition) -> None:
        predecessor = kro_watch(services, shared.options)
        super().__init__(
            ControllerOptions(
                REVISION_CONTROLLER,
                REVISION,
                finalizer=FINALIZER,
                max_concurrent=shared.options.max_concurrent,
            ),
            RevisionReconciler(shared.compiler, services.clock),
            guarded(services, predecessor),
            upkeep=Upkeep(predecessor=predecessor),
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
