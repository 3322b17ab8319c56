"""The tool that obtains a real API server: where it looks, what it writes, and how it fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tools import real_server
from tools.real_server import (
    PROGRAMS,
    UNOBTAINABLE,
    BuildError,
    UnobtainableError,
    build_into,
    cache_directory,
    exclusive,
    find,
    main,
    obtain,
    staging_modules,
    staging_version,
    version_stamp,
    write_module,
)

GO_MOD = """module k8s.io/kubernetes

go 1.26.0

require (
\tk8s.io/api v0.0.0
\tk8s.io/utils v0.0.0-20260210185600-b8788abfbbc2
)

replace (
\tk8s.io/api => ./staging/src/k8s.io/api
\tk8s.io/client-go => ./staging/src/k8s.io/client-go
)

replace k8s.io/streaming => ./staging/src/k8s.io/streaming
"""


def fill(directory: Path, *left_out: str) -> Path:
    """Put empty programs into a directory."""
    directory.mkdir(parents=True)
    for program in set(PROGRAMS) - set(left_out):
        (directory / program).touch(mode=0o755)
    return directory


def cache_in(directory: Path) -> dict[str, str]:
    return {"EDGEKEEPER_CACHE": str(directory / "cache")}


def test_staging_modules_are_those_replaced_by_directories() -> None:
    assert staging_modules(GO_MOD) == ["k8s.io/api", "k8s.io/client-go", "k8s.io/streaming"]


def test_staging_modules_are_published_under_major_version_zero() -> None:
    assert staging_version("v1.36.3") == "v0.36.3"


def test_version_stamp_sets_what_the_programs_report() -> None:
    stamp = version_stamp("v1.36.3")
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in stamp
    assert "-X k8s.io/client-go/pkg/version.gitMinor=36" in stamp


def test_module_replaces_staging_modules_by_their_published_versions(tmp_path: Path) -> None:
    module = tmp_path / "module"
    write_module(module, GO_MOD, ("k8s.io/kubernetes", "v1.36.3"), ["k8s.io/api"])
    assert (module / "go.mod").read_text(encoding="utf-8").splitlines() == [
        "module build.invalid/real-server",
        "go 1.26.0",
        "require k8s.io/kubernetes v1.36.3",
        "replace k8s.io/api => k8s.io/api v0.36.3",
    ]


def test_module_needs_a_go_version(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="names no Go version"):
        write_module(tmp_path / "module", "module x\n", ("k8s.io/kubernetes", "v1.36.3"), [])


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"EDGEKEEPER_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, Path("/b/edgekeeper")),
        ({}, Path.home() / ".cache/edgekeeper"),
    ],
    ids=["own", "user", "home"],
)
def test_cache_is_outside_the_checkout(environment: dict[str, str], expected: Path) -> None:
    assert cache_directory(environment).parent == expected


def test_complete_assets_win_over_the_cache(tmp_path: Path) -> None:
    environment = cache_in(tmp_path)
    fill(cache_directory(environment))
    assets = fill(tmp_path / "assets")
    assert find({**environment, "KUBEBUILDER_ASSETS": str(assets)}) == assets


def test_incomplete_assets_are_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = cache_in(tmp_path)
    cached = fill(cache_directory(environment))
    assets = fill(tmp_path / "assets", "kube-controller-manager")
    assert find({**environment, "KUBEBUILDER_ASSETS": str(assets)}) == cached
    assert "lacks some of" in capsys.readouterr().err


def test_nothing_is_found_in_an_empty_cache(tmp_path: Path) -> None:
    assert find(cache_in(tmp_path)) is None


def test_missing_go_is_said_clearly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnobtainableError, match="Go is not installed"):
        obtain(cache_in(tmp_path))


def test_failed_build_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_module: Path, binaries: Path) -> None:
        (binaries / "kube-apiserver").touch(mode=0o755)
        raise BuildError("no")

    monkeypatch.setattr(real_server, "build_kubernetes", fail)
    with pytest.raises(BuildError):
        build_into(tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


def test_successful_build_appears_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target"

    def build(_module: Path, binaries: Path) -> None:
        assert not target.exists()
        (binaries / "etcd").touch(mode=0o755)

    monkeypatch.setattr(real_server, "build_kubernetes", build)
    monkeypatch.setattr(real_server, "build_etcd", build)
    build_into(target)
    assert [path.name for path in target.iterdir()] == ["etcd"]
    assert list(tmp_path.iterdir()) == [target]


def test_second_builder_waits_for_the_first(tmp_path: Path) -> None:
    order: list[str] = []

    def wait_for_the_lock() -> None:
        with exclusive(tmp_path / "lock"):
            order.append("second")

    with exclusive(tmp_path / "lock"):
        second = threading.Thread(target=wait_for_the_lock)
        second.start()
        order.append("first")
    second.join()
    assert order == ["first", "second"]


def test_path_is_all_that_goes_to_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assets = fill(tmp_path / "assets")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    assert main(["--print-path"]) == 0
    assert capsys.readouterr().out == f"{assets}\n"


def test_looking_alone_builds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("EDGEKEEPER_CACHE", str(tmp_path))
    assert main(["--no-build", "--print-path"]) == UNOBTAINABLE
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == []
