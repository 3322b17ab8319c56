"""`edgekeeper validate` finds in kro's own examples what kro finds: schema, dependencies, order and rejections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import run
from edgekeeper.controllers.composition.graph import compile_definition, read_definition
from edgekeeper.controllers.composition.schemas import KnownSchemas
from edgekeeper.core.json import JsonObject
from tests.golden.reading import golden_rows

FOUND = ("openapi", "schemaError", "deps", "topologicalOrder", "applyOrder")
INCOMPLETE = "examples/gcp/gemma-on-tpu/rgd.yaml"
"""Its reference names no object. An API server refuses that; what depends on it is known all the same."""


def _expected() -> dict[str, JsonObject]:
    return {row["path"]: row for row in golden_rows("rgds_expected.jsonl")}


def test_definitions_compile_to_what_kro_makes_of_them() -> None:
    """Kinds are unknown here, as they were to kro."""
    expected = _expected()
    rows = golden_rows("rgds.jsonl")
    assert len(rows) == len(expected) > 0
    for row in rows:
        found = compile_definition(read_definition(row["rgd"]), KnownSchemas())
        known = {
            "path": row["path"],
            "openapi": found.spec_schema,
            "schemaError": found.schema_error or None,
            "deps": found.dependencies,
            "topologicalOrder": found.order,
            "applyOrder": found.apply_orders,
        }
        assert {name: value for name, value in known.items() if value is not None} == expected[row["path"]]
        is_rejected = "schemaError" in expected[row["path"]] or row["path"] == INCOMPLETE
        assert (found.graph is None) is is_rejected, (row["path"], found.problems)


def test_command_answers_with_the_keys_of_kros_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the schemas of built-in kinds, which find no mistake in these examples that kro does not find."""
    expected = _expected()
    for number, row in enumerate(golden_rows("rgds.jsonl")):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(row["rgd"]))
        is_valid = "schemaError" not in expected[row["path"]] and row["path"] != INCOMPLETE
        code = ExitCode.OK if is_valid else ExitCode.FAILED
        assert run(["validate", str(file), "-o", "json"]) == code, row["path"]
        answer = json.loads(capsys.readouterr().out)
        assert (answer["path"], answer["valid"]) == (str(file), is_valid)
        found = {name: answer[name] for name in FOUND if name in answer}
        assert {**found, "path": row["path"]} == expected[row["path"]]


def test_command_finds_a_mistake_about_the_kind_of_another_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of the examples belong together, and one sets a field that the other does not define."""
    together = [row["rgd"] for row in golden_rows("rgds.jsonl") if "/vpc-lattice/" in row["path"]]
    assert len(together) == 2
    file = tmp_path / "lattice.json"
    file.write_text(json.dumps({"kind": "List", "items": together}))
    assert run(["validate", str(file), "-o", "json"]) == ExitCode.FAILED
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (error,) = [error for answer in answers for error in answer["errors"]]
    assert error["path"] == "spec.resources[1].template.spec.gatewayClassName"
