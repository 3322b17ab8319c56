"""`edgekeeper events`: what happened to objects of ours, in the order of time."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec
import yaml
from rich.console import Console

from edgekeeper.cli.columns import Cell, Columns, short_age
from edgekeeper.cli.connecting import (
    chosen_cluster,
    chosen_namespace,
    cluster_options,
    namespace_options,
    reading,
)
from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.help import Command
from edgekeeper.cli.kinds import MODULES
from edgekeeper.cli.object_completion import complete_object
from edgekeeper.cli.stopping import until_stopped
from edgekeeper.cli.terminal import open_console
from edgekeeper.core.clock import SystemClock
from edgekeeper.diagnosis.catalog import Catalog, UnknownKindError, read_catalog
from edgekeeper.diagnosis.happenings import EventRequest, Happening, list_events, watch_events
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.kube.cluster import ClusterConfig

_HEADINGS: Final = ("LAST", "TYPE", "NAMESPACE", "OBJECT", "REASON", "COUNT", "MESSAGE")


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper events -A", "of all objects"),
        ("edgekeeper events dt/shop -n edge", "of one"),
        ("edgekeeper events dt -w", "of a kind, and what happens next"),
    ],
)
@click.argument("target", metavar="[KIND[/NAME]]", default="", shell_complete=complete_object)
@namespace_options
@click.option("-w", "--watch", is_flag=True, help="Print events as they happen, until Ctrl-C.")
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Another form of output.")
@cluster_options
def events(  # noqa: PLR0913 - one parameter per option
    *,
    target: str,
    namespace: str | None,
    all_namespaces: bool,
    watch: bool,
    output: str | None,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Show events about objects, in the order of time.

    They are those about objects of edgekeeper, the oldest first. Each has the time when it happened last, the object, the reason, how many times it happened, and the message.
    """
    cluster = chosen_cluster(kubeconfig, context)
    place = chosen_namespace(cluster, namespace, everywhere=all_namespaces)
    printer = EventPrinter(open_console(sys.stdout), output or "")
    asyncio.run(_show(cluster, target, place, printer, watch=watch))


async def _show(
    cluster: ClusterConfig, target: str, namespace: str, printer: EventPrinter, *, watch: bool
) -> None:
    async with reading(cluster) as client:
        catalog = await read_catalog(MODULES, ClusterReader(client))
        request = request_of(target, namespace, catalog)
        if not watch:
            printer.print_all(await list_events(client, catalog, request))
            return
        await until_stopped(follow(watch_events(client, SystemClock(), catalog, request), printer))


def request_of(target: str, namespace: str, catalog: Catalog) -> EventRequest:
    """What KIND/NAME asks for. Raise CommandError for a kind that is none of ours."""
    if not target:
        return EventRequest(namespace)
    kind, _, name = target.partition("/")
    try:
        return EventRequest(namespace, tuple(known.kind for known in catalog.find(kind)), name)
    except UnknownKindError as error:
        raise CommandError(str(error)) from error


async def follow(told: AsyncGenerator[Happening, None], printer: EventPrinter) -> None:
    """Print events as they come."""
    async with aclosing(told) as happenings:
        async for one in happenings:
            printer.print_one(one)


class EventPrinter:
    """Prints events in one of the forms."""

    def __init__(self, console: Console, form: str) -> None:
        self._form = form
        self._columns = Columns(console, _HEADINGS)

    def print_all(self, told: list[Happening]) -> None:
        """Print the complete list: one document, or one table."""
        document = {"items": [one.tree for one in told]}
        if self._form == "json":
            click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        elif self._form == "yaml":
            click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)
        elif told:
            self._columns.print([_cells(one, datetime.now(UTC)) for one in told])
        else:
            click.echo("There are no events.", err=True)

    def print_one(self, one: Happening) -> None:
        """Print one of several: a document or line of its own."""
        if self._form == "json":
            click.echo(msgspec.json.encode(one.tree).decode())
        elif self._form == "yaml":
            click.echo(f"---\n{yaml.safe_dump(one.tree, sort_keys=False, allow_unicode=True)}", nl=False)
        else:
            self._columns.print([_cells(one, datetime.now(UTC))])


def _cells(one: Happening, now: datetime) -> list[Cell]:
    return [
        Cell(short_age(one.last, now)),
        Cell(one.type, "yellow" if one.type == "Warning" else ""),
        Cell(one.key.namespace),
        Cell(f"{one.kind.lower()}/{one.key.name}"),
        Cell(one.reason),
        Cell(str(one.count)),
        Cell(" ".join(one.message.split())),
    ]
