"""The command line answers a batch as kro does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import run
from packages.kubecel.tests.golden.test_cel_exprs import PENDING
from tests.golden.reading import golden_file, golden_rows


def test_batch_has_the_values_types_and_dependencies_that_kro_reports(
    capsys: pytest.CaptureFixture[str],
) -> None:
    questions, context = golden_file("cel_exprs.jsonl"), golden_file("cel_context.json")
    assert run(["cel", "--batch", str(questions), "--context", str(context)]) == ExitCode.OK
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = [_answer(row) for row in golden_rows("cel_exprs.jsonl")]
    assert [_comparable(answer) for answer in answers] == expected


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    """What the command should say: of errors only the class counts, and whether data is pending."""
    if "compile_error" in row:
        return {"id": row["id"], "error": ("compile", False)}
    known = {"id": row["id"], "type": row["type"], "deps": sorted(row["deps"])}
    if "eval_error" in row:
        pending = any(phrase in row["eval_error"] for phrase in PENDING)
        return {**known, "error": ("evaluation", pending)}
    return {**known, "value": row["value"]}


def _comparable(answer: dict[str, Any]) -> dict[str, Any]:
    error = answer.get("error")
    return answer if error is None else {**answer, "error": (error["class"], error["pending"])}
