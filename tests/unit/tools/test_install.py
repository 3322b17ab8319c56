"""The installer of the environments: progress that counts, and pip's own words when it fails."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest

from tools import install as installer
from tools.install import Progress, install

PIP_OUTPUT = """\
Collecting click==8.3 (from -r requirements/local.txt (line 3))
  Using cached click-8.3-py3-none-any.whl
Collecting idna==3.10 (from -r requirements/local.txt (line 9))
Installing collected packages: idna, click
Successfully installed click-8.3 idna-3.10
"""


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def play(monkeypatch: pytest.MonkeyPatch, output: str, code: int = 0) -> None:
    """Put a program in pip's place that prints `output`."""
    program = f"import sys; sys.stdout.write({output!r}); sys.exit({code})"
    monkeypatch.setattr(installer, "PIP", (sys.executable, "-c", program))


def test_progress_counts_what_is_collected_and_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "pip-26.dist-info").mkdir()
    progress = Progress(tmp_path, Terminal())
    assert progress.text() == "Looking for packages"
    for line in PIP_OUTPUT.splitlines()[:3]:
        progress.follow(line)
    assert progress.text() == "Downloading 2 packages"
    progress.follow(PIP_OUTPUT.splitlines()[3])
    (tmp_path / "idna-3.10.dist-info").mkdir()
    assert progress.text() == "Installing 1 of 2 packages"


def test_stages_are_lines_where_nobody_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play(monkeypatch, PIP_OUTPUT)
    shown = StringIO()
    assert install(["-r", "requirements/local.txt"], Progress(tmp_path, shown)) == 0
    assert shown.getvalue() == "  Downloading …\n  Installing 2 packages …\n"
    assert capsys.readouterr() == ("", "")


def test_terminal_is_left_with_an_empty_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, PIP_OUTPUT)
    monkeypatch.setattr(installer, "REDRAWN_EVERY", 0.001)
    shown = Terminal()
    assert install([], Progress(tmp_path, shown)) == 0
    assert "\r\x1b[2K  Looking for packages …" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[2K")
    assert "\n" not in shown.getvalue()


def test_failure_shows_what_pip_said_and_keeps_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play(monkeypatch, "ERROR: no matching distribution\n", code=3)
    assert install([], Progress(tmp_path, StringIO())) == 3
    assert "ERROR: no matching distribution" in capsys.readouterr().err
