"""`edgekeeper import`: the command around the kinds. What each kind makes of its resources is tested in `tests/importing`."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from edgekeeper.cli import main as entry
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.import_output import (
    Outcome,
    confirm_writable,
    print_report,
    render,
    show_progress,
    write_manifests,
)
from edgekeeper.cli.importing import import_
from edgekeeper.cli.kinds import MODULES, importable
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.importing import (
    ImportRefusal,
    ImportRequest,
    ImportResult,
    derived_names,
    tag_owner,
)

REFUSAL = ImportRefusal("spec.tags", "there are too many")


def body(name: str, namespace: str = "edge") -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {},
    }


IMPORTED = ImportResult("thing a", (body("a"),), notes=("its colour stays as it is",))
PARTIAL = ImportResult("thing b", (body("b"),), (REFUSAL,))
HOPELESS = ImportResult("thing c", refusals=(REFUSAL,))
OWNED = ImportResult("thing d", owner="owned by Thing edge/d")
ALL = (IMPORTED, PARTIAL, HOPELESS, OWNED)


def told(outcome: Outcome) -> str:
    stream = StringIO()
    print_report(outcome, "a mark", Console(file=stream, width=200, color_system=None))
    return stream.getvalue()


# What is written


def test_manifests_with_refusals_are_written_only_if_that_is_asked_for() -> None:
    assert [one["metadata"]["name"] for one in Outcome(ALL).manifests] == ["a"]
    assert [one["metadata"]["name"] for one in Outcome(ALL, partial=True).manifests] == ["a", "b"]
    assert Outcome(ALL).refused == Outcome(ALL, partial=True).refused == [PARTIAL, HOPELESS]


def test_report_tells_about_every_resource_and_what_applying_writes() -> None:
    assert told(Outcome(ALL)).splitlines() == [
        "thing a: imported as Thing edge/a",
        "  note: its colour stays as it is",
        "thing b: not importable",
        "  spec.tags: there are too many",
        "thing c: not importable",
        "  spec.tags: there are too many",
        "thing d: skipped: owned by Thing edge/d",
        "Import: 1 imported, 1 skipped, 2 not importable.",
        "Applying the manifests writes a mark; nothing else is changed.",
    ]
    partly = told(Outcome(ALL, partial=True))
    assert "thing b: imported in part as Thing edge/b\n" in partly
    assert "writes a mark and whatever is reported above as not expressible" in partly
    assert told(Outcome(())) == "There is nothing to import.\n"
    assert "Applying" not in told(Outcome((OWNED,)))


def test_report_shows_control_characters_of_names_escaped() -> None:
    hostile = ImportResult("thing \x1b[31mred\nnext", owner="owned by \u202e")
    assert told(Outcome((hostile,))).splitlines()[0] == r"thing \x1b[31mred\nnext: skipped: owned by \u202e"


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("names", [("a",), ("a", "b")])
def test_manifests_can_be_read_again(form: str, names: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / f"things.{form}"
    write_manifests([body(name) for name in names], str(file), form)
    assert [manifest.body for manifest in load_manifests([file])] == [body(name) for name in names]


def test_directory_gets_a_file_for_each_object(tmp_path: Path) -> None:
    write_manifests([body("a"), body("a", "other")], f"{tmp_path}/new/", "yaml")
    files = sorted(file.name for file in (tmp_path / "new").iterdir())
    assert files == ["thing-edge-a.yaml", "thing-other-a.yaml"]
    assert yaml.safe_load((tmp_path / "new" / files[0]).read_text()) == body("a")


def test_files_that_exist_are_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "things.yaml"
    file.write_text("mine")
    with pytest.raises(CommandError, match=r"things\.yaml exists; name another file"):
        confirm_writable(str(file))
    (tmp_path / "thing-edge-b.yaml").write_text("mine")
    with pytest.raises(CommandError, match="import replaces no file"):
        write_manifests([body("a"), body("b")], str(tmp_path), "yaml")
    assert not (tmp_path / "thing-edge-a.yaml").exists(), "all or none"
    assert file.read_text() == "mine"


def test_nothing_to_write_makes_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_manifests([], str(tmp_path / "things.yaml"), "yaml")
    write_manifests([], "-", "json")
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""


def test_json_of_several_objects_is_a_list() -> None:
    assert json.loads(render([body("a"), body("b")], "json"))["kind"] == "List"
    assert json.loads(render([body("a")], "json")) == body("a")


def test_progress_is_shown_on_a_terminal_only() -> None:
    shown: dict[bool, str] = {}
    for interactive in (True, False):
        stream = StringIO()
        console = Console(file=stream, width=80, force_terminal=interactive)
        with show_progress(console, interactive=interactive) as progress:
            progress(3, 4)
        shown[interactive] = stream.getvalue()
    assert "75%" in shown[True]
    assert shown[False] == ""


# Names, patterns, owners


def test_names_of_objects_are_valid_different_and_the_same_each_time() -> None:
    sources = [
        "a-b.example.com",
        "a.b.example.com",
        "*.example.com",
        "x" * 90,
        "Ünïcode",
        "taken.example.com",
    ]
    names = derived_names(sources, {"taken-example-com"})
    assert names["*.example.com"] == "wildcard-example-com"
    assert len(set(names.values())) == len(sources)
    assert all(len(name) <= 63 for name in names.values())
    assert names["taken.example.com"].startswith("taken-example-com-")
    assert derived_names(reversed(sources), {"taken-example-com"}) == names


def test_patterns_match_names_whatever_their_case() -> None:
    request = ImportRequest(patterns=("*.Example.com", "shop-?"))
    assert request.selects(["other", "A.example.COM"])
    assert request.selects(["shop-1"])
    assert not request.selects(["shop-12", "example.com"])
    assert ImportRequest().selects([])


def test_owner_is_told_by_tags_however_few_there_are() -> None:
    assert tag_owner("Thing", {"team": "a"}) == ""
    assert tag_owner("Thing", {"edgekeeper.io/uid": "1"}) == "owned by Thing ? of cluster ?, by its tags"


# The command


def test_command_has_a_subcommand_for_each_kind_that_can_be_imported() -> None:
    assert sorted(import_.commands) == ["domains", "routes", "tenants"]
    assert len(importable(MODULES)) == 3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("edgekeeper import ", "plain,tenants\nplain,domains\nplain,routes\n"),
        ("edgekeeper import t", "plain,tenants\n"),
        ("edgekeeper import tenants --dist", "plain,--distribution\n"),
        ("edgekeeper import routes --cred", "plain,--credential-secret\n"),
    ],
)
def test_completion_knows_subcommands_and_their_options(
    words: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_EDGEKEEPER_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit):
        entry.run([])
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(expected.splitlines())


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["import", "things"], "No such command 'things'", ExitCode.USAGE),
        (["import", "tenants", "--format", "xml"], "'xml' is not one of", ExitCode.USAGE),
        (["import", "tenants", "-n", "Edge"], "'Edge' is not the name of a namespace", ExitCode.USAGE),
        (["import", "tenants", "--output", "EXISTING"], "exists; name another file", ExitCode.FAILED),
        (["import", "domains", "--context", "nowhere"], "nowhere", ExitCode.FAILED),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str],
    message: str,
    code: ExitCode,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    existing = tmp_path / "things.yaml"
    existing.write_text("mine")
    monkeypatch.setenv("KUBECONFIG", str(existing.with_name("kubeconfig")))
    existing.with_name("kubeconfig").write_text("apiVersion: v1\nkind: Config\n")
    assert entry.run([str(existing) if one == "EXISTING" else one for one in arguments]) == code
    shown = capsys.readouterr().err
    assert message in shown
    assert len(shown.splitlines()) == 1
