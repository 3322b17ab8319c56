#!/usr/bin/env python3
"""Obtain a real Kubernetes API server: the truth that the embedded one is compared with.

The conformance suite needs four programs of one release: kube-apiserver, kube-controller-manager (garbage
collection and namespace deletion live there), kubectl, and etcd below them. They come, in this order,

1. from the directory `KUBEBUILDER_ASSETS` names, when all four are in it;
2. from the cache, `${EDGEKEEPER_CACHE:-${XDG_CACHE_HOME:-~/.cache}/edgekeeper}/kubernetes-<version>/`;
3. from source, built once with Go through whatever module proxy Go is set up to use, into that cache.

Kubernetes' own go.mod replaces its staging modules (`k8s.io/api` and some thirty others) by directories that the
published module does not contain. So the build happens in a throw-away module which replaces each of them by its
published version instead; the list is read from that very go.mod, never written down here.

Only the standard library is used: the tool runs before any virtual environment exists. Progress goes to standard
error, the directory found to standard output (`--print-path`). Exit codes: 0 found, 1 the build failed,
3 nothing there and no way to build it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

KUBERNETES_VERSION = "v1.36.3"
ETCD_VERSION = "v3.6.16"

KUBERNETES = "k8s.io/kubernetes"
ETCD = "go.etcd.io/etcd/server/v3"
KUBERNETES_PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kubectl")
PROGRAMS = (*KUBERNETES_PROGRAMS, "etcd")

VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
"""Where Kubernetes keeps the version its programs report; without a stamp they call themselves v0.0.0."""

FAILED = 1
UNOBTAINABLE = 3


class UnobtainableError(Exception):
    """The programs are not there and cannot be built on this machine."""


class BuildError(Exception):
    """Go is there, and the build did not succeed."""


def is_complete(directory: Path) -> bool:
    return all(os.access(directory / program, os.X_OK) for program in PROGRAMS)


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Return where built programs of this release are kept, outside any checkout."""
    user_cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = Path(environment.get("EDGEKEEPER_CACHE") or user_cache / "edgekeeper")
    return root.expanduser() / f"kubernetes-{KUBERNETES_VERSION}"


def find(environment: Mapping[str, str]) -> Path | None:
    """Return a directory that holds all programs already, or `None`."""
    assets = environment.get("KUBEBUILDER_ASSETS")
    if assets and is_complete(Path(assets)):
        return Path(assets)
    if assets:
        say(f"KUBEBUILDER_ASSETS={assets} lacks some of {', '.join(PROGRAMS)}; looking elsewhere")
    cached = cache_directory(environment)
    return cached if is_complete(cached) else None


def obtain(environment: Mapping[str, str]) -> Path:
    """Return a directory that holds all programs, building them when there is none."""
    found = find(environment)
    if found is not None:
        return found
    if shutil.which("go") is None:
        raise UnobtainableError(
            "no real API server: Go is not installed and none is cached "
            f"(install Go, or set KUBEBUILDER_ASSETS to a directory with {', '.join(PROGRAMS)})"
        )
    target = cache_directory(environment)
    target.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(target.with_name(f"{target.name}.lock")):
        if not is_complete(target):  # another process may have built it while this one waited
            build_into(target)
    return target


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock that the kernel drops should this process die."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is building the same programs; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_into(target: Path) -> None:
    """Build all programs beside `target` and rename them into place, so that a half-built set is never seen."""
    say(
        f"building Kubernetes {KUBERNETES_VERSION} and etcd {ETCD_VERSION} into {target} (once, about 10 minutes)"
    )
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"{target.name}.", dir=target.parent) as scratch:
        binaries = Path(scratch, "bin")
        binaries.mkdir()
        build_kubernetes(Path(scratch, "kubernetes"), binaries)
        build_etcd(Path(scratch, "etcd"), binaries)
        shutil.rmtree(target, ignore_errors=True)
        binaries.rename(target)
    say(f"done in {time.monotonic() - started:.0f} s")


