"""Make everything of a release except publishing it, into dist/ (`make release`).

    edgekeeper-*.whl, *.tar.gz, also of kubecel and kubesim       built twice; different hashes are an error
    edgekeeper-*.tgz                                              the chart, where there is helm
    edgekeeper.sbom.json, LICENSES.txt                            of the image, whose root is built twice as well
    NOTES.md                                                      the section of the changelog
    CHECKSUMS                                                     SHA-256 of all of them

Without `--final` it is a rehearsal: the notes are those of [Unreleased] as long as the version has no section of its own.
`--final` is for what is published: the changelog must have a dated section of the version and nothing under [Unreleased], and
everything must be committed.

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
NOTES = "NOTES.md"
NAMES = ("edgekeeper", "kubecel", "kubesim")
PROJECTS = (ROOT, ROOT / "packages/kubecel", ROOT / "packages/kubesim")
_PROJECT_FILES = tuple(project / "pyproject.toml" for project in PROJECTS)
UNRELEASED = "Unreleased"
_SECTION = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""Name, date and text of a section of the changelog."""
AUDIT = "pip-audit==2.9.0"
UNREACHABLE = re.compile(
    r"ConnectionError|NameResolution|Max retries|timed out|error sending request|dns error", re.IGNORECASE
)


class ReleaseError(Exception):
    """Something is not fit to be released. The message says what."""


def version() -> str:
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return found


def check_versions() -> None:
    """Raise ReleaseError if a file of the repository names another version."""
    chart = (ROOT / "charts/edgekeeper/Chart.yaml").read_text()
    found = {
        **{str(path.relative_to(ROOT)): _project(path)["version"] for path in _PROJECT_FILES},
        "src/edgekeeper/__init__.py": _matched(r'__version__ = "(.+)"', ROOT / "src/edgekeeper/__init__.py"),
        "version of Chart.yaml": _searched(r"^version: (.+)$", chart),
        "appVersion of Chart.yaml": _searched(r"^appVersion: (.+)$", chart),
        "the extra local of pyproject.toml": _searched(
            r'"kubesim==(.+)"', (ROOT / "pyproject.toml").read_text()
        ),
    }
    if wrong := {where: other for where, other in found.items() if other != version()}:
        raise ReleaseError(f"the version is {version()}, but not everywhere: {wrong}")


def _project(path: Path) -> dict[str, str]:
    found: dict[str, str] = tomllib.loads(path.read_text())["project"]
    return found


def _matched(pattern: str, path: Path) -> str:
    return _searched(pattern, path.read_text())


def _searched(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""


def notes(changelog: str, *, final: bool = False) -> str:
    """What the changelog says about this version. Raise ReleaseError if it says nothing, or not as `final` asks."""
    sections = {name: text.strip() for name, _, text in _SECTION.findall(changelog)}
    dated = {name: date for name, date, _ in _SECTION.findall(changelog)}
    if final and not sections.get(version()):
        raise ReleaseError(
            f"CHANGELOG.md has no section [{version()}]: give that name to what is under [Unreleased]"
        )
    if final and not dated[version()]:
        raise ReleaseError(f"CHANGELOG.md: [{version()}] has no date: write `## [{version()}] - YYYY-MM-DD`")
    if final and sections.get(UNRELEASED):
        raise ReleaseError(f"CHANGELOG.md has entries under [{UNRELEASED}]: move them to [{version()}]")
    found: str = sections.get(version()) or sections.get(UNRELEASED) or ""
    if not found:
        raise ReleaseError(f"CHANGELOG.md says nothing under [{version()}] or [{UNRELEASED}]")
    return found


def check_committed() -> None:
    """Raise ReleaseError if a file differs from the last commit: nobody could build the same again."""
    command = ["git", "status", "--porcelain"]
    changed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    if changed:
        raise ReleaseError(f"not everything is committed:\n{changed.rstrip()}")


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
    first, again = scratch / "first", scratch / "again"
    build_distributions(first)
    build_distributions(again)
    compare("wheels and sdists", digests(first), digests(again))
    for path in sorted(first.iterdir()):
        shutil.copy(path, DIST)


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


def check_complete() -> None:
    """Raise ReleaseError if a part of the release is missing."""
    patterns = [
        *(f"{project}-{version()}{suffix}" for project in NAMES for suffix in ("-*.whl", ".tar.gz")),
        image_root.SBOM.name,
        image_root.LICENCES.name,
        NOTES,
    ]
    if missing := [pattern for pattern in patterns if not list(DIST.glob(pattern))]:
        raise ReleaseError(f"dist/ lacks {', '.join(missing)}")


def release(*, final: bool = False) -> None:
    check_versions()
    text = notes((ROOT / "CHANGELOG.md").read_text(), final=final)
    if final:
        check_committed()
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    (DIST / NOTES).write_text(f"# edgekeeper {version()}\n\n{text}\n")
    with tempfile.TemporaryDirectory() as scratch:
        make_distributions(Path(scratch))
        make_image_root(Path(scratch))
    make_chart()
    scan()
    check_complete()
    lines = [f"{digest}  {name}" for name, digest in digests(DIST).items()]
    (DIST / "CHECKSUMS").write_text("\n".join(lines) + "\n")
    kind = "release" if final else "rehearsal of the release"
    print(f"dist/ has {len(lines)} files, a {kind} {version()}; nothing was published", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make everything of a release except publishing it.")
    parser.add_argument("--scan", action="store_true", help="only look for known vulnerabilities")
    parser.add_argument("--final", action="store_true", help="what is going to be published")
    options = parser.parse_args()
    try:
        scan() if options.scan else release(final=options.final)
    except (ReleaseError, image_root.SupplyError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
