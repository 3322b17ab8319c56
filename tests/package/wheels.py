"""The distributions of this repository, built as they are published, and interpreters that have nothing else.

Such an interpreter finds the wheels, the standard library and what a lock file pins. Everything that is installed
beside it here (test tools, the local kit from the checkout) is refused as if it were missing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = {"edgekeeper": ROOT, "kubecel": ROOT / "packages/kubecel", "kubesim": ROOT / "packages/kubesim"}
_RESTRICTED = Path(__file__).with_name("restricted.py")
_PINNED = re.compile(r"^([\w.-]+)==", re.MULTILINE)


@dataclass(frozen=True)
class Wheel:
    """A built distribution, unpacked."""

    path: Path

    @cached_property
    def names(self) -> list[str]:
        with ZipFile(self.path) as archive:
            return archive.namelist()

    @cached_property
    def metadata(self) -> str:
        (name,) = [name for name in self.names if name.endswith(".dist-info/METADATA")]
        with ZipFile(self.path) as archive:
            return archive.read(name).decode()

    def unpack(self, directory: Path) -> Path:
        with ZipFile(self.path) as archive:
            archive.extractall(directory)
        return directory


def build(project: str, directory: Path) -> Wheel:
    """Build the wheel of a project; nothing is downloaded."""
    target = directory / project
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(command, cwd=PROJECTS[project], check=True, capture_output=True)
    (path,) = target.glob("*.whl")
    return Wheel(path)


@dataclass(frozen=True)
class Interpreter:
    """Python with some wheels, and the packages of a lock file."""

    site: Path
    lock: str

    @cached_property
    def hidden(self) -> frozenset[str]:
        """Import packages that are installed here, but would not be there."""
        pinned = {
            _canonical(name) for name in _PINNED.findall((ROOT / "requirements" / self.lock).read_text())
        }
        present = {path.stem for path in self.site.iterdir()}
        return frozenset(
            package
            for package, owners in packages_distributions().items()
            if package not in present and not pinned & {_canonical(owner) for owner in owners}
        ) | (PROJECTS.keys() - present)

    def command(self, program: str, *arguments: str) -> list[str]:
        """What runs `program` (module:function) with a command line."""
        hidden = json.dumps(sorted(self.hidden))
        return [sys.executable, str(_RESTRICTED), hidden, program, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.site)}

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(program, *arguments),
            check=False,
            env=self.environment,
            capture_output=True,
            text=True,
        )


def interpreter(wheels: Sequence[Wheel], directory: Path, lock: str) -> Interpreter:
    directory.mkdir()
    for wheel in wheels:
        wheel.unpack(directory)
    return Interpreter(directory, lock)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
