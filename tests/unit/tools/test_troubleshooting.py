"""docs/troubleshooting.md lists every reason that the code declares a remedy for."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgekeeper.cli.kinds import MODULES
from edgekeeper.lifecycle.remedies import COMMON
from tools import troubleshooting


def test_page_is_up_to_date() -> None:
    assert troubleshooting.PAGE.read_text() == troubleshooting.page(), "run `python tools/troubleshooting.py`"


def test_page_lists_every_reason() -> None:
    text = troubleshooting.generated()
    entries = [*COMMON, *(entry for module in MODULES for entry in module.remedies)]
    assert entries
    assert [entry.reason for entry in entries if f"| `{entry.reason}`" not in text] == []


def test_outdated_page_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"by hand\n{troubleshooting.MARKER}\nold\n")
    monkeypatch.setattr(troubleshooting, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["troubleshooting.py", "--check"])
    assert troubleshooting.main() == 1
    assert "outdated" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["troubleshooting.py"])
    assert troubleshooting.main() == 0
    assert page.read_text().startswith("by hand\n")
    monkeypatch.setattr("sys.argv", ["troubleshooting.py", "--check"])
    assert troubleshooting.main() == 0
