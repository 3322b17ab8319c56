"""The kubeconfig file: readable by its owner only, never at somebody else's cost."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.kubeconfig import default_path, ensure_replaceable, kubeconfig_file

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


def written(path: Path, text: str) -> Path:
    with kubeconfig_file(path, None, text):
        assert path.read_text() == text
    return path


def test_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kubeconfig"
    with kubeconfig_file(path, None, OURS) as actual:
        assert actual == path
        assert path.read_text() == OURS
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert list(path.parent.iterdir()) == [path]
    assert list(path.parent.iterdir()) == []


def test_own_file_of_a_server_that_is_gone_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(OURS)
    written(path, OURS + "users: []\n")


def test_file_beside_data_stays(tmp_path: Path) -> None:
    with kubeconfig_file(None, tmp_path, OURS) as path:
        assert path == tmp_path / "kubeconfig"
    assert path.read_text() == OURS
    with kubeconfig_file(None, tmp_path, OURS + "users: []\n"):
        assert path.read_text() == OURS + "users: []\n"


@pytest.mark.parametrize("present", [THEIRS, "", "a: [", "precious notes"])
def test_foreign_file_is_left_alone(tmp_path: Path, present: str) -> None:
    path = tmp_path / "config"
    path.write_text(present)
    with pytest.raises(CommandError, match="choose another --kubeconfig"):
        written(path, OURS)
    assert path.read_text() == present


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match=r"cannot (write|replace)"):
        written(tmp_path / "file" / "kubeconfig", OURS)


def test_second_server_leaves_the_file_of_the_first_alone(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with kubeconfig_file(path, None, OURS):
        for attempt in (lambda: written(path, OURS + "users: []\n"), lambda: ensure_replaceable(path)):
            with pytest.raises(CommandError) as caught:
                attempt()
            assert str(caught.value) == (
                f"{path} is in use by another `edgekeeper up`; stop that one, or choose another --kubeconfig"
            )
        assert path.read_text() == OURS
    written(path, OURS)


def test_second_server_without_a_wish_gets_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = default_path(None)
    with kubeconfig_file(None, None, OURS) as one:
        with kubeconfig_file(None, None, OURS) as two, kubeconfig_file(None, None, OURS) as three:
            assert (one, two, three) == (
                first,
                *(first.with_name(f"kubeconfig-{number}") for number in (2, 3)),
            )
        assert list(first.parent.iterdir()) == [first]
    assert list(first.parent.iterdir()) == []


def test_removal_spares_what_somebody_else_has_written_since(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with kubeconfig_file(path, None, OURS):
        path.write_text("clusters: changed")
    assert path.read_text() == "clusters: changed"
    path.unlink()
    with kubeconfig_file(path, None, OURS):
        path.unlink()
        path.write_text(OURS)
    assert path.read_text() == OURS
    with kubeconfig_file(path, None, OURS):
        path.unlink()
    assert not path.exists()
