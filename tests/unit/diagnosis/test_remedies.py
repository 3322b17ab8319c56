"""Each reason that the code can write has a cause and a remedy, and there are no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgekeeper.cli.kinds import MODULES
from edgekeeper.cli.rbac import feature_of
from edgekeeper.core.declaration import is_reason
from edgekeeper.lifecycle.remedies import COMMON, Remedies, Remedy
from tests.unit.diagnosis.reasons import COMPUTED, ROOT, Found, Unresolved, collect

COLLECTED = list(collect())
FOUND = [one for one in COLLECTED if isinstance(one, Found)]
TABLES = {feature_of(module): module.remedies for module in MODULES}
CLOUDS = {"cloudflare": "zerotrust"}
"""Clouds that only the kinds of one package use, which have the entries."""
SAID_ELSEWHERE = {"Error", "Pending", "Terminating", "UpdatePending"}
"""Reasons that `core` and `diagnosis` give where nobody else does, or that conditions have which are True."""


def feature_at(file: str) -> str:
    """The package whose table must have the reasons of a file; empty for those of all kinds."""
    parts = file.split("/")
    if parts[0] == "controllers":
        return parts[1]
    return CLOUDS.get(parts[1], "") if parts[0] == "cloud" else ""


def test_every_expression_in_the_place_of_a_reason_is_known() -> None:
    assert [one for one in COLLECTED if isinstance(one, Unresolved)] == []


def test_computed_reasons_are_still_computed() -> None:
    sources = {file: (ROOT / file).read_text() for file, _ in COMPUTED}
    assert all(sources.values())
    used = {(one.file, one.reason) for one in FOUND}
    listed = {(file, reason) for (file, _), reasons in COMPUTED.items() for reason in reasons}
    assert listed <= used


def test_every_reason_that_the_code_writes_has_a_remedy() -> None:
    written = sorted({(feature_at(one.file), one.reason) for one in FOUND})
    assert len(written) > 100
    assert [reason for _, reason in written if not is_reason(reason)] == []
    assert [one for one in written if Remedies(TABLES.get(one[0], ())).find(one[1]) is None] == []


def test_entries_are_about_reasons_that_the_code_writes() -> None:
    written = {one.reason for one in FOUND} | SAID_ELSEWHERE
    entries = {entry.reason for table in (COMMON, *TABLES.values()) for entry in table}
    assert sorted(entries - written) == []


def test_every_entry_says_what_is_the_cause_and_what_to_do() -> None:
    for entry in (entry for table in (COMMON, *TABLES.values()) for entry in table):
        for text in (entry.cause, entry.action):
            assert text, entry.reason
            assert not text.endswith("."), entry.reason
            assert "\n" not in text, entry.reason
        assert entry.within is None or entry.waits_for, f"{entry.reason}: what ends it in that time?"


def test_each_table_has_one_entry_for_a_reason_and_message() -> None:
    for table in (COMMON, *dict.fromkeys(TABLES.values())):
        keys = [(entry.reason, entry.message) for entry in table]
        assert len(keys) == len(set(keys))


def test_entry_of_a_message_takes_precedence_over_the_general_one() -> None:
    remedies = Remedies(
        (Remedy("A", "general", "wait"), Remedy("A", "special", "act", message="because of B"))
    )
    assert remedies.find("A", "failed because of B").cause == "special"  # type: ignore[union-attr]
    assert remedies.find("A", "failed").cause == "general"  # type: ignore[union-attr]
    assert remedies.find("InvalidAnnotation") is not None
    assert remedies.find("Unheard") is None


def test_walker_finds_a_new_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: a new reason anywhere in the sources is found."""
    from tests.unit.diagnosis import reasons  # noqa: PLC0415 - to change it

    (tmp_path / "core").mkdir()
    source = 'from edgekeeper.core.errors import Stall\nA = "BrandNew"\nStall(A if 1 else "Other", "")\nStall(made_up(), "")\n'
    (tmp_path / "core" / "errors.py").write_text(source)
    monkeypatch.setattr(reasons, "ROOT", tmp_path)
    monkeypatch.setattr("edgekeeper.core.errors.A", "BrandNew", raising=False)
    found = list(reasons.collect())
    assert {one.reason for one in found if isinstance(one, Found)} == {"BrandNew", "Other"}
    assert [one.expression for one in found if isinstance(one, Unresolved)] == ["made_up()"]
