"""The kubeconfig file: readable by its owner only, never at somebody else's cost."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.kubeconfig import default_path, remove_kubeconfig, write_kubeconfig

OURS = "clusters:\n- name: edgekeeper\n"
THEIRS = "clusters:\n- name: edgekeeper\n- name: production\n"


def test_default_is_beside_the_data_or_in_the_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_path(tmp_path) == tmp_path / "kubeconfig"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert default_path(None) == tmp_path / "state" / "edgekeeper" / "kubeconfig"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path(None) == tmp_path / ".local" / "state" / "edgekeeper" / "kubeconfig"


def test_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kubeconfig"
    write_kubeconfig(path, OURS)
    assert path.read_text() == OURS
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_own_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(OURS)
    write_kubeconfig(path, OURS + "users: []\n")
    assert path.read_text() == OURS + "users: []\n"


@pytest.mark.parametrize("present", [THEIRS, "", "a: [", "precious notes"])
def test_foreign_file_is_left_alone(tmp_path: Path, present: str) -> None:
    path = tmp_path / "config"
    path.write_text(present)
    with pytest.raises(CommandError, match="choose another --kubeconfig"):
        write_kubeconfig(path, OURS)
    assert path.read_text() == present


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match=r"cannot (write|replace)"):
        write_kubeconfig(tmp_path / "file" / "kubeconfig", OURS)


def test_removal_spares_the_file_of_a_later_server(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    remove_kubeconfig(path, OURS)
    path.write_text("clusters: later")
    remove_kubeconfig(path, OURS)
    assert path.exists()
    path.write_text(OURS)
    remove_kubeconfig(path, OURS)
    assert not path.exists()
