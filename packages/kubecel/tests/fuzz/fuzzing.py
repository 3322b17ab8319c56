"""Runs: each has a number, and a number is always the same text, so that a failure can be looked at again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Final

from kubecel import environments
from kubecel.environment import Environment
from kubecel.types import DYN
from packages.kubecel.tests.fuzz.grammar import Generator, Grammar
from packages.kubecel.tests.fuzz.laws import examine
from packages.kubecel.tests.fuzz.material import CONTEXT
from packages.kubecel.tests.fuzz.mutation import mutated

VARIABLES: Final = dict.fromkeys(CONTEXT, DYN)
ENVIRONMENTS: Final[dict[str, Environment]] = {
    "kro": environments.kro().extend(variables=VARIABLES),
    "kubernetes": environments.kubernetes().extend(variables=VARIABLES),
}
_GRAMMARS: Final = {name: Grammar(environment) for name, environment in ENVIRONMENTS.items()}
WAYS: Final = ("grammar", "mutation")


@dataclass(frozen=True)
class Case:
    """One text for one environment."""

    environment: str
    way: str
    text: str


@dataclass(frozen=True)
class Failure:
    """A run that broke a law, or ended in an error that is none of the language."""

    number: int
    case: Case
    error: Exception

    def __str__(self) -> str:
        kind = type(self.error).__name__
        return f"run {self.number} ({self.case.environment}, {self.case.way}): {self.case.text!r}: {kind}: {self.error}"


@dataclass
class Report:
    """What came out of many runs."""

    ends: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    """Seconds, and the number of the run."""

    def add(self, other: Report) -> None:
        self.ends += other.ends
        self.failures += other.failures
        self.slowest = max(self.slowest, other.slowest)


def case_of(seed: int, number: int) -> Case:
    """The text of a run. Environments and ways take turns."""
    random = Random(f"{seed}:{number}")
    environment = tuple(ENVIRONMENTS)[number % 2]
    way = WAYS[number // 2 % 2]
    generator = Generator(_GRAMMARS[environment], random)
    text = generator.expression()
    return Case(environment, way, text if way == "grammar" else mutated(random, text, generator.expression()))


def fuzz(seed: int, numbers: range) -> Report:
    """Examine the texts of a range of runs."""
    report = Report()
    for number in numbers:
        case = case_of(seed, number)
        try:
            run = examine(ENVIRONMENTS[case.environment], case.text)
        except Exception as error:  # noqa: BLE001 - that there is none of these is what we want to know
            report.failures.append(Failure(number, case, error))
            report.ends["broken"] += 1
            continue
        report.ends[run.end] += 1
        report.slowest = max(report.slowest, (run.seconds, number))
    return report
