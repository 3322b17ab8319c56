"""Every block of code in the documentation is executed: what executes it is looked up, and exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import coverage
from tests.docs.coverage import FOLLOWED, NAMED, PAGES, Means, Named, is_test, means_of, unexecuted
from tests.docs.page import ROOT, Block, blocks, commands, read
from tests.docs.session import Session, without_comment

EVERY = [session for sessions in FOLLOWED.values() for session in sessions]


def test_pages_are_all_pages() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/tutorial.md", "docs/kinds/httproute.md"} <= set(PAGES)
    assert len(PAGES) == 2 + len(list((ROOT / "docs").rglob("*.md")))


@pytest.mark.parametrize("page", PAGES)
def test_page_has_no_block_that_nothing_executes(page: str) -> None:
    assert unexecuted(page) == []


@pytest.mark.parametrize("test", [*FOLLOWED, *dict.fromkeys(named.test for named in NAMED)])
def test_what_executes_blocks_exists(test: str) -> None:
    assert is_test(test)


@pytest.mark.parametrize("named", NAMED, ids=lambda named: f"{named.page}-{named.form}-{named.section}")
def test_named_test_reads_its_page(named: Named) -> None:
    assert Path(named.page).name in (ROOT / named.test.partition("::")[0]).read_text()
    assert any(named.includes(named.page, block) for block in blocks(read(named.page)))


@pytest.mark.parametrize("session", EVERY, ids=lambda session: session.page)
def test_session_says_nothing_that_its_page_does_not_have(session: Session) -> None:
    """An exit code, a replacement or a section that is left over would hide what a page has now."""
    typed = [one.command for one in session.commands()]
    assert typed
    assert set(session.replaced) <= set(map(without_comment, typed))
    assert all(any(one.startswith(start) for one in typed) for start in session.exit_codes)
    assert {*session.only, *session.without} <= {block.section for block in blocks(read(session.page))}


@pytest.mark.parametrize(
    "target", sorted({target for session in EVERY for target in session.elsewhere}), ids=str
)
def test_continuous_integration_runs_what_sessions_leave_to_it(target: str) -> None:
    assert f"\nstep {target}" in (ROOT / ".ci" / "run").read_text()


def test_every_command_is_of_one_session() -> None:
    for page in PAGES:
        shown = [one for block in blocks(read(page)) if block.form == "console" for one in commands(block)]
        followed = [one for session in EVERY if session.page == page for one in session.commands()]
        assert len(followed) == len(shown), page


@pytest.mark.parametrize(
    ("block", "means"),
    [
        (Block("console", "$ edgekeeper plan\n", 1), None),
        (Block("indented", "edgekeeper plan\n", 1), None),
        (Block("text", "edgekeeper plan\n", 1), None),
        (Block("text", "$ edgekeeper plan [OPTIONS]\n", 1), None),
        (Block("text", "edgekeeper plan [OPTIONS]\n", 1), Means.TEXT),
        (Block("text", "a → b\n", 1), Means.TEXT),
        (Block("python", "print()\n", 1), None),
        (Block("yaml", "spec: {}\n", 1), None),
        (Block("yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", 1), Means.MANIFEST),
        (Block("yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", 1, title="a.yaml"), None),
    ],
)
def test_block_that_nothing_executes_is_found(block: Block, means: Means | None) -> None:
    assert means_of("docs/a-page-without-a-session.md", block) is means


def test_file_that_no_command_uses_is_found() -> None:
    page = "docs/cli.md"
    assert means_of(page, Block("yaml", "a: 1\n", 1, title="webapp.yaml")) is Means.FILE
    assert means_of(page, Block("yaml", "a: 1\n", 1, title="app.yaml")) is None


def test_table_counts_what_is_executed() -> None:
    tutorial = coverage.count("docs/tutorial.md")
    assert tutorial.commands == read("docs/tutorial.md").count("\n$ ")
    assert coverage.table().splitlines()[-1].startswith("all pages")
