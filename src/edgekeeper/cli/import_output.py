"""The results of `edgekeeper import`: manifests as YAML or JSON, and a report about what became of each resource."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import yaml

from edgekeeper.cli.failure import CommandError
from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.importing import ImportResult, Progress, key_of

if TYPE_CHECKING:
    from rich.console import Console

STANDARD_OUTPUT: Final = "-"


@dataclass(frozen=True)
class Outcome:
    """All results, and what follows from them."""

    results: tuple[ImportResult, ...]
    partial: bool = False
    """Whether manifests that lack something are written, too."""

    @property
    def refused(self) -> list[ImportResult]:
        """Resources that are not importable as they are."""
        return [result for result in self.results if result.refusals]

    @property
    def imported(self) -> list[ImportResult]:
        """Resources whose manifests are written."""
        return [
            result
            for result in self.results
            if result.manifests and not result.owner and (self.partial or not result.refusals)
        ]

    @property
    def owned(self) -> list[ImportResult]:
        return [result for result in self.results if result.owner]

    @property
    def manifests(self) -> list[JsonObject]:
        return [body for result in self.imported for body in result.manifests]


# Manifests


def confirm_writable(output: str) -> None:
    """Raise CommandError before anything is read, if the file to write exists."""
    path = Path(output)
    if output != STANDARD_OUTPUT and not _is_directory(output) and path.exists():
        raise _exists(path)


def write_manifests(manifests: Sequence[JsonObject], output: str, form: str) -> None:
    """Print manifests, or write them to a file, or to a file for each in a directory. No file is replaced."""
    if output == STANDARD_OUTPUT:
        if manifests:
            click.echo(render(manifests, form), nl=False)
        return
    if not manifests:
        return
    files = dict(_files(manifests, output, form))
    for path in files:
        if path.exists():
            raise _exists(path)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _files(manifests: Sequence[JsonObject], output: str, form: str) -> Iterator[tuple[Path, str]]:
    if not _is_directory(output):
        yield Path(output), render(manifests, form)
        return
    for body in manifests:
        key = key_of(body)
        yield Path(output) / f"{body['kind'].lower()}-{key.namespace}-{key.name}.{form}", render([body], form)


def render(manifests: Sequence[JsonObject], form: str) -> str:
    """Manifests as one text: YAML documents, or one JSON document, a List if there are several."""
    if form == "json":
        whole = (
            manifests[0] if len(manifests) == 1 else {"apiVersion": "v1", "kind": "List", "items": manifests}
        )
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    documents = (yaml.safe_dump(body, sort_keys=False, width=110, allow_unicode=True) for body in manifests)
    return "---\n".join(documents)


def _is_directory(output: str) -> bool:
    return output.endswith("/") or Path(output).is_dir()


def _exists(path: Path) -> CommandError:
    return CommandError(f"{path} exists", "name another file, or remove it: import replaces no file")


# Progress and report


@contextmanager
def show_progress(console: Console, *, interactive: bool) -> Iterator[Progress]:
    """A bar on a terminal while resources are read, which is removed at the end; nothing elsewhere."""
    if not interactive:
        yield lambda _done, _total: None
        return
    from rich.progress import Progress as Bars  # noqa: PLC0415 # only on a terminal

    with Bars(console=console, transient=True) as bars:
        task = bars.add_task("reading", total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def print_report(outcome: Outcome, marks: str, console: Console) -> None:
    """Tell what became of each resource, and what applying the manifests writes."""
    for result in outcome.results:
        for line, style in _lines(result, outcome):
            console.print(_printable(line), style=style, markup=False, highlight=False)
    console.print(_summary(outcome), markup=False, highlight=False)
    if outcome.manifests:
        changes = " and whatever is reported above as not expressible" if _is_lossy(outcome) else ""
        console.print(
            f"Applying the manifests writes {marks}{changes}; nothing else is changed.",
            markup=False,
            highlight=False,
        )


def _lines(result: ImportResult, outcome: Outcome) -> Iterator[tuple[str, str]]:
    if result.owner:
        yield f"{result.resource}: skipped: {result.owner}", "dim"
        return
    is_written = result in outcome.imported
    names = ", ".join(f"{body['kind']} {key_of(body)}" for body in result.manifests)
    if is_written:
        yield f"{result.resource}: imported{' in part' if result.refusals else ''} as {names}", "green"
    else:
        yield f"{result.resource}: not importable", "red"
    for refusal in result.refusals:
        yield f"  {refusal}", "red"
    for note in result.notes:
        yield f"  note: {note}", "yellow"


def _printable(text: str) -> str:
    """The text without control characters: names in clouds may have any."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _is_lossy(outcome: Outcome) -> bool:
    return any(result.refusals for result in outcome.imported)


def _summary(outcome: Outcome) -> str:
    if not outcome.results:
        return "There is nothing to import."
    counts = (
        (len(outcome.imported), "imported"),
        (len(outcome.owned), "skipped"),
        (len(outcome.refused), "not importable" if not outcome.partial else "not importable as a whole"),
    )
    return f"Import: {', '.join(f'{count} {what}' for count, what in counts if count)}."
