"""What is published: the operator without its test bed, and what it can do alone."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
import yaml

from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.simulated import DISTRIBUTION
from edgekeeper.core.json import JsonObject
from tests.package.wheels import PROJECTS, Interpreter, Wheel, interpreter
from tests.unit.cli.test_run import SHOP, world
from tests.unit.cli.test_validate import WEB_APP

EDGEKEEPER = "edgekeeper.cli.main:main"
AWS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "eu-west-1"}


@pytest.mark.parametrize("project", PROJECTS)
def test_wheel_has_its_own_package_and_nothing_else(wheels: dict[str, Wheel], project: str) -> None:
    roots = {name.partition("/")[0] for name in wheels[project].names}
    assert roots == {project, f"{project}-0.1.0.dist-info"}
    assert f"{project}/py.typed" in wheels[project].names
    assert f"{project}-0.1.0.dist-info/licenses/LICENSE" in wheels[project].names


def test_operator_requires_the_test_bed_only_for_the_extra(wheels: dict[str, Wheel]) -> None:
    required = re.findall(
        r"^Requires-Dist: (kube\w+)[^;\n]*(.*)$", wheels["edgekeeper"].metadata, re.MULTILINE
    )
    assert required == [("kubecel", ""), ("kubesim", "; extra == 'local'")]


def test_operator_hides_what_is_not_installed_with_it(operator: Interpreter) -> None:
    """The proof that the others prove something."""
    assert {"kubesim", "pytest", "hypothesis", "boto3"} <= operator.hidden
    assert not {"edgekeeper", "kubecel", "aiohttp", "msgspec", "click"} & operator.hidden
    found = operator.run("kubesim.virtual:run_virtual")
    assert found.stderr.endswith("ModuleNotFoundError: No module named 'kubesim'\n")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--help"], "Run it in a cluster"),
        (["run", "--help"], "--leader-elect"),
        (["plan", "--help"], "--filename"),
        (["crds"], "kind: CustomResourceDefinition"),
        (["cel", "1 + 1"], "value  2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_operator_works_with_its_locked_requirements_alone(
    operator: Interpreter, arguments: list[str], shown: str
) -> None:
    found = operator.run(EDGEKEEPER, *arguments)
    assert (found.returncode, found.stderr) == (ExitCode.OK, "")
    assert shown in found.stdout


@pytest.mark.parametrize("arguments", [["up"], ["up", "--help"]], ids=" ".join)
def test_up_without_the_local_kit_says_what_to_install(operator: Interpreter, arguments: list[str]) -> None:
    found = operator.run(EDGEKEEPER, *arguments)
    assert found.returncode == ExitCode.USAGE
    assert found.stdout == ""
    assert found.stderr == (
        "edgekeeper: error: 'edgekeeper up' needs the package kubesim, which is not installed; "
        "pip install 'edgekeeper[local]'\n"
    )


async def plan(operator: Interpreter, directory: Path, obj: JsonObject) -> tuple[int | None, str, str]:
    """Plan for a manifest against a cluster and a cloud that listen in this process."""
    manifest = directory / "shop.yaml"
    manifest.write_text(yaml.safe_dump(obj))
    async with world(directory) as here:
        planning = await asyncio.create_subprocess_exec(
            *operator.command(EDGEKEEPER, "plan", *here.options, "-f", str(manifest)),
            stdout=PIPE,
            stderr=PIPE,
            env={**operator.environment, **AWS},
        )
        shown, complaints = await planning.communicate()
    return planning.returncode, shown.decode(), complaints.decode()


async def test_plan_works_without_the_local_kit(operator: Interpreter, tmp_path: Path) -> None:
    code, shown, complaints = await plan(operator, tmp_path, SHOP)
    assert (code, complaints) == (ExitCode.CHANGES, "")
    assert "DistributionTenant default/shop: to be changed" in shown


async def test_plan_evaluates_rules_without_the_local_kit(operator: Interpreter, tmp_path: Path) -> None:
    twice = {"distributionId": DISTRIBUTION, "domains": [{"domain": "shop.example.com"}] * 2}
    code, shown, _ = await plan(operator, tmp_path, {**SHOP, "spec": twice})
    assert code == ExitCode.FAILED
    assert "no two domains may be the same" in shown


def test_definitions_are_validated_without_the_local_kit(operator: Interpreter, tmp_path: Path) -> None:
    """Built-in kinds are dynamic then, and a warning says so."""
    definition = tmp_path / "webapp.yaml"
    definition.write_text(WEB_APP)
    found = operator.run(EDGEKEEPER, "validate", str(definition))
    assert (found.returncode, found.stderr) == (ExitCode.OK, "")
    assert "webapp: valid (deployment → service → ingress)" in found.stdout
    assert "no schema of apps/v1 Deployment is known" in found.stdout


def test_local_kit_gives_pytest_its_fixture(wheels: dict[str, Wheel], tmp_path: Path) -> None:
    """By its entry point, as where it is installed."""
    here = interpreter(list(wheels.values()), tmp_path / "site", "dev.txt")
    test = tmp_path / "test_one.py"
    test.write_text("def test_one(kube_api_server):\n    assert kube_api_server.kubeconfig.exists()\n")
    options = ("-q", "-W", "error", "-p", "no:asyncio", "-p", "no:cacheprovider", f"--rootdir={tmp_path}")
    found = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-c", os.devnull, str(test)],
        cwd=tmp_path,
        env=here.environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert "1 passed" in found.stdout
