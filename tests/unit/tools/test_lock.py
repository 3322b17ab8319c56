"""Lock files: compiled from what is declared now, and free of addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import lock
from tools.lock import DIGEST_PREFIX, LOCKS, OURS, Lock, complaint, digest

PYPROJECT = """\
[project]
requires-python = ">=3.11"
dependencies = ["aiohttp>=3.14", "click", "part"]
[project.optional-dependencies]
local = ["moto"]
[tool.other]
setting = 1
"""
PART = """\
[project]
requires-python = ">=3.11"
dependencies = ["click", "regex"]
"""
DEV = Lock(
    "dev", ("pyproject.toml", "part/pyproject.toml"), extras=("local",), additions="requirements/dev.in"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lock, "ROOT", tmp_path)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "part").mkdir()
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "part" / "pyproject.toml").write_text(PART)
    (tmp_path / "requirements" / "dev.in").write_text("# comment\npytest  # why\n\nruff\n")
    return tmp_path


def write_lock(digest_value: str, text: str = "click==8 \\\n    --hash=sha256:0\n") -> None:
    DEV.path.write_text(f"{DIGEST_PREFIX}{digest_value}\n{text}")


@pytest.mark.parametrize("present", LOCKS, ids=lambda present: present.name)
def test_repository_locks_agree_with_their_inputs(present: Lock) -> None:
    assert complaint(present) is None


@pytest.mark.parametrize("present", LOCKS, ids=lambda present: present.name)
def test_repository_locks_leave_out_what_the_repository_builds(present: Lock) -> None:
    pinned = [line.partition("==")[0] for line in present.path.read_text().splitlines() if "==" in line]
    assert pinned
    assert not set(OURS) & set(pinned)


def test_declared_requirements_come_from_every_input(project: Path) -> None:
    assert project.exists()
    expected = ["aiohttp>=3.14", "click", "moto", "part", "pytest", "python>=3.11", "regex", "ruff"]
    assert lock.declared(DEV) == expected


def test_fresh_lock_is_fine(project: Path) -> None:
    assert project.exists()
    write_lock(digest(DEV))
    assert complaint(DEV) is None


@pytest.mark.parametrize(
    ("file", "old", "new", "outdated"),
    [
        ("pyproject.toml", "click", "click>=8", True),
        ("pyproject.toml", "moto", "moto>=5", True),
        ("pyproject.toml", ">=3.11", ">=3.12", True),
        ("pyproject.toml", "setting = 1", "setting = 2", False),
        ("part/pyproject.toml", "regex", "regex>=2", True),
        ("requirements/dev.in", "ruff", "mypy", True),
        ("requirements/dev.in", "# comment", "# better comment", False),
    ],
)
def test_lock_is_outdated_by_requirements_only(
    project: Path, file: str, old: str, new: str, outdated: bool
) -> None:
    write_lock(digest(DEV))
    path = project / file
    path.write_text(path.read_text().replace(old, new))
    assert (complaint(DEV) is not None) is outdated


def test_missing_lock_and_address_are_complained_about(project: Path) -> None:
    assert project.exists()
    assert complaint(DEV) == "requirements/dev.txt is missing"
    write_lock(digest(DEV), "--index-url https://packages.example.com\n")
    assert complaint(DEV) == "requirements/dev.txt names an address to download from"
