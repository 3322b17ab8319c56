"""Progress: lines that never repeat themselves, and a table for terminals."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from edgekeeper.cli.applying import Tracked
from edgekeeper.cli.manifest import Manifest
from edgekeeper.cli.progress import format_age, progress_table, show_progress


def make_tracked(name: str, *, phase: str | None = None) -> Tracked:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    tracked = Tracked(Manifest(body, Path("x.yaml")), path=f"/api/v1/namespaces/{name}")
    if phase:
        created = {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
        tracked.body = {**body, "metadata": created, "status": {"phase": phase}}
    return tracked


def test_lines_are_written_once_per_change() -> None:
    console = Console(file=io.StringIO(), color_system=None, width=200)
    waiting, ready = make_tracked("web", phase="Creating"), make_tracked("web", phase="Active")
    with show_progress(console, interactive=False) as observe:
        observe([make_tracked("web")])
        observe([waiting])
        observe([waiting])
        observe([ready])
        observe([ready])
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "waiting  Namespace web (Creating)\nready    Namespace web (Active)\n"


def test_table_has_one_row_per_object() -> None:
    console = Console(file=io.StringIO(), color_system=None, width=100)
    tracked = [make_tracked("web", phase="Active"), make_tracked("api")]
    console.print(progress_table(tracked, datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC)))
    assert isinstance(console.file, io.StringIO)
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    assert lines == [
        ["KIND", "NAME", "READY", "REASON", "AGE"],
        ["Namespace", "web", "True", "Active", "7s"],
        ["Namespace", "api", "False", "Pending"],
    ]


def test_terminal_shows_the_last_state_in_place() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=100)
    with show_progress(console, interactive=True) as observe:
        observe([make_tracked("web", phase="Creating")])
        observe([make_tracked("web", phase="Active")])
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().rindex("Active") > console.file.getvalue().rindex("Creating")


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (None, ""),
        (timedelta(milliseconds=900), "0s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=2), "2m"),
    ],
)
def test_age_is_written_as_kubectl_does(duration: timedelta | None, text: str) -> None:
    assert format_age(duration) == text
