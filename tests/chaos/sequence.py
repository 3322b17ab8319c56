"""Draws sequences: what happens in the run of a seed. The same seed always draws the same."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.chaos.disturbances import draw_annotation, draw_disturbance, draw_pause
from tests.chaos.kind import ChaosKind
from tests.chaos.operation import Operation, op

LENGTHS = (8, 40)
"""How many operations a sequence has, beside the pauses between them."""
_OWN, _ANNOTATION, _DELETION = 0.64, 0.09, 0.08
_PAUSED = 0.75
"""How often time passes between two operations."""


def draw(kind: ChaosKind[Any], seed: int) -> list[Operation]:
    """The sequence of a seed."""
    random = Random(f"chaos {kind.name} {seed}")
    own = kind.operations(random)
    operations: list[Operation] = []
    for _ in range(random.randint(*LENGTHS)):
        chance = random.random()
        if chance < _OWN:
            operations.append(next(own))
        elif chance < _OWN + _ANNOTATION:
            operations.append(draw_annotation(random, kind.keys()))
        elif chance < _OWN + _ANNOTATION + _DELETION:
            operations.append(op("delete", key=random.choice(kind.keys())))
        else:
            operations += draw_disturbance(random, kind.targets)
        if random.random() < _PAUSED:
            operations.append(draw_pause(random))
    return operations
