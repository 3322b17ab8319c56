"""Operators that evaluate their operands only as far as needed: `&&`, `||`, `? :`, and `or` and `orValue` of optionals.

`&&` and `||` are commutative, as the language wants it: an operand that decides the outcome does so even if another one
fails. Only errors about limits are beyond that; an evaluation which has used up its budget has no result.
"""

from __future__ import annotations

from typing import Any

from kubecel.errors import LIMIT_KINDS, EvaluationError, no_such_overload
from kubecel.evaluation.code import CALL_COST, Code, Frame
from kubecel.values import Optional


def junction(terms: list[Code], decisive: bool, offset: int) -> Code:
    """`&&` (false is decisive) and `||` (true is decisive) over two or more terms."""
    first, *others = terms
    charged = [(first.run, 0), *((term.run, term.cost) for term in others)]
    indecisive = not decisive

    def run(frame: Frame) -> Any:
        failure: EvaluationError | None = None
        for evaluate, cost in charged:
            frame[0] -= cost
            try:
                value = evaluate(frame)
            except EvaluationError as error:
                failure = absorb(error, failure)
                continue
            if value is decisive:
                return decisive
            if value is not indecisive and failure is None:
                failure = no_such_overload(offset)
        if failure is not None:
            raise failure
        return indecisive

    return Code(run, first.cost)


def absorb(error: EvaluationError, earlier: EvaluationError | None) -> EvaluationError:
    """Keep an error for later, unless there is an earlier one, or the error must stop everything."""
    if error.kind in LIMIT_KINDS:
        raise error
    return error if earlier is None else earlier


def conditional(condition: Code, truth: Code, falsity: Code, offset: int) -> Code:
    """`condition ? truth : falsity`."""
    decide, (if_true, true_cost), (if_false, false_cost) = condition.run, truth, falsity

    def run(frame: Frame) -> Any:
        decision = decide(frame)
        if decision is True:
            frame[0] -= true_cost
            return if_true(frame)
        if decision is False:
            frame[0] -= false_cost
            return if_false(frame)
        raise no_such_overload(offset)

    return Code(run, condition.cost)


def negation(operand: Code, offset: int) -> Code:
    """`!operand`."""
    evaluate = operand.run

    def run(frame: Frame) -> bool:
        value = evaluate(frame)
        if value is True:
            return False
        if value is False:
            return True
        raise no_such_overload(offset)

    return Code(run, operand.cost + CALL_COST)


def not_strictly_false(operand: Code) -> Code:
    """Whether an operand is true or has failed; tells loops to go on."""
    evaluate = operand.run

    def run(frame: Frame) -> bool:
        try:
            return evaluate(frame) is not False
        except EvaluationError as error:
            absorb(error, None)
            return True

    return Code(run, operand.cost + CALL_COST)


def optional_or(optional: Code, alternative: Code, *, unwrap: bool) -> Code:
    """`optional.or(alternative)`, and `optional.orValue(alternative)` if `unwrap` is set."""
    evaluate, (otherwise, cost) = optional.run, alternative

    def run(frame: Frame) -> Any:
        value = evaluate(frame)
        if not isinstance(value, Optional):
            return value
        if value.present:
            return value.value if unwrap else value
        frame[0] -= cost
        return otherwise(frame)

    return Code(run, optional.cost)
