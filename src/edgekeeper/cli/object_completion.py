"""Shell completion of kinds and names of objects, for commands that take them.

Kinds are those of edgekeeper; with a cluster that answers in time, those of compositions too. Names are read from the
cluster. A completion never fails: without a cluster there are fewer proposals.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from edgekeeper.cli.connecting import chosen_cluster, reading
from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.kinds import MODULES
from edgekeeper.diagnosis.catalog import UnknownKindError, known_kinds
from edgekeeper.diagnosis.listing import DeniedError, ListRequest, NotServedError, list_rows
from edgekeeper.diagnosis.rows import Row

PATIENCE: Final = timedelta(seconds=2)
"""How long a completion may take."""


def complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds; after the last comma of a list; `kind/name` where there is a slash."""
    if "/" in incomplete:
        return complete_object(ctx, param, incomplete)
    before, comma, last = incomplete.rpartition(",")
    plurals = ["all", *(known.kind.plural for known in known_kinds(MODULES))]
    return [CompletionItem(f"{before}{comma}{name}") for name in plurals if name.startswith(last.lower())]


def complete_name(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of objects of the kind that was given before."""
    rows = _rows(ctx, str(ctx.params.get("kinds") or "all"))
    return [CompletionItem(row.key.name) for row in rows if row.key.name.startswith(incomplete)]


def complete_object(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`kind/name`: kinds before the slash, names after it."""
    kind, slash, start = incomplete.partition("/")
    if not slash:
        plurals = [known.kind.plural for known in known_kinds(MODULES)]
        return [CompletionItem(f"{name}/") for name in plurals if name.startswith(kind.lower())]
    rows = _rows(ctx, kind)
    return [CompletionItem(f"{kind}/{row.key.name}") for row in rows if row.key.name.startswith(start)]


def _rows(ctx: click.Context, kinds: str) -> list[Row]:
    given = ctx.params
    file, context = given.get("kubeconfig"), given.get("context")
    with suppress(CommandError, UnknownKindError, NotServedError, DeniedError, TimeoutError, OSError):
        cluster = chosen_cluster(Path(file) if file else None, context)
        namespace = "" if given.get("all_namespaces") else given.get("namespace") or cluster.namespace
        request = ListRequest(kinds, namespace=namespace)

        async def read() -> list[Row]:
            async with asyncio.timeout(PATIENCE.total_seconds()), reading(cluster) as client:
                return (await list_rows(client, MODULES, request)).rows

        return asyncio.run(read())
    return []
