"""Compile the hashed requirement files, and check offline that they still belong to their inputs.

    python tools/lock.py            compile requirements/*.txt with uv          (`make lock`)
    python tools/lock.py --check    fail when an input changed since then       (`make check`)

`runtime` is what the operator declares; `local` and `otel` add an extra each; all with what the packages of this repository
declare that they need, but without those themselves. `dev` adds requirements/dev.in; `build`, which installs the
checkout, and `docs` are their `.in` files alone. Each lock file carries a digest of exactly the declarations that it was
compiled from, so the check needs neither a network nor a resolver, and an edit elsewhere in a pyproject.toml does not
outdate a lock.

Lock files name versions and hashes, never a place to download from: where packages come from is the business of
whoever installs them.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPERATOR = "pyproject.toml"
KUBECEL = "packages/kubecel/pyproject.toml"
KUBESIM = "packages/kubesim/pyproject.toml"
OURS = ("edgekeeper", "kubecel", "kubesim")
DIGEST_PREFIX = "# inputs: sha256:"
COMPILE = (
    *("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-header", "--no-emit-index-url", "--no-emit-find-links"),
    *(f"--no-emit-package={name}" for name in OURS),
)


@dataclass(frozen=True)
class Lock:
    """One lock file: the projects with their extras, and the `.in` file, that go into it."""

    name: str
    projects: tuple[str, ...] = ()
    """The operator's first, which needs the others; the resolver finds them through it."""
    extras: tuple[str, ...] = ()
    additions: str | None = None
    agrees_with: str | None = None
    """The lock whose versions this one repeats, so that tests run what users install."""

    @property
    def path(self) -> Path:
        return ROOT / "requirements" / f"{self.name}.txt"

    @property
    def sources(self) -> list[str]:
        return [*self.projects, *([self.additions] if self.additions else [])]


LOCKS = (
    Lock("runtime", (OPERATOR, KUBECEL)),
    Lock("local", (OPERATOR, KUBECEL, KUBESIM), extras=("local",), agrees_with="requirements/runtime.txt"),
    Lock("otel", (OPERATOR, KUBECEL), extras=("otel",), agrees_with="requirements/runtime.txt"),
    Lock(
        "dev",
        (OPERATOR, KUBECEL, KUBESIM),
        extras=("local", "otel"),
        additions="requirements/dev.in",
        agrees_with="requirements/local.txt",
    ),
    Lock("build", additions="requirements/build.in", agrees_with="requirements/dev.txt"),
    Lock("docs", additions="requirements/docs.in"),
)


def declared(lock: Lock) -> list[str]:
    """The requirements that `lock` resolves, as written, without comments and order."""
    requirements: set[str] = set()
    for path in lock.projects:
        project = tomllib.loads((ROOT / path).read_text())["project"]
        requirements |= {*project["dependencies"], f"python{project['requires-python']}"}
        for extra in lock.extras:
            requirements |= set(project.get("optional-dependencies", {}).get(extra, ()))
    if lock.additions:
        lines = (line.split("#")[0].strip() for line in (ROOT / lock.additions).read_text().splitlines())
        requirements |= {line for line in lines if line}
    return sorted(requirements)


def digest(lock: Lock) -> str:
    return hashlib.sha256(json.dumps(declared(lock)).encode()).hexdigest()


def compile_lock(lock: Lock) -> None:
    """Resolve anew, keeping the versions that the present lock file has unless `--upgrade` is given."""
    command = [*COMPILE, "--custom-compile-command", "make lock", "-o", str(lock.path.relative_to(ROOT))]
    command += [f"--extra={extra}" for extra in lock.extras]
    command += ["-c", lock.agrees_with] if lock.agrees_with else []
    command += ["--upgrade"] if "--upgrade" in sys.argv else []
    named = [*lock.projects[:1], *([lock.additions] if lock.additions else [])]
    subprocess.run([*command, *named], cwd=ROOT, check=True)
    inputs = " and ".join(lock.sources)
    header = f"# Compiled from {inputs} by `make lock`; do not edit.\n{DIGEST_PREFIX}{digest(lock)}\n"
    lock.path.write_text(header + lock.path.read_text())


def complaint(lock: Lock) -> str | None:
    """Say what is wrong with a lock file, or nothing."""
    where = lock.path.relative_to(ROOT)
    if not lock.path.exists():
        return f"{where} is missing"
    text = lock.path.read_text()
    if f"{DIGEST_PREFIX}{digest(lock)}\n" not in text:
        return f"{where} was compiled from other requirements than {' and '.join(lock.sources)} has now"
    if "://" in text:
        return f"{where} names an address to download from"
    return None


def main() -> int:
    if "--check" not in sys.argv:
        for lock in LOCKS:
            compile_lock(lock)
        return 0
    complaints = [text for lock in LOCKS if (text := complaint(lock))]
    for text in complaints:
        print(f"{text}; run `make lock`", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
