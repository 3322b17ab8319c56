"""Which overloads a call may mean, and what it returns.

All overloads that go with the static types of the arguments are kept; the first one decides about the result, unless a
later one differs: then only the run time will tell, and the result is `dyn`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubecel.checker.declarations import Candidate, Declarations, Outcome
from kubecel.checker.unify import Substitution
from kubecel.functions import Overload
from kubecel.types import DYN, Kind, Type, param


class Resolver:
    """Resolves the calls of one expression."""

    __slots__ = ("_fresh", "_functions", "_known", "cross_type")

    def __init__(self, declarations: Declarations, known: Substitution) -> None:
        self._functions = declarations.functions
        self._known = known
        self._fresh = 0
        self.cross_type = declarations.options.cross_type_comparisons

    def new_parameter(self) -> Type:
        """A type of which nothing is known yet."""
        self._fresh += 1
        return param(f"_var{self._fresh}")

    def resolve(self, name: str, arguments: Sequence[Type], *, member: bool) -> Outcome | None:
        """What a call means, or None if no overload takes these arguments."""
        for argument in arguments:
            if not argument.plain:
                return self._match(name, arguments, member=member)
        key = (name, member, self.cross_type, *arguments)
        outcome = self._functions.outcomes.get(key)
        if outcome is None:
            outcome = self._match(name, arguments, member=member)
            if outcome is not None and not outcome.result.generic:
                self._functions.outcomes[key] = outcome
        return outcome

    def _match(self, name: str, arguments: Sequence[Type], *, member: bool) -> Outcome | None:
        matching: list[Overload] = []
        result: Type | None = None
        for candidate in self._functions.candidates(name, member=member):
            if not candidate.may_take(arguments) or (candidate.cross_type and not self.cross_type):
                continue
            params, returned = self._instantiate(candidate)
            if not self._known.all_assignable(arguments, params):
                continue
            matching.append(candidate.overload)
            returned = self._known.apply(returned)
            if result is None:
                result = returned
            elif result.kind is not Kind.DYN and result != returned:
                result = DYN
        return None if result is None else Outcome(tuple(matching), result)

    def _instantiate(self, candidate: Candidate) -> tuple[Sequence[Type], Type]:
        """The signature, with type parameters of its own for this call."""
        overload = candidate.overload
        if not candidate.parameters:
            return overload.params, overload.result
        fresh = {name: self.new_parameter() for name in candidate.parameters}
        return [_renamed(subject, fresh) for subject in overload.params], _renamed(overload.result, fresh)


def _renamed(subject: Type, names: Mapping[str, Type]) -> Type:
    if subject.kind is Kind.PARAM:
        return names[subject.name]
    if not subject.generic:
        return subject
    return Type(subject.kind, subject.name, tuple([_renamed(inner, names) for inner in subject.params]))
