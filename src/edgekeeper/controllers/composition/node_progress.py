"""Why a node does not go on: data that its expressions need, or objects that are not ready. For messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from edgekeeper.controllers.composition.checking import CompiledNode
from edgekeeper.controllers.composition.evaluation import Allowance, first_unmet, holds
from edgekeeper.controllers.composition.instance_plan import Address
from edgekeeper.controllers.composition.names import SCHEMA
from edgekeeper.controllers.composition.phrases import SAYS, UNSET
from edgekeeper.controllers.composition.readiness import own_message
from edgekeeper.core.json import JsonObject, dig
from kubecel.errors import EvaluationError
from kubecel.program import Program

# Data


async def pending_programs(
    node: CompiledNode, variables: Mapping[str, Any], allowance: Allowance
) -> list[Program]:
    """The expressions of a node that wait for data. Those with iterators are taken to do so."""
    pending: list[Program] = []
    for program in (*(one.program for one in node.for_each), *(one.program for one in node.variables)):
        try:
            allowance.evaluate(program, variables)
        except EvaluationError as error:
            if error.pending:
                pending.append(program)
        await allowance.let_others_run()
    return pending


def waits_for(programs: Iterable[Program], instance: JsonObject, error: EvaluationError) -> str:
    """What expressions wait for: fields of the instance that nobody has set, or other data."""
    unset = {
        ".".join(path)
        for program in programs
        for path in program.paths
        if path[0] == SCHEMA and dig(instance, *path[1:]) is None
    }
    if unset:
        return f"waits for {', '.join(sorted(unset))}, {UNSET}"
    return f"waits for data: {error.message}"


# Readiness


async def unready_selection(
    node: CompiledNode, whole: JsonObject | list[JsonObject], allowance: Allowance
) -> str:
    """Why objects that a selector matches are not ready; empty if they are. Conditions see all of them at once."""
    for condition in node.ready_when:
        await allowance.let_others_run()
        try:
            if holds(condition, {node.id: whole}, allowance):
                continue
        except EvaluationError as error:
            if not error.pending:
                raise
        return f"resource {node.id} is not ready"
    return ""


async def unready_object(
    node: CompiledNode, observed: Sequence[tuple[Address, JsonObject]], allowance: Allowance
) -> str:
    """Why one of these objects is not ready; empty if all are."""
    for address, obj in observed if node.ready_when else ():
        try:
            failing = await first_unmet(node, obj, allowance)
        except EvaluationError as error:
            if not error.pending:
                raise
            why = f"readyWhen waits for data: {error.message}"
        else:
            if failing is None:
                continue
            why = f"readyWhen {failing.expression.in_place} does not hold"
        said = own_message(obj)
        return f"resource {node.id}: {address} is not ready: {why}{f'; {SAYS} {said}' if said else ''}"
    return ""
