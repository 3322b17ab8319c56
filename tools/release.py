"""Make everything of a release except publishing it, into dist/ (`make release`).

    edgekeeper-*.whl, *.tar.gz, also of kubecel and kubesim       built twice; different hashes are an error
    edgekeeper-*.tgz                                              the chart, where there is helm
    edgekeeper.sbom.json, LICENSES.txt                            of the image, whose root is built twice as well
    CHECKSUMS                                                     SHA-256 of all of them

`--scan` only looks for known vulnerabilities of the locked requirements with pip-audit. Its database is asked over the network; where
it cannot be reached that is said, and is no error of the release.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import helm, image_root  # noqa: E402 - from the checkout

DIST = ROOT / "dist"
PROJECTS = (ROOT, ROOT / "packages/kubecel", ROOT / "packages/kubesim")
AUDIT = "pip-audit==2.9.0"
UNREACHABLE = re.compile(
    r"ConnectionError|NameResolution|Max retries|timed out|error sending request|dns error", re.IGNORECASE
)


class ReleaseError(Exception):
    """Something is not fit to be released. The message says what."""


def version() -> str:
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return found


def check_changelog() -> None:
    """A release has a section of its own in the changelog."""
    if f"## [{version()}]" not in (ROOT / "CHANGELOG.md").read_text():
        raise ReleaseError(
            f"CHANGELOG.md has no section [{version()}]: give that name to what is under [Unreleased]"
        )


def build_distributions(target: Path) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": image_root.EPOCH}
    for project in PROJECTS:
        command = [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "-t",
            "sdist",
            "-t",
            "wheel",
            "-d",
            str(target),
        ]
        subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True)


def digests(directory: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.iterdir())
        if path.is_file()
    }


def compare(what: str, first: object, second: object) -> None:
    if first != second:
        raise ReleaseError(f"{what} differ when they are built twice: {first} and {second}")
    print(f"{what}: built twice, equal", flush=True)


def make_distributions(scratch: Path) -> None:
    build_distributions(DIST)
    build_distributions(scratch / "again")
    compare("wheels and sdists", digests(DIST), digests(scratch / "again"))


def make_image_root(scratch: Path) -> None:
    roots = scratch / "image-1", scratch / "image-2"
    for root in roots:
        image_root.build(root)
    compare("image roots", *map(image_root.tree_digest, roots))
    shutil.copy(roots[0] / image_root.SBOM, DIST / image_root.SBOM.name)
    shutil.copy(roots[0] / image_root.LICENCES, DIST / image_root.LICENCES.name)


def make_chart() -> None:
    program = helm.find(os.environ)
    if program is None:
        print("chart: not packaged, since there is no helm (tools/helm.py)", flush=True)
        return
    command = [str(program), "package", str(ROOT / "charts/edgekeeper"), f"--destination={DIST}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def scan() -> None:
    """Look for known vulnerabilities. Raise ReleaseError if there are any."""
    requirements = ROOT / "requirements/runtime.txt"
    command = [
        "uv",
        "tool",
        "run",
        AUDIT,
        "--requirement",
        str(requirements),
        "--require-hashes",
        "--disable-pip",
    ]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=300
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        print(f"vulnerabilities: NOT SCANNED: {error}", flush=True)
        return
    if done.returncode == 0:
        print("vulnerabilities: none known", flush=True)
    elif UNREACHABLE.search(done.stderr):
        print(
            f"vulnerabilities: NOT SCANNED, the database cannot be reached: {done.stderr[-300:].strip()}",
            flush=True,
        )
    else:
        raise ReleaseError(f"known vulnerabilities, or no scan:\n{done.stdout}{done.stderr}")


def release() -> None:
    check_changelog()
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        make_distributions(Path(scratch))
        make_image_root(Path(scratch))
    make_chart()
    scan()
    lines = [f"{digest}  {name}" for name, digest in digests(DIST).items()]
    (DIST / "CHECKSUMS").write_text("\n".join(lines) + "\n")
    print(f"dist/ has {len(lines)} files; nothing was published", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make everything of a release except publishing it.")
    parser.add_argument("--scan", action="store_true", help="only look for known vulnerabilities")
    options = parser.parse_args()
    try:
        scan() if options.scan else release()
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
