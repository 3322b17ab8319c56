"""`edgekeeper get`: the objects of all kinds in one table."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec
import yaml
from rich.console import Console

from edgekeeper.cli.columns import Cell, Columns, short_age, short_deadline
from edgekeeper.cli.connecting import (
    chosen_cluster,
    chosen_namespace,
    cluster_options,
    namespace_options,
    reading,
)
from edgekeeper.cli.crds import INSTALL
from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.help import Command
from edgekeeper.cli.kinds import MODULES
from edgekeeper.cli.object_completion import complete_kind, complete_name
from edgekeeper.cli.stopping import until_stopped
from edgekeeper.cli.terminal import open_console
from edgekeeper.core.clock import SystemClock
from edgekeeper.diagnosis.catalog import UnknownKindError
from edgekeeper.diagnosis.listing import (
    DELETED,
    DeniedError,
    Listed,
    ListRequest,
    NotServedError,
    list_rows,
    watch_rows,
)
from edgekeeper.diagnosis.rows import Row, row_tree
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig

FORMS: Final = ("wide", "json", "yaml", "name")
_HEADINGS: Final = ("NAMESPACE", "NAME", "READY", "REASON", "WAITS FOR", "UNTIL", "AGE")
_WIDE: Final = (*_HEADINGS, "HOSTNAMES", "IDS", "DRIFT", "MESSAGE")
_SHOWN: Final = 3
"""How many hostnames and ids a line has."""


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper get", "all objects of the namespace"),
        ("edgekeeper get -A --not-ready", "what needs attention anywhere"),
        ("edgekeeper get dt,routes -n edge -o wide", "two kinds, with hostnames and ids"),
        ("edgekeeper get dt shop -w", "one object, and its changes as they happen"),
    ],
)
@click.argument("kinds", metavar="[KIND|all]", default="all", shell_complete=complete_kind)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_name)
@namespace_options
@click.option("-o", "--output", type=click.Choice(FORMS), help="Another form of output.")
@click.option("-w", "--watch", is_flag=True, help="Print changes as they happen, until Ctrl-C.")
@click.option("--not-ready", is_flag=True, help="Only objects that are not ready.")
@cluster_options
def get(  # noqa: PLR0913 - one parameter per option
    *,
    kinds: str,
    names: tuple[str, ...],
    namespace: str | None,
    all_namespaces: bool,
    output: str | None,
    watch: bool,
    not_ready: bool,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """List objects of all kinds in one table.

    KIND is a name as kubectl accepts it, such as dt or distributiontenants; several are separated by commas. Kinds of
    compositions are included, and HTTPRoutes that are published.
    """
    kind, slash, name = kinds.partition("/")
    cluster = chosen_cluster(kubeconfig, context)
    chosen = chosen_namespace(cluster, namespace, everywhere=all_namespaces)
    request = ListRequest(kind, (name, *names) if slash else names, chosen, not_ready)
    output_rows = Output(open_console(sys.stdout), output or "")
    asyncio.run(_watch(cluster, request, output_rows) if watch else _list(cluster, request, output_rows))


async def _list(cluster: ClusterConfig, request: ListRequest, output: Output) -> None:
    async with reading(cluster) as client:
        listed = await found(client, request)
    for place in listed.denials:
        click.echo(f"edgekeeper: not shown, because you may not list them: {place}", err=True)
    output.print_all(listed.rows)


async def found(client: KubeClient, request: ListRequest) -> Listed:
    """The objects. Raise CommandError where there is nothing to list, or nothing of that name."""
    try:
        listed = await list_rows(client, MODULES, request)
    except (UnknownKindError, DeniedError) as error:
        raise CommandError(str(error)) from error
    except NotServedError as error:
        raise CommandError(str(error), INSTALL) from error
    missing = sorted(set(request.names) - {row.key.name for row in listed.rows})
    if missing and not request.not_ready:
        where = f" in namespace {request.namespace}" if request.namespace else ""
        raise CommandError(
            f"there is no {request.kinds} {missing[0]}{where}",
            "choose another namespace with -n, or all with -A",
        )
    return listed


async def _watch(cluster: ClusterConfig, request: ListRequest, output: Output) -> None:
    async with reading(cluster) as client:
        await until_stopped(follow(watch_rows(client, SystemClock(), MODULES, request), output))


async def follow(changes: AsyncGenerator[list[Row], None], output: Output) -> None:
    """Print rows as they come."""
    try:
        async with aclosing(changes) as told:
            async for rows in told:
                output.print_some(rows)
    except UnknownKindError as error:
        raise CommandError(str(error)) from error


class Output:
    """Prints rows in one of the forms."""

    def __init__(self, console: Console, form: str) -> None:
        self._form = form
        self._columns = Columns(console, _WIDE if form == "wide" else _HEADINGS)

    def print_all(self, rows: Sequence[Row]) -> None:
        """Print the complete list: one document, or one table."""
        if self._form in ("json", "yaml"):
            click.echo(_document({"items": [row_tree(row) for row in rows]}, self._form), nl=False)
        elif self._form == "name":
            for row in rows:
                click.echo(_name(row))
        elif rows:
            self._columns.print([self._cells(row, datetime.now(UTC)) for row in rows])
        else:
            click.echo("There are no objects.", err=True)

    def print_some(self, rows: Sequence[Row]) -> None:
        """Print a part of the list: each row is a document or line of its own."""
        if self._form not in ("json", "yaml", "name"):
            self._columns.print([self._cells(row, datetime.now(UTC)) for row in rows])
            return
        for row in rows:
            if self._form == "json":
                click.echo(msgspec.json.encode(row_tree(row)).decode())
            elif self._form == "yaml":
                click.echo(f"---\n{_document(row_tree(row), self._form)}", nl=False)
            else:
                click.echo(_name(row))

    def _cells(self, row: Row, now: datetime) -> list[Cell]:
        state = (
            Cell("True", "green") if row.ready else Cell("-" if row.reason == DELETED else "False", "yellow")
        )
        cells = [
            Cell(row.key.namespace),
            Cell(f"{row.kind.kind.lower()}/{row.key.name}"),
            state,
            Cell(row.reason),
            Cell(row.waits_for),
            Cell(short_deadline(row.until, now)),
            Cell(short_age(row.created, now)),
        ]
        return [*cells, *_wide_cells(row)] if self._form == "wide" else cells


def _wide_cells(row: Row) -> list[Cell]:
    details = row.details
    return [
        Cell(_some(details.hostnames)),
        Cell(_some(details.ids)),
        Cell(details.drift, "yellow"),
        Cell("" if row.ready else " ".join(row.message.split())),
    ]


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - _SHOWN
    return ",".join(texts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _name(row: Row) -> str:
    return f"{row.kind.plural}.{row.kind.group}/{row.key.name}"


def _document(tree: object, form: str) -> str:
    if form == "yaml":
        return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    return msgspec.json.format(msgspec.json.encode(tree), indent=2).decode() + "\n"
