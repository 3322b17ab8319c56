"""The cluster that a pod runs in."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from edgekeeper.core.clock import VirtualClock
from edgekeeper.kube.cluster import ConfigError, Trust
from edgekeeper.kube.credentials import READ_INTERVAL, bearer
from edgekeeper.kube.incluster import in_cluster_config, is_in_cluster

ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """A service account's volume, linked as kubelets do it so that all its files change at once."""
    for version in ("first", "second"):
        folder = tmp_path / version
        folder.mkdir()
        (folder / "token").write_text(version)
        (folder / "ca.crt").write_text("CA")
        (folder / "namespace").write_text("edge")
    _link(tmp_path, "first")
    for name in ("token", "ca.crt", "namespace"):
        (tmp_path / name).symlink_to(tmp_path / "..data" / name)
    return tmp_path


def _link(volume: Path, version: str) -> None:
    (volume / "next").symlink_to(volume / version)
    (volume / "next").rename(volume / "..data")


async def test_pod_knows_its_cluster(volume: Path) -> None:
    config = in_cluster_config(ENVIRON, VirtualClock(), volume)
    assert config.server == "https://10.96.0.1:443"
    assert config.trust == Trust(volume / "ca.crt")
    assert config.namespace == "edge"
    assert await config.credentials.headers() == bearer("first")


def test_address_of_version_six_is_put_in_brackets(volume: Path) -> None:
    environ = ENVIRON | {"KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert in_cluster_config(environ, VirtualClock(), volume).server == "https://[fd00::1]:443"


async def test_token_follows_the_kubelet(volume: Path) -> None:
    clock = VirtualClock()
    credentials = in_cluster_config(ENVIRON, clock, volume).credentials
    await credentials.headers()
    _link(volume, "second")
    clock.advance(timedelta(seconds=READ_INTERVAL))
    assert await credentials.headers() == bearer("second")


@pytest.mark.parametrize("content", [None, "", "\n"], ids=["missing", "empty", "blank"])
def test_namespace_is_default_where_the_volume_does_not_say(volume: Path, content: str | None) -> None:
    path = volume / "namespace"
    path.unlink()
    if content is not None:
        path.write_text(content)
    assert in_cluster_config(ENVIRON, VirtualClock(), volume).namespace == "default"


@pytest.mark.parametrize("name", ENVIRON)
def test_process_outside_says_what_is_missing(volume: Path, name: str) -> None:
    environ = {key: value for key, value in ENVIRON.items() if key != name}
    with pytest.raises(ConfigError, match="runs in no pod"):
        in_cluster_config(environ, VirtualClock(), volume)


def test_pod_without_a_token_is_told_to_mount_it(volume: Path) -> None:
    (volume / "ca.crt").unlink()
    with pytest.raises(ConfigError, match="let the pod mount the token"):
        in_cluster_config(ENVIRON, VirtualClock(), volume)


@pytest.mark.parametrize(
    ("environ", "token", "expected"),
    [
        (ENVIRON, True, True),
        (ENVIRON, False, False),
        ({}, True, False),
        ({"KUBERNETES_SERVICE_HOST": "a"}, True, False),
    ],
    ids=["pod", "pod without a service account", "elsewhere", "half a pod"],
)
def test_being_in_a_cluster_takes_address_and_token(
    volume: Path, environ: dict[str, str], token: bool, expected: bool
) -> None:
    if not token:
        (volume / "token").unlink()
    assert is_in_cluster(environ, volume) is expected
