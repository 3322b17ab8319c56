"""`make demo` on a terminal of 80 columns: when the story is told, what it prints for people to paste is pasted."""

from __future__ import annotations

import json
import re
import shlex
import signal
from pathlib import Path

from edgekeeper.cli.failure import ExitCode
from tests.docs.page import ROOT
from tests.docs.person import environment_of_a_person
from tests.docs.terminal import Terminal
from tests.unit.cli.test_up_commands import COLUMNS, pasted, up_on_a_terminal

HASTE = ("--deploy-time", "100ms", "--progress-interval", "1s")


def options_of_the_demo() -> list[str]:
    """What `make demo` gives to `edgekeeper up`, on a terminal."""
    (line,) = re.findall(
        r"edgekeeper up (--apply .* --story) \$\$wait$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    return shlex.split(line)


def test_commands_of_the_demo_work_when_pasted(folder: Path) -> None:
    environment = environment_of_a_person(folder)
    options = [str(ROOT / one) if one.startswith("examples/") else one for one in options_of_the_demo()]
    with up_on_a_terminal(*options, *HASTE, home=folder) as (process, shown):
        lines = pasted(shown)
        assert max(map(len, lines)) < COLUMNS - 2
        with Terminal(folder, environment) as terminal:
            results = [terminal.run(line) for line in lines]
        process.send_signal(signal.SIGINT)
        assert process.wait() == ExitCode.OK
    assert [code for code, _ in results] == [0] * len(lines), results
    printed = dict(zip([line.split()[0] for line in lines], [text for _, text in results], strict=False))
    assert "distributiontenant.cloudfront-tenant-operator.io/shop" in printed["kubectl"]
    assert {one["Name"] for one in json.loads(printed["aws"])["DistributionTenantList"]} == {"docs", "shop"}
