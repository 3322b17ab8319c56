"""What is released: the same sources give the same archives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.package.wheels import PROJECTS, ROOT
from tools import release
from tools.image_root import EPOCH


def built(project: Path, target: Path) -> dict[str, str]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(target)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True)
    return release.digests(target)


def test_archives_of_a_copy_with_other_times_are_equal(tmp_path: Path) -> None:
    """S-30: whoever has the sources can check that an archive was made of them. `make release` compares all projects."""
    source, copy = PROJECTS["edgekeeper"], tmp_path / "copy"
    copy.mkdir()
    shutil.copyfile(ROOT / ".gitignore", copy / ".gitignore")  # every sdist has it
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        if (source / name).exists():
            shutil.copyfile(source / name, copy / name)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source / "src", copy / "src", ignore=ignored, copy_function=shutil.copyfile)
    first, second = built(source, tmp_path / "first"), built(copy, tmp_path / "second")
    assert len(first) == 2
    assert first == second


def test_archives_that_differ_are_refused() -> None:
    with pytest.raises(release.ReleaseError, match="differ when they are built twice"):
        release.compare("wheels", {"a": "1"}, {"a": "2"})


def test_release_needs_a_section_of_the_changelog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "version", lambda: "99.0.0")
    with pytest.raises(release.ReleaseError, match=r"\[99\.0\.0\]"):
        release.check_changelog()


def test_requirements_are_pinned_with_hashes() -> None:
    for name in ("runtime.txt", "build.txt"):
        text = (ROOT / "requirements" / name).read_text().replace("\\\n", "")
        lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
        assert lines
        for line in lines:
            assert "==" in line, line
            assert "--hash=sha256:" in line, line


def test_base_of_the_image_is_pinned_and_the_user_is_not_root() -> None:
    text = (ROOT / "Containerfile").read_text()
    (base,) = [line for line in text.splitlines() if line.startswith("ARG BASE=")]
    assert base.count(".") >= 2, "a version with three numbers, or a digest"
    assert "latest" not in base
    assert "USER 65532:65532" in text
    assert "tools/image_root.py /image" in text, "what tests run is what the image has"
