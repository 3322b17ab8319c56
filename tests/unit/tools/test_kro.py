"""The tool that obtains kro: where it looks, and how it fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.kro import CONTROLLER, CRDS, KRO_VERSION, cache_directory, find, main, obtain
from tools.real_server import UNOBTAINABLE, UnobtainableError


def make(directory: Path) -> None:
    (directory / CRDS).mkdir(parents=True)
    program = directory / CONTROLLER
    program.write_text("")
    program.chmod(0o755)


def test_cache_is_beside_that_of_kubernetes(tmp_path: Path) -> None:
    environment = {"EDGEKEEPER_CACHE": str(tmp_path)}
    assert cache_directory(environment) == tmp_path / f"kro-{KRO_VERSION}"
    assert find(environment) is None
    make(tmp_path / f"kro-{KRO_VERSION}")
    assert find(environment) == obtain(environment) == tmp_path / f"kro-{KRO_VERSION}"


def test_half_of_it_is_not_found(tmp_path: Path) -> None:
    make(tmp_path / f"kro-{KRO_VERSION}")
    (tmp_path / f"kro-{KRO_VERSION}" / CRDS).rmdir()
    assert find({"EDGEKEEPER_CACHE": str(tmp_path)}) is None


def test_without_go_it_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(UnobtainableError, match="Go is not installed"):
        obtain({"EDGEKEEPER_CACHE": str(tmp_path)})
    monkeypatch.setenv("EDGEKEEPER_CACHE", str(tmp_path))
    assert main([]) == main(["--no-build"]) == UNOBTAINABLE


def test_its_place_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path / f"kro-{KRO_VERSION}")
    monkeypatch.setenv("EDGEKEEPER_CACHE", str(tmp_path))
    assert main(["--print-path"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / f"kro-{KRO_VERSION}")
