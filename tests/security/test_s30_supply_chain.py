"""S-30: the image and a release are built from what is pinned by version and hash, or not at all."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.package.wheels import build
from tools import image_root, release
from tools.image_root import LICENCES, PACKAGES, SBOM, SupplyError, check_lists, install, pinned

HASH = f"--hash=sha256:{'0' * 64}"
UNPINNED = {
    "a range": f"aiohttp>=3.14 {HASH}",
    "no version": f"aiohttp {HASH}",
    "a wildcard": f"aiohttp==3.* {HASH}",
    "no hash": "aiohttp==3.14.5",
    "a weak hash": f"aiohttp==3.14.5 --hash=md5:{'0' * 32}",
    "a cut hash": "aiohttp==3.14.5 --hash=sha256:0123",
    "a repository": f"git+https://example.com/aiohttp.git@main {HASH}",
    "an address": f"aiohttp @ https://example.com/aiohttp-3.14.5-py3-none-any.whl {HASH}",
    "a directory": f"-e ./aiohttp {HASH}",
    "another index": "--index-url https://packages.example.com/simple",
}
"""Lines that must not be in a lock file."""


@pytest.mark.parametrize("line", UNPINNED.values(), ids=UNPINNED)
def test_requirement_that_is_not_pinned_is_refused(line: str, tmp_path: Path) -> None:
    lock = tmp_path / "runtime.txt"
    lock.write_text(f"# a comment\nidna==3.10 \\\n    {HASH}\n{line}\n")
    with pytest.raises(SupplyError, match=r"runtime\.txt: "):
        install(lock, tmp_path / "packages")
    assert not (tmp_path / "packages").exists(), "nothing is installed"


def test_lock_files_of_the_repository_are_pinned() -> None:
    for path in sorted((image_root.ROOT / "requirements").glob("*.txt")):
        assert len(pinned(path)) > 0, path.name


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A distribution that needs no index: one of ours."""
    return build("kubecel", tmp_path_factory.mktemp("wheels")).path


@pytest.mark.parametrize("tampered", ["the archive", "the hash", ""])
def test_distribution_with_another_hash_is_not_installed(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tampered: str
) -> None:
    """Without tampering it is installed: it is the hash that matters."""
    offered, packages, lock = tmp_path / "offered", tmp_path / "packages", tmp_path / "runtime.txt"
    offered.mkdir()
    content = wheel.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    (offered / wheel.name).write_bytes(content + (b"\0" if tampered == "the archive" else b""))
    lock.write_text(f"kubecel==0.1.0 --hash=sha256:{'f' * 64 if tampered == 'the hash' else digest}\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(offered))
    if not tampered:
        install(lock, packages)
        assert (packages / "kubecel").is_dir()
        return
    with pytest.raises(subprocess.CalledProcessError):
        install(lock, packages)
    assert not (packages / "kubecel").exists()


def root_with(directory: Path, *installed: str, listed: tuple[str, ...]) -> tuple[Path, Path]:
    """What `build` makes of some distributions, and a lock file that pins the first."""
    for name in installed:
        metadata = directory / PACKAGES / f"{name}-1.0.dist-info/METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(f"Name: {name}\nVersion: 1.0\n")
    components: list[Any] = [{"name": name, "version": "1.0"} for name in listed]
    (directory / SBOM).write_text(json.dumps({"components": components}))
    (directory / LICENCES).write_text("licences")
    lock = directory / "runtime.txt"
    lock.write_text(f"{installed[0]}==1.0 {HASH}\n")
    return directory, lock


def test_lists_that_name_what_is_installed_are_accepted(tmp_path: Path) -> None:
    check_lists(*root_with(tmp_path, "aio_http", "kubecel", listed=("aio-http", "kubecel")))


@pytest.mark.parametrize("missing", [SBOM, LICENCES], ids=lambda path: path.name)
def test_missing_list_fails_the_build(missing: Path, tmp_path: Path) -> None:
    root, lock = root_with(tmp_path, "aiohttp", listed=("aiohttp",))
    (root / missing).unlink()
    with pytest.raises(SupplyError, match=f"{missing.name} is missing"):
        check_lists(root, lock)


@pytest.mark.parametrize(
    ("installed", "listed", "told"),
    [
        (("aiohttp", "kubecel"), ("aiohttp",), "edgekeeper.sbom.json differs .* kubecel"),
        (("aiohttp",), ("aiohttp", "evil"), "edgekeeper.sbom.json differs .* evil"),
        (("aiohttp", "evil"), ("aiohttp", "evil"), "not in runtime.txt: evil"),
    ],
    ids=["one is not listed", "one is not installed", "one is not locked"],
)
def test_list_that_differs_from_what_is_installed_fails_the_build(
    installed: tuple[str, ...], listed: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    with pytest.raises(SupplyError, match=told):
        check_lists(*root_with(tmp_path, *installed, listed=listed))


def test_release_without_a_part_of_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "DIST", tmp_path)
    names = [
        *(f"{name}-0.1.0-py3-none-any.whl" for name in release.NAMES),
        *(f"{name}-0.1.0.tar.gz" for name in release.NAMES),
        *(SBOM.name, LICENCES.name, release.NOTES),
    ]
    for name in names:
        (tmp_path / name).touch()
    release.check_complete()
    for name in names:
        (tmp_path / name).unlink()
        with pytest.raises(release.ReleaseError, match=r"dist/ lacks"):
            release.check_complete()
        (tmp_path / name).touch()