def build_kubernetes(module: Path, binaries: Path) -> None:
    source = download(KUBERNETES, KUBERNETES_VERSION)
    own_go_mod = Path(source["GoMod"]).read_text(encoding="utf-8")
    write_module(module, own_go_mod, (KUBERNETES, KUBERNETES_VERSION), staging_modules(own_go_mod))
    packages = [f"{KUBERNETES}/cmd/{program}" for program in KUBERNETES_PROGRAMS]
    build(module, packages, f"{binaries}/", version_stamp(KUBERNETES_VERSION))


def build_etcd(module: Path, binaries: Path) -> None:
    source = download(ETCD, ETCD_VERSION)
    write_module(module, Path(source["GoMod"]).read_text(encoding="utf-8"), (ETCD, ETCD_VERSION), ())
    build(module, [ETCD], str(binaries / "etcd"), "-s -w")


def staging_modules(go_mod: str) -> list[str]:
    """Return the modules that Kubernetes' go.mod replaces by its own staging directories."""
    return re.findall(r"^\s*(?:replace\s+)?(k8s\.io/\S+)\s+=>\s+\./staging/", go_mod, flags=re.MULTILINE)


def staging_version(kubernetes_version: str) -> str:
    """Staging modules of release v1.X.Y are published as v0.X.Y."""
    return kubernetes_version.replace("v1.", "v0.", 1)


def version_stamp(version: str) -> str:
    """Return linker flags that make the programs report `version`."""
    major, minor, _ = version.removeprefix("v").split(".", 2)
    facts = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": "unknown",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
    }
    stamps = [f"-X {package}.{name}={fact}" for package in VERSION_PACKAGES for name, fact in facts.items()]
    return " ".join(["-s", "-w", *stamps])


def write_module(module: Path, own_go_mod: str, required: tuple[str, str], replaced: Sequence[str]) -> None:
    """Create a throw-away module that requires one module, in the Go version which that one asks for."""
    module.mkdir()
    go_version = re.search(r"^go (\S+)$", own_go_mod, flags=re.MULTILINE)
    if go_version is None:
        raise BuildError(f"the go.mod of {required[0]} names no Go version")
    published = staging_version(KUBERNETES_VERSION)
    lines = [
        "module build.invalid/real-server",
        f"go {go_version[1]}",
        f"require {required[0]} {required[1]}",
        *(f"replace {name} => {name} {published}" for name in replaced),
    ]
    module.joinpath("go.mod").write_text("\n".join(lines) + "\n", encoding="utf-8")


def download(module: str, version: str) -> dict[str, str]:
    """Fetch a module into Go's cache and return what Go says about it."""
    say(f"fetching {module} {version}")
    with tempfile.TemporaryDirectory() as elsewhere:  # not inside a module that could interfere
        answer = run(["go", "mod", "download", "-json", f"{module}@{version}"], Path(elsewhere), capture=True)
    described: dict[str, str] = json.loads(answer)
    return described


def build(module: Path, packages: Sequence[str], output: str, linker_flags: str) -> None:
    for package in packages:  # one by one: linking several at once needs more memory than small machines have
        say(f"compiling {package}")
        started = time.monotonic()
        run(["go", "build", "-trimpath", f"-ldflags={linker_flags}", "-o", output, package], module)
        say(f"compiled {package} in {time.monotonic() - started:.0f} s")


def run(command: Sequence[str], directory: Path, *, capture: bool = False) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false", "GOWORK": "off"}
    finished = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE if capture else sys.stderr,
        check=False,
    )
    if finished.returncode != 0:
        raise BuildError(f"{' '.join(command[:3])} failed with exit code {finished.returncode}; see above")
    return finished.stdout.decode() if capture else ""


def say(message: str) -> None:
    print(f"real server: {message}", file=sys.stderr, flush=True)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Obtain kube-apiserver, kube-controller-manager, kubectl and etcd."
    )
    parser.add_argument("--print-path", action="store_true", help="print the directory that holds them")
    parser.add_argument("--no-build", action="store_true", help="only look; build nothing")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        directory = find(os.environ) if options.no_build else obtain(os.environ)
    except UnobtainableError as error:
        say(str(error))
        return UNOBTAINABLE
    except BuildError as error:
        say(str(error))
        return FAILED
    if directory is None:
        say("no real API server here yet; `python3 tools/real_server.py` builds one")
        return UNOBTAINABLE
    if options.print_path:
        print(directory)
    else:
        say(f"programs are in {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
