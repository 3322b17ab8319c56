"""Connects the status page with an operator process. Loaded only by processes that serve it."""

from __future__ import annotations

import secrets
from functools import partial

from edgekeeper import __version__
from edgekeeper.cli.assembly import Operator
from edgekeeper.controllers.composition.definition_instances import instance_limits
from edgekeeper.controllers.composition.definition_shared import Composition
from edgekeeper.core.clock import Clock
from edgekeeper.core.tracing import Tracer
from edgekeeper.diagnosis.catalog import KnownKind
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.metrics_auth import MetricsAuthorizer
from edgekeeper.web.access import PATH, Gate, LinkGate, ReviewGate
from edgekeeper.web.directory import Directory
from edgekeeper.web.graphs import Graphs
from edgekeeper.web.journal import Journal
from edgekeeper.web.live import Hub
from edgekeeper.web.plans import Plans
from edgekeeper.web.server import StatusPage
from edgekeeper.web.site import Site


def journal_of(tracer: Tracer, clock: Clock) -> Journal:
    """Records what passes do. It takes the place of the tracer, to which it passes everything on."""
    return Journal(tracer, clock)


def add_status_page(operator: Operator) -> StatusPage:
    """Let the server of a process serve the page. The tracer of the process must be a `Journal`."""
    journal, services = operator.calls.tracer, operator.services
    if not isinstance(journal, Journal):
        raise TypeError("the process has no journal")
    options = operator.options
    directory = Directory(services.informers, options.modules, options.common.drift_policy)
    hub = Hub(directory.row, secrets.token_hex(4), _about(operator))
    directory.on_rows, directory.on_spec = hub.rows_changed, journal.spec_changed
    directory.is_own_write = journal.is_own_write
    journal.on_entry = hub.entry_added
    graphs = _graphs(operator, directory)
    site = Site(
        directory,
        journal,
        services.informers,
        operator.cloud.budget,
        Plans(directory, operator.preview_process, operator.options.values, services.clock, graphs),
        graphs,
        links=not operator.options.link_token,
        read=operator.client.get,
        next_pass=partial(_next_pass, operator),
    )
    page = StatusPage(site, hub, _gate(operator))
    operator.server.add_page(page)
    return page


def _gate(operator: Operator) -> Gate:
    if operator.options.link_token:
        return LinkGate(operator.options.link_token)
    clock = operator.services.clock
    return ReviewGate(MetricsAuthorizer(operator.client, clock, PATH), clock)


def _graphs(operator: Operator, directory: Directory) -> Graphs | None:
    shared = operator.process.made.get(Composition)
    if not isinstance(shared, Composition):
        return None
    graphs = Graphs(
        operator.client,
        operator.services.clock,
        shared.graphs,
        lambda id_: directory.row(id_) is not None,
        instance_limits(shared.options),
    )
    graphs.set_namespaces(operator.services.namespaces)
    operator.manager.on_namespaces(graphs.set_namespaces)
    return graphs


def _about(operator: Operator) -> str:
    """What to know about the process before anything else."""
    options = operator.options
    parts = {
        f"edgekeeper {__version__}": True,
        "dry run: nothing is changed": options.runtime.dry_run,
        "simulated clouds": bool(options.link_token),
        f"role {options.role}": bool(options.role),
        f"cluster {options.common.cluster}": bool(options.common.cluster),
    }
    return " · ".join(part for part, is_true in parts.items() if is_true)


def _next_pass(operator: Operator, known: KnownKind, key: Key) -> float | None:
    """Seconds until the next pass of an object, by the controllers of its kind."""
    controllers = [one for one in operator.manager.controllers if one.options.kind == known.kind]
    due = [seconds for one in controllers if (seconds := one.queue.due_in(key)) is not None]
    return min(due, default=None)
