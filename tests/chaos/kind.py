"""What a kind brings along to be put through random operations: its own operations, and its own oracles.

Everything that is the same for all kinds is the harness' business: time, processes and their ends, faults of calls to
Kubernetes and to clouds, watches, clocks, annotations and deletions (`disturbances`), the order of a run (`runner`), and
the oracles that need no knowledge of a kind (`oracles`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Any, Protocol

from tests.chaos.operation import Operation
from tests.chaos.violation import Violation
from tests.chaos.world import World
from tests.crash.system import System, W

Player = Callable[..., Awaitable[None]]
"""Carries out an action: `async def player(world, **arguments)`."""


class Judge(Protocol):
    """The oracles of a kind, in one run. They look at the cloud and at the cluster, never at the code under test."""

    def found(self) -> Iterable[Violation]:
        """What was wrong at some moment of the run, at whichever call or commit."""

    def unsettled(self) -> Iterator[str]:
        """Objects to which something has yet to happen, in words. Asked while a run heals."""

    def at_rest(self) -> Iterator[Violation]:
        """What is wrong with cloud and cluster once everything has healed and settled."""

    def tolerated_refusals(self, minutes: float) -> int:
        """How many mutations the cloud may refuse at rest: those of objects that wait for a person are tried again."""

    def when_empty(self) -> Iterator[Violation]:
        """What is wrong with the cloud once the last object is gone."""

    def to_be_forgotten(self) -> set[str]:
        """What the operator must not remember once the last object is gone, beside their uids."""


class ChaosKind(Protocol[W]):
    """One kind, or several that belong together."""

    @property
    def name(self) -> str:
        """By which it is chosen."""

    @property
    def system(self) -> System[W]:
        """The kind as the crash harness knows it."""

    @property
    def actions(self) -> Mapping[str, Player]:
        """The kind's own actions, by name."""

    def operations(self, random: Random) -> Iterator[Operation]:
        """Operations of the kind's own, for ever."""

    def keys(self) -> tuple[str, ...]:
        """The objects that its operations are about, as `name` or `namespace/name`."""

    @property
    def targets(self) -> tuple[str, ...]:
        """What its calls to the outside are recorded under, beside Kubernetes: services of its cloud."""

    async def judge(self, world: World[Any]) -> Judge:
        """Prepare the world, and watch it from now on."""

    def heal(self, world: World[Any]) -> None:
        """End every fault of the outside. What people have made or changed there stays."""

    def prepare_clearing(self, world: World[Any]) -> None:
        """Before everything is deleted: people mend what would keep an object from going, such as a role without rights."""
