#!/usr/bin/env python3
"""Build what the image adds to its base: the operator and its locked requirements in one directory, and lists of them.

    python3 tools/image_root.py build/image        (`make image-root`; the Containerfile runs the same)

    opt/edgekeeper/          packages, for PYTHONPATH
    opt/edgekeeper.sbom.json the distributions with versions and licences (CycloneDX)
    opt/LICENSES.txt         the licences of all of them, in full

Requirements are installed as wheels whose hashes requirements/runtime.txt has, and nothing else is downloaded except what builds the
two distributions of ours (requirements/build.txt). Timestamps are those of SOURCE_DATE_EPOCH and bytecode is checked by hash, so the
same sources give the same directory. Only the standard library is used.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = (ROOT, ROOT / "packages/kubecel")
"""The local kit is not among them."""
PACKAGES = Path("opt/edgekeeper")
SBOM = Path("opt/edgekeeper.sbom.json")
LICENCES = Path("opt/LICENSES.txt")
EPOCH = "315532800"
"""1980-01-01, the oldest time that an archive can have."""
AWS_SERVICES = frozenset(
    {"acm", "apigateway", "apigatewayv2", "cloudfront", "lambda", "route53", "sso", "sso-oidc", "sts"}
)
"""The services whose descriptions botocore needs here; it brings four hundred."""


def build(target: Path) -> None:
    """Build the directory from nothing."""
    shutil.rmtree(target, ignore_errors=True)
    packages = target / PACKAGES
    packages.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        wheels = build_wheels(Path(scratch))
        pip("--require-hashes", f"--target={packages}", "-r", str(ROOT / "requirements/runtime.txt"))
        pip("--no-index", f"--target={packages}", "--upgrade", *map(str, wheels))
    prune(packages)
    described = list(distributions(packages))
    (target / SBOM).write_text(json.dumps(sbom(described), indent=2) + "\n")
    (target / LICENCES).write_text(licences(described))
    shutil.copy(ROOT / "LICENSE", target / "opt/LICENSE")
    compile_all(packages)
    set_times(target)


def pip(*arguments: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--no-compile",
    ]
    subprocess.run(
        [*command, "--disable-pip-version-check", "--root-user-action=ignore", *arguments], check=True
    )


def build_wheels(scratch: Path) -> list[Path]:
    """Build our distributions with the locked build tools, in an environment of their own."""
    tools, wheels = scratch / "tools", scratch / "wheels"
    pip("--require-hashes", f"--target={tools}", "-r", str(ROOT / "requirements/build.txt"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(tools),
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", EPOCH),
    }
    for project in PROJECTS:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
        subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True)
    return sorted(wheels.glob("*.whl"))


def prune(packages: Path) -> None:
    """Remove what is never loaded: scripts, tests, and descriptions of services of AWS that are not called."""
    shutil.rmtree(packages / "bin", ignore_errors=True)
    for service in (packages / "botocore/data").iterdir():
        if service.is_dir() and service.name not in AWS_SERVICES:
            shutil.rmtree(service)
    for path in packages.glob("*.dist-info"):
        for name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"):
            (path / name).unlink(missing_ok=True)


def compile_all(packages: Path) -> None:
    """Write bytecode: the file system is read-only later. By hash, since times are not those of the sources.

    A process of its own with a fixed seed: the order of constants depends on it.
    """
    places = ("-s", str(packages.parents[1]), "-p", "/")
    command = [
        sys.executable,
        "-m",
        "compileall",
        "-q",
        "-j",
        "1",
        "--invalidation-mode",
        "unchecked-hash",
        *places,
    ]
    subprocess.run([*command, str(packages)], env={**os.environ, "PYTHONHASHSEED": "0"}, check=True)


def set_times(target: Path) -> None:
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", EPOCH))
    for path in [target, *target.rglob("*")]:
        os.utime(path, (moment, moment), follow_symlinks=False)


# Lists


def distributions(packages: Path) -> Iterator[tuple[Message, Path]]:
    """The metadata of all distributions, by name, and where they are."""
    for path in sorted(packages.glob("*.dist-info"), key=lambda path: path.name.lower()):
        yield message_from_string((path / "METADATA").read_text(encoding="utf-8")), path


def licence_of(metadata: Message) -> str:
    """The licence as the metadata name it: an expression, a classifier, or a line of text."""
    expression = metadata["License-Expression"]
    if expression:
        return str(expression)
    classified = [
        value.rpartition(" :: ")[2]
        for value in metadata.get_all("Classifier") or ()
        if value.startswith("License :: ")
    ]
    told = str(metadata["License"] or "").strip().splitlines()
    return " or ".join(classified) or (told[0] if told else "unknown")


def sbom(described: list[tuple[Message, Path]]) -> dict[str, Any]:
    """A bill of materials in the format CycloneDX."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "edgekeeper"}},
        "components": [
            {
                "type": "library",
                "name": metadata["Name"],
                "version": metadata["Version"],
                "purl": f"pkg:pypi/{metadata['Name'].lower().replace('_', '-')}@{metadata['Version']}",
                "licenses": [{"license": {"name": licence_of(metadata)}}],
            }
            for metadata, _ in described
        ],
    }


def licences(described: list[tuple[Message, Path]]) -> str:
    """All licences, in full where the distributions bring them."""
    parts = []
    for metadata, path in described:
        head = f"{metadata['Name']} {metadata['Version']}: {licence_of(metadata)}"
        texts = [
            file.read_text(encoding="utf-8", errors="replace")
            for file in sorted(path.rglob("*"))
            if file.is_file() and any(word in file.name.upper() for word in ("LICEN", "COPYING", "NOTICE"))
        ]
        parts.append("\n".join([head, "=" * len(head), *texts]))
    return "\n\n".join(parts) + "\n"


def tree_digest(target: Path) -> str:
    """A digest of names, modes and contents of all files below a directory."""
    digest = hashlib.sha256()
    for path in sorted(target.rglob("*")):
        digest.update(f"{path.relative_to(target)}\0{path.stat().st_mode & 0o777:o}\0".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description="Build what the image adds to its base.")
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    build(options.target)
    size = sum(path.stat().st_size for path in options.target.rglob("*") if path.is_file())
    print(f"{options.target}: {size / 1e6:.0f} MB, sha256:{tree_digest(options.target)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
