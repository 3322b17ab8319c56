"""`edgekeeper crds`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from edgekeeper.cli.crds import file_name
from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.cli.main import run


def test_definitions_are_printed_as_one_stream(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["crds"]) == ExitCode.OK
    assert list(yaml.safe_load_all(capsys.readouterr().out)) == [kind.definition() for kind in DEFINITIONS]


def test_definitions_are_written_into_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "new" / "crds"
    assert run(["crds", "--directory", str(directory)]) == ExitCode.OK
    assert capsys.readouterr().out == ""
    written = {path.name: yaml.safe_load(path.read_text()) for path in directory.iterdir()}
    assert written == {file_name(kind): kind.definition() for kind in DEFINITIONS}
