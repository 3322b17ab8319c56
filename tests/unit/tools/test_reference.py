"""docs/reference.md has every field of every kind, as the types declare it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgekeeper.api.definition import CustomKind
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.controllers.zerotrust.annotation_keys import SETTINGS
from edgekeeper.core.json import JsonObject
from tools import reference


def test_page_is_up_to_date() -> None:
    assert reference.PAGE.read_text() == reference.page(), "run `python tools/reference.py`"


@pytest.mark.parametrize("kind", DEFINITIONS, ids=lambda kind: kind.kind)
def test_page_has_each_field_of_a_kind_once(kind: CustomKind) -> None:
    _, _, rest = reference.page().partition(f"## {kind.kind}\n")
    section, _, _ = rest.partition("\n## ")
    (version,) = kind.definition()["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["properties"]
    assert [name for name in spec["properties"] if section.count(f"| `spec.{name}` |") != 1] == []


@pytest.mark.parametrize("kind", DEFINITIONS, ids=lambda kind: kind.kind)
def test_every_field_of_a_kind_has_a_description(kind: CustomKind) -> None:
    """So `kubectl explain` has one, too."""
    (version,) = kind.definition()["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    found = {section: list(_undescribed(schema[section], section)) for section in ("spec", "status")}
    assert found == {"spec": [], "status": []}


def _undescribed(schema: JsonObject, path: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        if not field.get("description"):
            yield f"{path}.{name}"
        yield from _undescribed(field, f"{path}.{name}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from _undescribed(inner, path)


def test_limits_and_defaults_are_told_in_words() -> None:
    text = reference.page()
    assert "| `spec.dns.ttl` | integer | default `300`; ≥ 60; ≤ 172800 |" in text
    assert "| `spec.domains` | list of object | required; not empty; at most 250 entries |" in text


def test_annotations_of_routes_are_listed() -> None:
    text = reference.page()
    assert [one.path for one in SETTINGS if f"| `{one.path}` |" not in text] == []


def test_outdated_page_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr("sys.argv", ["reference.py", "--check"])
    assert reference.main() == 1
    assert "run `python tools/reference.py`" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["reference.py"])
    assert reference.main() == 0
    monkeypatch.setattr("sys.argv", ["reference.py", "--check"])
    assert reference.main() == 0
