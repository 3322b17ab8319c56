"""What executes each block of code in the documentation, so that none is left out.

A block is a session's (its commands are run, its files are used by them), a manifest that an API server accepts, code that a
named test runs, or text that nobody would paste. Anything else is a block that nothing executes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import yaml

from tests.docs import cluster_sessions as clusters
from tests.docs.page import ROOT, Block, blocks, commands, read
from tests.docs.session import Session, without_comment
from tests.docs.sessions import IMPORT, SESSIONS, TUTORIAL

PAGES: Final = tuple(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
)
INSTALLATION: Final = "tests/conformance/test_installation_pages.py"
MIGRATION: Final = "tests/conformance/test_migration_pages.py"
FOLLOWED: Final[Mapping[str, Sequence[Session]]] = {
    "tests/docs/test_sessions.py::test_page_shows_what_happens": SESSIONS,
    "tests/docs/test_tutorial.py::test_tutorial_shows_what_happens": (TUTORIAL,),
    "tests/docs/test_import.py::test_import_page_shows_what_happens": (IMPORT,),
    f"{INSTALLATION}::test_page_about_installation_shows_what_happens": (clusters.INSTALL,),
    f"{INSTALLATION}::test_page_about_kustomize_shows_what_happens": (clusters.KUSTOMIZE,),
    f"{INSTALLATION}::test_page_about_upgrades_shows_what_happens": (clusters.UPGRADE,),
    f"{INSTALLATION}::test_page_about_the_status_page_shows_what_happens": (clusters.STATUS_PAGE,),
    f"{MIGRATION}::test_page_about_recovery_shows_what_happens": (clusters.RECOVERY,),
    f"{MIGRATION}::test_page_about_tenants_shows_what_happens": (clusters.FROM_TENANTS,),
    f"{MIGRATION}::test_page_about_zero_trust_shows_what_happens": (clusters.FROM_ZERO_TRUST,),
    f"{MIGRATION}::test_page_about_ack_bridge_shows_what_happens": (clusters.FROM_ACK_BRIDGE,),
    f"{MIGRATION}::test_page_about_kro_shows_what_happens": (clusters.FROM_KRO,),
}
"""Sessions, by the test that follows them."""


@dataclass(frozen=True)
class Named:
    """Blocks of a page that a test of their own runs."""

    page: str
    form: str
    test: str
    section: str = ""
    """The section that they are in, if not those of the whole page are meant."""

    def includes(self, page: str, block: Block) -> bool:
        return (page, block.form) == (self.page, self.form) and self.section in ("", block.section)


NAMED: Final = (
    Named(
        "docs/writing-a-kind.md",
        "python",
        "tests/unit/lifecycle/test_writing_a_kind.py::test_notice_is_hung_changed_and_taken_down",
    ),
    Named(
        "docs/runtime.md",
        "python",
        "tests/docs/test_code.py::test_reconciler_of_the_page_does_what_it_says",
        "A controller",
    ),
    Named(
        "docs/runtime.md",
        "python",
        "tests/docs/test_code.py::test_validator_of_the_page_refuses",
        "Admission webhooks",
    ),
    Named("docs/embedded-plane.md", "python", "tests/docs/test_code.py::test_server_of_the_page_answers"),
    Named(
        "docs/drift.md",
        "promql",
        "tests/docs/test_code.py::test_expression_of_a_page_names_metrics_that_exist",
    ),
    Named(
        "docs/metrics.md",
        "promql",
        "tests/docs/test_code.py::test_expression_of_a_page_names_metrics_that_exist",
    ),
    Named(
        "docs/metrics.md",
        "yaml",
        "tests/docs/test_code.py::test_values_of_the_page_are_those_of_the_chart",
        "Traces",
    ),
    Named(
        "docs/kinds/distribution-tenant.md",
        "yaml",
        "tests/docs/test_gitops_of_tenants.py::test_health_is_the_same_in_argo_cd_and_flux",
        "Argo CD and Flux",
    ),
    Named(
        "docs/platform-apis.md",
        "yaml",
        "tests/composition/test_platform_apis.py::test_examples_of_the_page_do_what_it_says",
        "Ship it",
    ),
    Named("docs/gitops.md", "yaml", "tests/unit/docs/test_gitops.py::test_every_file_of_the_page_is_tested"),
)

PASTED: Final = re.compile(
    r"^\s*(?:\$ |(?:edgekeeper|kubectl|helm|make|curl|aws|pip|python|export|\.venv/bin/\w+) )"
)
PLACEHOLDER: Final = re.compile(r"\b[A-Z]{2,}\b|[\[<…]")


class Means(StrEnum):
    """How a block is executed."""

    COMMANDS = "commands"
    FILE = "file"
    MANIFEST = "manifest"
    CODE = "code"
    TEXT = "text"


def sessions_of(page: str, block: Block) -> list[Session]:
    """The sessions that follow a block."""
    every = [session for sessions in FOLLOWED.values() for session in sessions]
    return [one for one in every if one.page == page and one.includes(block.section)]


def means_of(page: str, block: Block) -> Means | None:
    """What executes a block, or `None`."""
    if block.form == "text":
        return Means.TEXT if not any(map(_is_command, block.text.splitlines())) else None
    if any(named.includes(page, block) for named in NAMED):
        return Means.CODE
    if block.form == "console":
        return Means.COMMANDS if len(sessions_of(page, block)) == 1 else None
    if block.title:
        return Means.FILE if any(_uses(one, block.title) for one in sessions_of(page, block)) else None
    return Means.MANIFEST if block.form == "yaml" and is_manifest(block.text) else None


def is_manifest(text: str) -> bool:
    """Whether a block is whole objects, which an API server can check."""
    return all(
        isinstance(one, dict) and {"apiVersion", "kind", "metadata"} <= one.keys()
        for one in yaml.safe_load_all(text)
    )


def manifests() -> Iterator[tuple[str, Block]]:
    """The blocks that are manifests and belong to no session, with their pages."""
    for page in PAGES:
        for block in blocks(read(page)):
            if means_of(page, block) is Means.MANIFEST:
                yield page, block


def unexecuted(page: str) -> list[str]:
    """Where a page has blocks that nothing executes."""
    return [
        f"{page}:{block.line}: {block.form} {block.title}".rstrip()
        for block in blocks(read(page))
        if means_of(page, block) is None
    ]


@dataclass(frozen=True)
class Count:
    """How many examples of a page are executed, by what executes them."""

    page: str
    commands: int = 0
    replaced: int = 0
    """Of the commands, those in whose place a smaller one is run, such as a dry run of make."""
    elsewhere: int = 0
    """Further commands, which continuous integration runs."""
    files: int = 0
    manifests: int = 0
    code: int = 0

    @property
    def total(self) -> int:
        return self.commands + self.elsewhere + self.files + self.manifests + self.code


def count(page: str) -> Count:
    """The examples of a page that are executed."""
    found = [(means_of(page, block), block) for block in blocks(read(page))]
    number = {means: len([one for one, _ in found if one is means]) for means in Means}
    ran, replaced, elsewhere = 0, 0, 0
    for means, block in found:
        if means is not Means.COMMANDS:
            continue
        (session,) = sessions_of(page, block)
        typed = [one.command for one in commands(block)]
        elsewhere += len([one for one in typed if session.is_elsewhere(one)])
        replaced += len([one for one in typed if without_comment(one) in session.replaced])
        ran += len([one for one in typed if not session.is_elsewhere(one)])
    return Count(
        page, ran, replaced, elsewhere, number[Means.FILE], number[Means.MANIFEST], number[Means.CODE]
    )


def table() -> str:
    """The pages with the number of executed examples, and the total."""
    counts = [one for one in map(count, PAGES) if one.total]
    columns = ("commands", "replaced", "elsewhere", "files", "manifests", "code", "total")
    rows = [(one.page, *(getattr(one, name) for name in columns)) for one in counts]
    total = ("all pages", *(sum(getattr(one, name) for one in counts) for name in columns))
    widths = [44, *(len(name) + 2 for name in columns)]
    lines = [("page", *columns), *rows, total]
    return "\n".join(
        "".join(
            str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def _is_command(line: str) -> bool:
    """Whether a reader would paste a line: it begins with a program, and stands for nothing but itself."""
    return PASTED.match(line) is not None and (line.lstrip().startswith("$ ") or not PLACEHOLDER.search(line))


def _uses(session: Session, file: str) -> bool:
    """Whether a command names the file, or the folder of a kustomization."""
    file = file.removesuffix("/kustomization.yaml")
    return any(
        re.search(rf"(?<![\w.-]){re.escape(file)}(?![\w.-])", one.command) for one in session.commands()
    )


def is_test(test: str) -> bool:
    """Whether there is a test of this name, as pytest writes it."""
    file, _, name = test.partition("::")
    path = Path(ROOT, file)
    return (
        path.is_file() and re.search(rf"^(?:async )?def {name}\(", path.read_text(), re.MULTILINE) is not None
    )
