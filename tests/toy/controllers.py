"""The toy operator: what a process of it consists of, for whoever runs one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgekeeper.core.calls import Calls
from edgekeeper.kube.client import KubeClient
from edgekeeper.runtime.contract import ControllerOptions, Reconciler, Services
from edgekeeper.runtime.controller import Controller
from tests.toy.client import WorkshopClient
from tests.toy.gizmo import FINALIZER, GIZMO
from tests.toy.reconciler import GizmoReconciler
from tests.toy.workshop import Workshop


def gizmo_controller(services: Services, workshop: Workshop, calls: Calls, **options: Any) -> Controller:
    """The controller of Gizmos. Kubernetes and the workshop share the numbering of calls, and the leadership."""
    client = WorkshopClient(workshop, calls)
    client.leadership = leadership_of(services.client)
    return controller_of(GizmoReconciler(client, services.client, services.clock), services, **options)


def controller_of(reconciler: Reconciler, services: Services, **options: Any) -> Controller:
    settings = ControllerOptions("gizmo", GIZMO, finalizer=FINALIZER, **options)
    return Controller(settings, reconciler, services)


def leadership_of(client: KubeClient) -> Callable[[], None]:
    """Ask whatever the client asks before it writes, from the moment that it has somebody to ask."""

    def check() -> None:
        if client.leadership is not None:
            client.leadership()

    return check
