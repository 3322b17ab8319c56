"""Runs a function of a module with some packages missing: restricted.py '["pytest"]' module:function ARGUMENT..."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

MISSING: set[str] = set()


class Finder(PathFinder):
    """Finds what is on the path, except what shall be missing."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in MISSING:
            return None
        return super().find_spec(fullname, path, target)


def main() -> object:
    missing, program, *arguments = sys.argv[1:]
    sys.path.remove(sys.path[0])  # the folder of this file
    MISSING.update(json.loads(missing))
    sys.meta_path = [Finder if finder is PathFinder else finder for finder in sys.meta_path]
    name, _, function = program.partition(":")
    sys.argv = [name, *arguments]
    module = importlib.import_module(name)
    if not (module.__file__ or "").startswith(os.environ["PYTHONPATH"]):
        sys.exit(f"{name} is not of the wheel, but from {module.__file__}")
    return getattr(module, function)()


if __name__ == "__main__":
    main()
