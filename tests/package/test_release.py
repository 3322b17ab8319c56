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


WRITTEN = (
    "## [Unreleased]\n\n{}\n\n## [0.1.0]{}\n\n- What is new.\n\n## [0.0.1] - 2026-01-01\n\n- What was.\n"
)


def test_notes_of_a_release_are_the_section_of_its_version() -> None:
    assert release.notes(WRITTEN.format("", " - 2026-12-01"), final=True) == "- What is new."


def test_rehearsal_takes_what_is_unreleased_until_there_is_a_section() -> None:
    assert release.notes("## [Unreleased]\n\n- Later.\n") == "- Later."
    assert release.notes(WRITTEN.format("- Later.", "")) == "- What is new."


@pytest.mark.parametrize(
    ("changelog", "told"),
    [
        ("## [Unreleased]\n\n- Later.\n", r"no section \[0\.1\.0\]"),
        (WRITTEN.format("", ""), "no date"),
        (WRITTEN.format("- Later.", " - 2026-12-01"), r"entries under \[Unreleased\]"),
    ],
    ids=["no section", "no date", "unreleased entries"],
)
def test_final_release_needs_a_dated_section_and_nothing_else(changelog: str, told: str) -> None:
    with pytest.raises(release.ReleaseError, match=told):
        release.notes(changelog, final=True)


def test_changelog_that_says_nothing_is_refused() -> None:
    with pytest.raises(release.ReleaseError, match="says nothing"):
        release.notes("## [Unreleased]\n\n## [0.0.1] - 2026-01-01\n\n- What was.\n")


def test_changelog_of_the_repository_can_be_released() -> None:
    release.check_versions()
    assert "### Added" in release.notes((ROOT / "CHANGELOG.md").read_text())


def test_versions_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "version", lambda: "99.0.0")
    with pytest.raises(release.ReleaseError, match=r"99\.0\.0, but not everywhere: .*Chart\.yaml"):
        release.check_versions()


def test_base_of_the_image_is_pinned_and_the_user_is_not_root() -> None:
    text = (ROOT / "Containerfile").read_text()
    (base,) = [line for line in text.splitlines() if line.startswith("ARG BASE=")]
    assert base.count(".") >= 2, "a version with three numbers, or a digest"
    assert "latest" not in base
    assert "USER 65532:65532" in text
    assert "ARG REQUIREMENTS=requirements/runtime.txt" in text
    assert "tools/image_root.py --requirements ${REQUIREMENTS} /image" in text, (
        "what tests run is what the image has"
    )
