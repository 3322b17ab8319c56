"""`edgekeeper cel`: values, types and dependencies for people and for programs, errors with their place and class."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import run

CONTEXT = """\
schema:
  metadata: {labels: {edge.example/tier: front}}
  spec: {name: shop, replicas: 3, since: 2026-01-02, regions: [eu, us]}
config: {data: {}}
"""
UNDECLARED = "undeclared reference to 'foo' (in container '')"


@pytest.fixture(autouse=True)
def _no_colour_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def context(tmp_path: Path) -> str:
    file = tmp_path / "context.yaml"
    file.write_text(CONTEXT)
    return str(file)


def test_answer_for_people_has_value_type_dependencies_and_cost(
    context: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "schema.spec.name + schema.metadata.labels['edge.example/tier']"
    assert run(["cel", text, "--context", context]) == ExitCode.OK
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        'value  "shopfront"',
        "type   dyn",
        "deps   schema",
        "reads  schema.metadata.labels['edge.example/tier'], schema.spec.name",
        "cost   8",
    ]
    assert captured.err == ""


def test_rows_without_content_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cel", "1 + 1"]) == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == ["value  2", "type   int", "cost   1"]


def test_long_values_are_spread_over_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cel", "lists.range(40)"]) == ExitCode.OK
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert (first, second) == ("value  [", "         0,")


def test_nothing_reaches_the_terminal_that_would_not_be_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cel", "'\\u009b31m\\u202e' + 'é'"]) == ExitCode.OK
    assert capsys.readouterr().out.startswith('value  "\\u009b31m\\u202eé"\n')


@pytest.mark.parametrize("forced", [False, True])
def test_colour_is_for_terminals(
    forced: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
    run(["cel", "{'a': true}"])
    run(["cel", "{'a': true}.b"])
    captured = capsys.readouterr()
    assert ("\x1b[" in captured.out) is forced
    assert ("\x1b[31m | ...........^" in captured.err) is forced


def test_answer_for_programs_is_one_object(context: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cel", "[schema.spec.replicas, 1.0]", "--context", context, "-o", "json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out) == {
        "value": [3, 1],
        "type": "list(dyn)",
        "deps": ["schema"],
        "paths": ["schema.spec.replicas"],
        "cost": 13,
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${1 + 1}", 2),
        ("  ${ 1 + 1 }\n", 2),
        ('${{"a}": "}"}}', {"a}": "}"}),
        ('${"\\"}"}', '"}'),
        ("1 + 1\n", 2),
    ],
    ids=["wrapped", "with space around", "with brackets", "with quotes", "plain"],
)
def test_expression_may_be_wrapped_and_come_from_standard_input(
    text: str, value: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cel", text, "-o", "json"]) == ExitCode.OK
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert run(["cel", "-", "-o", "json"]) == ExitCode.OK
    direct, piped = capsys.readouterr().out.split("}\n{")
    assert json.loads(f"{direct}}}") == json.loads(f"{{{piped}")
    assert json.loads(f"{direct}}}")["value"] == value


@pytest.mark.parametrize(
    "text", ["${a}-${b}", "${a", "${'}'}"], ids=["template", "unclosed", "single quotes"]
)
def test_template_is_no_expression(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cel", text]) == ExitCode.FAILED
    assert "a template is not an expression" in capsys.readouterr().err


def test_compile_error_shows_every_issue_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cel", "foo.bar +\n  1 == 1.0"]) == ExitCode.FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"ERROR: <input>:1:1: {UNDECLARED}",
        " | foo.bar +",
        " | ^",
        "ERROR: <input>:2:5: found no matching overload for '_==_' applied to '(int, double)'",
        " |   1 == 1.0",
        " | ....^",
        f"edgekeeper: error: the expression does not compile: {UNDECLARED} (and 1 more)",
    ]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("schema.spec.nope", "no such key: nope; it depends on data that may still arrive"),
        ("schema.spec.regions[7]", "index out of bounds: 7; it depends on data that may still arrive"),
        ("1 / 0", "division by zero; it will fail with any further data, too"),
    ],
)
def test_evaluation_error_says_whether_data_is_pending(
    text: str, last: str, context: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cel", text, "--context", context]) == ExitCode.FAILED
    shown = capsys.readouterr().err.splitlines()
    assert shown[-1] == f"edgekeeper: error: the evaluation failed: {last}"
    assert shown[1] == f" | {text}"
    assert shown[2].endswith("^")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "1 +",
            {
                "class": "compile",
                "pending": False,
                "message": "Syntax error: unexpected end of expression",
                "issues": [{"message": "Syntax error: unexpected end of expression", "line": 1, "column": 4}],
            },
        ),
        (
            "config.data.a",
            {
                "class": "evaluation",
                "pending": True,
                "message": "no such key: a",
                "kind": "no such key",
                "line": 1,
                "column": 12,
            },
        ),
        (
            "{1: 'a', '1': 'b'}",
            {
                "class": "evaluation",
                "pending": False,
                "message": "two keys of the map would be the same in JSON",
                "kind": "conversion",
            },
        ),
    ],
    ids=["compile", "pending", "no JSON"],
)
def test_error_for_programs_has_a_class(
    text: str, error: dict[str, Any], context: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cel", text, "--context", context, "-o", "json"]) == ExitCode.FAILED
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["error"] == error
    assert "value" not in answer
    assert ("type" in answer) is (error["class"] == "evaluation")
    assert captured.err == ""


def test_environments_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cel", "sets.contains([1], [1])", "--environment", "kubernetes"]) == ExitCode.OK
    assert run(["cel", "sets.contains([1], [1])"]) == ExitCode.FAILED
    assert "undeclared reference to 'sets'" in capsys.readouterr().err


def test_batch_answers_each_line(context: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = [
        {"id": "a", "expr": "schema.spec.since"},
        {"id": 2, "expr": "config.data.?a"},
        {"id": "c", "expr": "config.data.a"},
        {"id": "d", "expr": "nope"},
        {"id": "e", "expr": "${1}${2}"},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n\n".join(map(json.dumps, questions)))
    assert run(["cel", "--batch", str(file), "--context", context]) == ExitCode.OK
    date, absent, pending, unknown, template = map(json.loads, capsys.readouterr().out.splitlines())
    assert date == {"id": "a", "value": "2026-01-02", "type": "dyn", "deps": ["schema"]}
    assert absent == {"id": 2, "value": None, "type": "optional_type(dyn)", "deps": ["config"]}
    assert (pending["id"], pending["type"], pending["deps"]) == ("c", "dyn", ["config"])
    assert (pending["error"]["class"], pending["error"]["pending"]) == ("evaluation", True)
    assert set(unknown) == {"id", "error"}
    assert (unknown["error"]["class"], unknown["error"]["pending"]) == ("compile", False)
    assert template["error"]["class"] == "compile"


@pytest.mark.parametrize("line", ["nonsense", '"text"', '{"id": 1}', "[1, 2]", '{"id": 1, "expr": 2}'])
def test_batch_stops_at_a_line_that_is_no_question(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(f'{{"id": 1, "expr": "1"}}\n{line}\n')
    assert run(["cel", "--batch", str(file)]) == ExitCode.FAILED
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert f"line 2 of {file} is not a valid entry; each line is an object" in captured.err


@pytest.mark.parametrize("arguments", [[], ["1", "--batch", __file__]], ids=["neither", "both"])
def test_either_an_expression_or_a_batch_is_asked_about(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cel", *arguments]) == ExitCode.USAGE
    assert "either an expression or --batch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "is not valid YAML"),
        ("- 1", "must contain a single object"),
        ("a: 1\n---\nb: 2", "must contain a single object"),
        ("a: &a [*a]", "it contains itself"),
        ("a: !!binary YQ==", "it has a value of type bytes"),
        ("a: {null: 2}", "it has a key of type NoneType"),
        ("a: " + "9" * 400, "int too large"),
        ("a: " + "[" * 5000 + "]" * 5000, "is n"),
    ],
    ids=["broken", "list", "two documents", "cycle", "bytes", "odd key", "huge number", "deep"],
)
def test_context_is_an_object_that_json_can_hold(
    text: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "context.yaml"
    file.write_text(text)
    assert run(["cel", "1", "--context", str(file)]) == ExitCode.FAILED
    shown = capsys.readouterr().err
    assert complaint in shown
    assert str(file) in shown


def test_context_is_translated_as_an_api_server_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "context.yaml"
    file.write_text("a: {7: x, true: y, 1.5: z}\nbig: 36893488147419103232\nshared: [&s {b: 1}, *s]\n")
    text = "[a['7'], a['true'], a['1.5'], type(big) == double, shared[1].b]"
    assert run(["cel", text, "--context", str(file), "-o", "json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["value"] == ["x", "y", "z", True, 1]


def test_context_without_content_has_no_variables(tmp_path: Path) -> None:
    file = tmp_path / "context.yaml"
    file.write_text("# nothing\n")
    assert run(["cel", "1", "--context", str(file)]) == ExitCode.OK


def test_missing_context_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.yaml"
    assert run(["cel", "1", "--context", str(missing)]) == ExitCode.FAILED
    assert f"cannot read {missing}" in capsys.readouterr().err
