#!/usr/bin/env python3
"""Obtain kro itself: the truth about which ResourceGraphDefinitions are valid, and what becomes of them.

kro has no command that checks a definition without a cluster, so its controller runs against the API servers of the conformance
suite. It comes from the cache, `…/edgekeeper/kro-<version>/` beside the programs of `real_server`, or is built once with Go
through whatever module proxy Go is set up to use; kro's CustomResourceDefinitions are kept beside it. Exit codes are those of
`real_server`.

    python3 -m tools.kro [--print-path] [--no-build]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools import real_server
from tools.real_server import BuildError, UnobtainableError, build, download, exclusive, say, write_module

KRO_VERSION = "v0.9.4"
"""The release after the one that composition behaves as, and the first whose definitions may name short names."""
KRO = "github.com/kubernetes-sigs/kro"
CONTROLLER = "kro-controller"
CRDS = "crds"


def cache_directory(environment: Mapping[str, str]) -> Path:
    return real_server.cache_directory(environment).with_name(f"kro-{KRO_VERSION}")


def is_complete(directory: Path) -> bool:
    return os.access(directory / CONTROLLER, os.X_OK) and (directory / CRDS).is_dir()


def find(environment: Mapping[str, str]) -> Path | None:
    """Return the directory with the controller and its definitions, or `None`."""
    cached = cache_directory(environment)
    return cached if is_complete(cached) else None


def obtain(environment: Mapping[str, str]) -> Path:
    """Return that directory, building it when there is none."""
    target = cache_directory(environment)
    if is_complete(target):
        return target
    if shutil.which("go") is None:
        raise UnobtainableError("no kro: Go is not installed, and none is cached")
    target.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(target.with_name(f"{target.name}.lock")):
        if not is_complete(target):  # another process may have built it while this one waited
            build_into(target)
    return target


def build_into(target: Path) -> None:
    """Build beside `target` and rename into place, so that a half-built set is never seen."""
    say(f"building kro {KRO_VERSION} into {target} (once, a few minutes)")
    source = download(KRO, KRO_VERSION)
    with tempfile.TemporaryDirectory(prefix=f"{target.name}.", dir=target.parent) as scratch:
        module, made = Path(scratch, "module"), Path(scratch, "made")
        made.mkdir()
        go_mod = Path(source["GoMod"]).read_text(encoding="utf-8")
        write_module(module, go_mod, (KRO, KRO_VERSION), ())
        build(module, [f"{KRO}/cmd/controller"], str(made / CONTROLLER), "-s -w")
        (made / CRDS).mkdir()
        for definition in Path(source["Dir"], "helm", "crds").glob("*.yaml"):
            (made / CRDS / definition.name).write_bytes(definition.read_bytes())
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Obtain kro's controller.")
    parser.add_argument("--print-path", action="store_true", help="print the directory that holds it")
    parser.add_argument("--no-build", action="store_true", help="only look; build nothing")
    options = parser.parse_args(arguments)
    try:
        directory = find(os.environ) if options.no_build else obtain(os.environ)
    except UnobtainableError as error:
        say(str(error))
        return real_server.UNOBTAINABLE
    except BuildError as error:
        say(str(error))
        return real_server.FAILED
    if directory is None:
        say("no kro here yet; `python3 -m tools.kro` builds it")
        return real_server.UNOBTAINABLE
    print(directory) if options.print_path else say(f"kro is in {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
