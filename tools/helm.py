#!/usr/bin/env python3
"""Obtain helm, which renders the chart for tests and for deploy/.

It comes from the path that `HELM` names, from the cache beside kube-apiserver's (tools/real_server.py), or is built once with Go
through whatever module proxy Go is set up to use. Only the standard library is used. Exit codes: 0 found, 1 the build failed,
3 nothing there and no way to build it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

VERSION = "v3.22.0"
PACKAGE = "helm.sh/helm/v3/cmd/helm"
KUBERNETES = ("1", "36")
"""The version of Kubernetes that helm assumes where there is no cluster. Without a stamp it would be 1.20."""
FAILED = 1
UNOBTAINABLE = 3


def cached(environment: Mapping[str, str]) -> Path:
    """Where the program is kept once it is built, outside any checkout."""
    user_cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = Path(environment.get("EDGEKEEPER_CACHE") or user_cache / "edgekeeper")
    return root.expanduser() / f"helm-{VERSION}" / "helm"


def find(environment: Mapping[str, str]) -> Path | None:
    """A program that is there already, or None."""
    given = environment.get("HELM")
    candidates = [Path(given)] if given else []
    return next((path for path in [*candidates, cached(environment)] if os.access(path, os.X_OK)), None)


def build(target: Path) -> int:
    """Build helm beside the target and rename it, so that a half-built one is never seen."""
    print(f"helm: building {VERSION} into {target} (once, some minutes)", file=sys.stderr, flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        environment = {**os.environ, "GOBIN": scratch, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
        stamps = zip(("k8sVersionMajor", "k8sVersionMinor"), KUBERNETES, strict=True)
        flags = " ".join(
            ["-s", "-w", *(f"-X helm.sh/helm/v3/pkg/chartutil.{name}={part}" for name, part in stamps)]
        )
        command = ["go", "install", "-trimpath", f"-ldflags={flags}", f"{PACKAGE}@{VERSION}"]
        finished = subprocess.run(command, env=environment, cwd=scratch, stdout=sys.stderr, check=False)
        if finished.returncode != 0:
            return FAILED
        Path(scratch, "helm").rename(target)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Obtain helm.")
    parser.add_argument("--print-path", action="store_true", help="print the path of the program")
    parser.add_argument("--no-build", action="store_true", help="only look; build nothing")
    options = parser.parse_args()
    found = find(os.environ)
    if found is None and not options.no_build and shutil.which("go"):
        code = build(cached(os.environ))
        if code:
            return code
        found = cached(os.environ)
    if found is None:
        print("helm: there is none; install Go, or set HELM to the program", file=sys.stderr)
        return UNOBTAINABLE
    if options.print_path:
        print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
