"""Wheels are built once for all tests that look at them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.package.wheels import Interpreter, Wheel, build, interpreter


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Wheel]:
    directory = tmp_path_factory.mktemp("wheels")
    return {project: build(project, directory) for project in ("edgekeeper", "kubecel", "kubesim")}


@pytest.fixture
def operator(wheels: dict[str, Wheel], tmp_path: Path) -> Interpreter:
    """What `pip install edgekeeper` gives in an empty environment."""
    return interpreter([wheels["edgekeeper"], wheels["kubecel"]], tmp_path / "operator", "runtime.txt")
