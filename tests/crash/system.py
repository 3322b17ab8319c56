"""What a kind brings along to be put through the harness: itself, its outside, and scenarios.

A scenario is a name and a function that plays the user:

    @scenarios.add
    async def change_of_colour(stage: Stage[Workshop]) -> None:
        await stage.create(gizmo(KEY, wheel="red"))
        await stage.settled()
        await stage.patch(GIZMO, KEY, {"spec": spec(wheel="blue")})
        await stage.settled()

Everything else (counting calls, breaking each of them in three ways, restarting, judging) is the harness' business.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock
from edgekeeper.core.conditions import Declaration
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.kinds import Kind
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller

if TYPE_CHECKING:
    from tests.crash.stage import Stage


class Outside(Protocol):
    """A world outside the cluster, with a memory of what was done to it."""

    @property
    def writes(self) -> int:
        """How many changes it has seen."""

    def state(self) -> JsonObject:
        """What there is, without anything that differs from run to run, such as uids and times."""

    def tally(self) -> Mapping[str, tuple[int, int]]:
        """How often each object was created and deleted."""

    def repeated(self) -> Sequence[str]:
        """What was created more than once for one owner."""

    def owners(self) -> Mapping[str, tuple[str, str]]:
        """Of every object that bears a mark of ours, the uid of its owner and its role."""


W = TypeVar("W", bound=Outside)
DAY = timedelta(days=1)
Controllers = Callable[[Services, W, Calls], Sequence[Controller]]


def _nothing(_: object) -> Iterable[str]:
    return ()


async def _as_it_is(_: object) -> None:
    return


def _whole(obj: JsonObject, _: object) -> JsonObject:
    return obj


def has_ready_condition(obj: JsonObject) -> bool:
    """Whether an object says by its conditions that it is ready."""
    conditions = dig_list(obj, "status", "conditions")
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@dataclass(frozen=True)
class System(Generic[W]):
    """A kind, or several, with everything around it."""

    definitions: tuple[JsonObject, ...]
    declarations: Mapping[Kind, Declaration]
    """The kinds whose objects are compared and whose status is judged."""
    outside: Callable[[Clock], W]
    controllers: Controllers[W]
    lies: Callable[[JsonObject, W], str]
    """What is not true about an object that says it is Ready, in words; empty where it is."""
    canary: str
    """A secret that the operator holds and nobody may ever see."""
    masked: frozenset[str] = frozenset({"lastTransitionTime"})
    """Fields, at any depth of an object, that may differ from run to run."""
    stalls: frozenset[str] = frozenset()
    """Reasons of a Ready that is False with which a kind without a Stalled condition says that a person must act."""
    quiet: timedelta = DAY
    """How long nothing may be written once all has settled."""
    wrongs: Callable[[Stage[W]], Iterable[str]] = _nothing
    """What this kind must never do, and has done, in words; asked when all is over."""
    companion: Controllers[W] | None = None
    """Controllers of a second process, which no fault ever hits."""
    compared: tuple[Kind, ...] = ()
    """Kinds without conditions of ours, whose objects are compared as well."""
    comparable: Callable[[JsonObject, W], JsonObject] = _whole
    """An object without values that differ from run to run, where leaving out fields is not enough."""
    is_ready: Callable[[JsonObject], bool] = has_ready_condition
    is_settled: Callable[[Stage[W]], bool] | None = None
    """Whether nothing more will happen by itself, where conditions do not tell."""
    secrets: Callable[[W], Iterable[str]] = _nothing
    """What else nobody may see. Secrets may hold it, encoded."""
    prepare: Callable[[Stage[W]], Awaitable[None]] = _as_it_is
    """Makes what has to be there before the operator starts."""


@dataclass(frozen=True)
class Scenario(Generic[W]):
    """Something that users do."""

    name: str
    drive: Callable[[Stage[W]], Awaitable[None]]
    exact: bool = True
    """Creations and deletions are as many as without faults. Where the user does not wait for the operator, a fault
    decides who comes first, and only the bound holds: nothing is created twice for one owner."""


@dataclass
class Scenarios(Generic[W]):
    """The scenarios of one system, in the order in which they were written."""

    known: dict[str, Scenario[W]] = field(default_factory=dict)

    def add(self, drive: Callable[[Stage[W]], Awaitable[None]]) -> Scenario[W]:
        """Name a scenario by its function."""
        return self._add(Scenario(_name_of(drive), drive))

    def add_race(self, drive: Callable[[Stage[W]], Awaitable[None]]) -> Scenario[W]:
        """The same, for one in which the user does not wait for the operator."""
        return self._add(Scenario(_name_of(drive), drive, exact=False))

    def _add(self, scenario: Scenario[W]) -> Scenario[W]:
        if scenario.name in self.known:
            raise ValueError(f"there are two scenarios {scenario.name}")
        self.known[scenario.name] = scenario
        return scenario

    def __iter__(self) -> Iterator[Scenario[W]]:
        return iter(self.known.values())


def _name_of(drive: Callable[..., object]) -> str:
    return getattr(drive, "__name__", repr(drive))
