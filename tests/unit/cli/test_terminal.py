"""Colour and interactivity are decided apart."""

from __future__ import annotations

import io

import pytest

from edgekeeper.cli.terminal import is_interactive, open_console, wants_colour


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("stream", "variables", "expected"),
    [
        (FakeTerminal(), {}, True),
        (FakeTerminal(), {"NO_COLOR": "1"}, False),
        (FakeTerminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
    ],
    ids=["terminal", "NO_COLOR", "dumb terminal", "pipe", "forced"],
)
def test_colour_decision(
    stream: io.StringIO, variables: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(stream) is expected


def test_forced_colour_does_not_make_a_pipe_interactive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not is_interactive(io.StringIO())


def test_console_without_colour_writes_no_escape_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = FakeTerminal()
    open_console(stream).print("[bold red]plain[/]")
    assert stream.getvalue() == "plain\n"
