"""How long definitions take to compile: schemas looked up, expressions parsed and checked, graph and CRD derived."""

from __future__ import annotations

import time
from typing import Final

from benchmarks.composition.workload import definition
from edgekeeper.cli.built_in import BuiltInSchemas
from edgekeeper.controllers.composition.graph import compile_definition, read_definition
from edgekeeper.core.json import JsonObject

CHILDREN: Final = 5


def definitions(count: int) -> list[JsonObject]:
    """So many definitions of which no two are the same."""
    return [
        definition(CHILDREN, f"web-apps-{number}", f"WebApp{number}", number=str(number))
        for number in range(count)
    ]


def compile_all(bodies: list[JsonObject]) -> float:
    """Seconds of processor time that it takes to compile these. Raise RuntimeError if one of them has a problem."""
    schemas = BuiltInSchemas()
    began = time.process_time()
    for body in bodies:
        found = compile_definition(read_definition(body), schemas)
        if found.graph is None:
            raise RuntimeError(f"{body['metadata']['name']} does not compile: {found.problems}")
    return time.process_time() - began
