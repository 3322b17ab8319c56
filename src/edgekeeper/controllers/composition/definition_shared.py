"""What the controllers of composition share in one process."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgekeeper.controllers.composition.definition_options import CompositionOptions, Mode
from edgekeeper.controllers.composition.predecessor import KRO
from edgekeeper.controllers.composition.registry import GraphRegistry
from edgekeeper.controllers.composition.served_schemas import ServedCompiler, ServedSchemas, graph_options
from edgekeeper.lifecycle.predecessor import ANY_NAMESPACE, Predecessor
from edgekeeper.runtime.contract import Services


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


def guarded(services: Services, predecessor: Predecessor | None) -> Services:
    """Services whose client refuses every write while the predecessor is running, in the middle of a pass too."""
    if predecessor is None:
        return services
    return replace(services, client=services.client.guarded(predecessor.confirm_gone))
