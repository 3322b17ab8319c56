"""The command line's frame: help, version, completion, exit codes, colour, and errors in one line."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from edgekeeper import __version__
from edgekeeper.cli import main as entry
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command, CommandEntry, CommandGroup, Section


@pytest.fixture(autouse=True)
def _no_colour_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Replace the commands by one called `fail` that raises whatever the test puts into the list."""
    errors: list[Exception] = []

    @click.command("fail", cls=Command)
    def fail() -> None:
        raise errors[0]

    monkeypatch.setattr(CommandEntry, "load", lambda _: fail)
    section = Section("Broken", (CommandEntry("fail", "nowhere:fail", "Fail."),))
    monkeypatch.setattr(entry.cli, "sections", (section,))
    return errors


@pytest.mark.parametrize("arguments", [[], ["--help"]], ids=["no arguments", "--help"])
def test_help_shows_sections_examples_and_exit_codes(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert entry.run(arguments) == ExitCode.OK
    shown = capsys.readouterr().out
    for heading in ("Usage: ", "Options:", "Run it on this machine:", "Examples:", "Exit codes:"):
        assert heading in shown
    assert "\x1b" not in shown


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(["--version"]) == ExitCode.OK
    assert capsys.readouterr().out == f"edgekeeper {__version__}\n"


def test_help_and_version_do_not_load_the_server() -> None:
    program = (
        "import sys; from edgekeeper.cli.main import run; run(['--help']); run(['--version']);"
        "sys.exit('aiohttp' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_run_does_not_load_what_only_other_commands_and_options_need() -> None:
    """Megabytes in every pod. httpx is a development package, which aiobotocore would load where it finds it."""
    unneeded = (
        "cryptography",
        "rich",
        "pygments",
        "kubecel",
        "kubesim.plane",
        "kubesim.aws",
    )
    program = (
        "import sys; sys.modules['httpx'] = None; import edgekeeper.cli.main, edgekeeper.cli.run;"
        f"print(*[name for name in {unneeded} if name in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert finished.stdout.split() == []


@pytest.mark.parametrize("command", list(entry.cli.entries()), ids=lambda command: command.name)
def test_overview_says_what_the_command_says(command: CommandEntry) -> None:
    loaded = command.load()
    assert loaded.name == command.name
    assert (loaded.help or "").split("\n\n")[0] == command.summary


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_completion_prints_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.run(["completion", shell]) == ExitCode.OK
    assert "_EDGEKEEPER_COMPLETE" in capsys.readouterr().out


def test_completion_completes_command_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_EDGEKEEPER_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "edgekeeper comp")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        entry.run([])
    assert capsys.readouterr().out == "plain,completion\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'; see 'edgekeeper --help'"),
        (["--nonsense"], "No such option '--nonsense'; see 'edgekeeper --help'"),
        (
            ["completion"],
            "Missing argument 'SHELL'. Choose from: bash, fish, zsh; see 'edgekeeper completion --help'",
        ),
    ],
    ids=["unknown command", "unknown option", "missing argument"],
)
def test_wrong_usage_is_one_line_with_the_remedy(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert entry.run(arguments) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert captured.err == f"edgekeeper: error: {message}\n"
    assert captured.out == ""


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (CommandError("it broke", "mend it"), 1, "it broke; mend it"),
        (CommandError("not yet", code=ExitCode.NOT_READY), 3, "not yet"),
        (click.ClickException("Bad thing."), 1, "Bad thing"),
        (OSError(13, "Permission denied", "/x"), 1, "[Errno 13] Permission denied: '/x'"),
        (ValueError("two\nlines"), 1, "unexpected ValueError: two lines; 'edgekeeper --debug …' shows where"),
    ],
    ids=["failure with remedy", "failure with code", "click's own", "operating system", "a bug"],
)
def test_error_is_one_line_without_traceback(
    error: Exception, code: int, message: str, failing: list[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(error)
    assert entry.run(["fail"]) == code
    assert capsys.readouterr().err == f"edgekeeper: error: {message}\n"


def test_debug_adds_the_traceback(failing: list[Exception], capsys: pytest.CaptureFixture[str]) -> None:
    failing.append(ValueError("deep inside"))
    assert entry.run(["--debug", "fail"]) == ExitCode.FAILED
    shown = capsys.readouterr().err
    assert "Traceback (most recent call last)" in shown
    assert shown.endswith("shows where\n")


def test_keyboard_interrupt_is_130(failing: list[Exception], capsys: pytest.CaptureFixture[str]) -> None:
    failing.append(click.Abort())
    assert entry.run(["fail"]) == ExitCode.INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ],
    ids=["pipe", "forced", "NO_COLOR wins", "empty NO_COLOR is unset"],
)
def test_colour_follows_the_environment(
    variables: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    entry.run(["--help"])
    entry.run(["nonsense"])
    captured = capsys.readouterr()
    assert ("\x1b[1mUsage" in captured.out) is coloured
    assert ("\x1b[31m" in captured.err) is coloured


def test_group_refuses_a_target_that_is_no_command() -> None:
    group = CommandGroup(
        "odd", sections=[Section("Odd", (CommandEntry("x", "edgekeeper:__version__", "X."),))]
    )
    with pytest.raises(TypeError, match="edgekeeper:__version__ is not a command"):
        group.get_command(click.Context(group), "x")
