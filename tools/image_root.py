#!/usr/bin/env python3
"""Build what the image adds to its base: the operator and its locked requirements in one directory, and lists of them.

    python3 tools/image_root.py build/image        (`make image-root`; the Containerfile runs the same)

    opt/edgekeeper/          packages, for PYTHONPATH
    opt/edgekeeper.sbom.json the distributions with versions and licences (CycloneDX)
    opt/LICENSES.txt         the licences of all of them, in full

Requirements are installed as wheels whose hashes requirements/runtime.txt has (or the lock file of --requirements, which adds an extra),
and nothing else is downloaded except what builds the two distributions of ours (requirements/build.txt). A requirement without a version
or a hash is an error, and so is a list that does not name all that is installed. Timestamps are those of SOURCE_DATE_EPOCH and bytecode is checked by hash, so the
same sources give the same directory. Only the standard library is used.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
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
RUNTIME = ROOT / "requirements/runtime.txt"
OURS = frozenset({"edgekeeper", "kubecel"})
_PINNED = re.compile(r"([A-Za-z0-9][\w.-]*)==([^\s;]+)")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


class SupplyError(Exception):
    """Something would be in the image that nobody has pinned, or that its lists do not name. The message says what."""


def build(target: Path, requirements: Path = RUNTIME) -> None:
    """Build the directory from nothing. Raise SupplyError, or CalledProcessError if pip refuses a requirement."""
    shutil.rmtree(target, ignore_errors=True)
    packages = target / PACKAGES
    packages.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        wheels = build_wheels(Path(scratch))
        install(requirements, packages)
        pip("--no-index", f"--target={packages}", "--upgrade", *map(str, wheels))
    prune(packages)
    described = list(distributions(packages))
    (target / SBOM).write_text(json.dumps(sbom(described), indent=2) + "\n")
    (target / LICENCES).write_text(licences(described))
    check_lists(target, requirements)
    shutil.copy(ROOT / "LICENSE", target / "opt/LICENSE")
    compile_all(packages)
    set_times(target)


def install(requirements: Path, packages: Path) -> None:
    """Install exactly what a lock file pins. Raise SupplyError, or CalledProcessError if a hash differs."""
    pinned(requirements)
    pip("--require-hashes", f"--target={packages}", "-r", str(requirements))


def pinned(requirements: Path) -> dict[str, str]:
    """The versions of a lock file, by canonical name. Raise SupplyError for what has no exact version or no hash."""
    found: dict[str, str] = {}
    text = requirements.read_text().replace("\\\n", " ")
    for line in (line.strip() for line in text.splitlines()):
        if not line or line.startswith("#"):
            continue
        match = _PINNED.match(line)
        if match is None or "*" in match[2]:
            raise SupplyError(
                f"{requirements.name}: not pinned to a version: {line.split()[0]}; run `make lock`"
            )
        if _HASH.search(line) is None:
            raise SupplyError(f"{requirements.name}: {match[0]} has no hash; run `make lock`")
        found[canonical(match[1])] = match[2]
    return found


def check_lists(target: Path, requirements: Path = RUNTIME) -> None:
    """Raise SupplyError if the lists are missing, or do not name exactly what is installed and pinned."""
    for path in (SBOM, LICENCES):
        if not (target / path).is_file():
            raise SupplyError(f"{path.name} is missing")
    listed = {canonical(each["name"]) for each in json.loads((target / SBOM).read_text())["components"]}
    installed = {canonical(metadata["Name"]) for metadata, _ in distributions(target / PACKAGES)}
    if listed != installed:
        raise SupplyError(
            f"{SBOM.name} differs from what is installed: {', '.join(sorted(listed ^ installed))}"
        )
    if unknown := installed - pinned(requirements).keys() - OURS:
        raise SupplyError(f"installed, but not in {requirements.name}: {', '.join(sorted(unknown))}")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


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
    install(ROOT / "requirements/build.txt", tools)
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
                "purl": f"pkg:pypi/{canonical(metadata['Name'])}@{metadata['Version']}",
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
    parser.add_argument("--requirements", type=Path, default=RUNTIME, help="the lock file")
    options = parser.parse_args()
    try:
        build(options.target, options.requirements.resolve())
    except SupplyError as error:
        print(f"image: {error}", file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in options.target.rglob("*") if path.is_file())
    print(f"{options.target}: {size / 1e6:.0f} MB, sha256:{tree_digest(options.target)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
