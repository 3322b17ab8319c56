"""Reading manifests: every form people keep them in, and a clear word about everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.manifest import load_manifests

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: web}
data: {since: 2026-01-02, answer: "yes"}
"""


def test_documents_lists_and_json_all_become_manifests(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(f"---\n{CONFIG_MAP}---\n# only a comment\n---\n{CONFIG_MAP}")
    (tmp_path / "a.json").write_text(
        '{"apiVersion": "v1", "kind": "List", "items":'
        ' [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}]}'
    )
    (tmp_path / "notes.txt").write_text("not a manifest")
    manifests = load_manifests([tmp_path])
    assert [str(manifest) for manifest in manifests] == [
        "Namespace web",
        "ConfigMap web/one",
        "ConfigMap web/one",
    ]
    assert manifests[0].source == tmp_path / "a.json"


def test_unquoted_date_stays_a_string(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(CONFIG_MAP)
    assert load_manifests([file])[0].body["data"] == {"since": "2026-01-02", "answer": "yes"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "is not valid YAML"),
        ("kind: X\nmetadata: {name: a}", "document 1 has no apiVersion"),
        ("---\n---\napiVersion: v1\nmetadata: {name: a}", "document 2 has no kind"),
        ("apiVersion: v1\nkind: X\nmetadata: {name: 7}", r"document 1 has no metadata\.name"),
        ("apiVersion: v1\nkind: X\nmetadata: {name: a, namespace: 7}", "namespace that is not a string"),
        ("- just\n- a list", "document 1 has no apiVersion"),
    ],
    ids=[
        "broken",
        "no version",
        "no kind in the second",
        "number as name",
        "number as namespace",
        "not an object",
    ],
)
def test_wrong_file_is_named_with_its_document(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(CommandError, match=complaint) as caught:
        load_manifests([file])
    assert str(file) in str(caught.value)


def test_missing_file_and_empty_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        load_manifests([tmp_path / "absent.yaml"])
    with pytest.raises(CommandError, match="contains no manifests"):
        load_manifests([tmp_path])
