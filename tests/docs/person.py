"""What a person has who follows a page: a checkout with its environment, programs, and a home of their own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from tests.conformance.servers import give_up
from tests.docs.page import ROOT
from tools.real_server import find

PROGRAMS: Final = ("kubectl", "curl", "jq")
_COMMANDS: Final = {
    "edgekeeper": "from edgekeeper.cli.main import main\nmain()",
    "kubectl-edge": "from edgekeeper.cli.plugin import main\nmain()",
}
"""What the distribution installs, with the code under test in place of an installed one."""
_AWS: Final = """
import json
import botocore, botocore.session

def value(text):
    pairs = [part.partition("=") for part in text.split(",")]
    return [{name: value for name, _, value in pairs}] if "=" in text else text

words = sys.argv[1:]
options = {"endpoint_url": words.pop(1)} if words[0] == "--endpoint-url" and words.pop(0) else {}
service, operation, *rest = words
client = botocore.session.get_session().create_client(service, **options)
names = {botocore.xform_name(name, "-"): name for name in client.meta.service_model.operation_names}
members = client.meta.service_model.operation_model(names[operation]).input_shape.members
flags = {"--" + botocore.xform_name(name, "-"): name for name in members}
given = {flags[flag]: value(text) for flag, text in zip(rest[::2], rest[1::2], strict=True)}
answer = getattr(client, operation.replace("-", "_"))(**given)
del answer["ResponseMetadata"]
print(json.dumps(answer, default=str, indent=4))
"""
"""A stand-in for the AWS CLI: the options of an operation, of the kinds that the pages use, and the answer as JSON."""


def checkout(folder: Path) -> None:
    """What pages use of a checkout: the examples and the chart, and the environment that `make venv` makes."""
    for name in ("examples", "charts", "deploy", "docs"):
        (folder / name).symlink_to(ROOT / name)
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, text in _COMMANDS.items():
        script(programs / name, text)


def script(path: Path, text: str) -> None:
    """Write a program that runs in this environment, whatever the caller's is."""
    here = [entry for entry in sys.path if entry]
    path.write_text(f"#!{sys.executable}\nimport sys\nsys.path[:0] = {here!r}\n{text}\n")
    path.chmod(0o755)


def program(name: str) -> Path:
    """Find a program that a page uses, or give up."""
    found = shutil.which(name)
    if found is None and name == "kubectl" and (built := find(os.environ)) is not None:
        return built / name
    if found is None:
        give_up(f"{name} is not installed")
    return Path(found)


def environment_of_a_person(folder: Path, *, stand_in: bool = False) -> dict[str, str]:
    """Nothing but programs and a home, in a folder that has a `checkout`. `stand_in`: in place of the AWS CLI in any case."""
    tools = folder / "tools"
    tools.mkdir()
    for name in PROGRAMS:
        (tools / name).symlink_to(program(name))
    if stand_in or shutil.which("aws") is None:
        script(tools / "aws", _AWS)
    path = os.pathsep.join((str(folder / ".venv" / "bin"), str(tools), os.environ["PATH"]))
    return {"PATH": path, "HOME": str(folder), "AWS_PAGER": ""}
