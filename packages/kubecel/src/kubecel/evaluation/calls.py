"""Calls of functions: evaluate the arguments, choose the overload, charge, call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kubecel.errors import ErrorKind, EvaluationError
from kubecel.evaluation.code import CALL_COST, Code, Frame, charge
from kubecel.evaluation.dispatch import Dispatcher

Invoke: TypeAlias = Callable[[Frame, tuple[Any, ...]], Any]
"""Calls a function with arguments that are already evaluated; the cost of any call has been charged."""


def invocation(dispatcher: Dispatcher, offset: int) -> Invoke:
    """The general way to call, for operators that treat common operands themselves."""
    table, choose = dispatcher.table, dispatcher.choose

    def invoke(frame: Frame, args: tuple[Any, ...]) -> Any:
        key = tuple(map(type, args))
        try:
            implementation, cost = table.get(key) or choose(key, args)
            if cost is not None:
                charge_beyond_call(frame, cost(*args))
            return implementation(*args)
        except EvaluationError as error:
            _place(error, offset)
            raise

    return invoke


def charge_beyond_call(frame: Frame, cost: int) -> None:
    """Charge a call that costs so much, given that the least which any call costs has been charged."""
    if cost > CALL_COST:
        charge(frame, cost - CALL_COST)


def _place(error: EvaluationError, offset: int) -> None:
    if error.offset is None:
        error.offset = offset


def unknown_function(name: str, offset: int) -> Code:
    """A call that cannot succeed; only expressions that were not checked have one."""

    def run(_: Frame) -> Any:
        raise EvaluationError(ErrorKind.NO_SUCH_OVERLOAD, f"no such overload: {name}", offset)

    return Code(run, CALL_COST)


def call(dispatcher: Dispatcher, args: tuple[Code, ...], offset: int) -> Code:
    """A call with any number of arguments; one and two, the most frequent, are written out."""
    if dispatcher.charges and len(args) == 2:
        run = _charging_binary(dispatcher, args, offset)
    elif dispatcher.charges:
        run = _charging(dispatcher, args, offset)
    elif len(args) == 1:
        run = _unary(dispatcher, args[0], offset)
    elif len(args) == 2:
        run = _binary(dispatcher, args, offset)
    else:
        run = _many(dispatcher, args, offset)
    return Code(run, sum(arg.cost for arg in args) + CALL_COST)


def _unary(dispatcher: Dispatcher, arg: Code, offset: int) -> Callable[[Frame], Any]:
    table, choose, evaluate = dispatcher.table, dispatcher.choose, arg.run

    def run(frame: Frame) -> Any:
        value = evaluate(frame)
        kind = type(value)
        try:
            implementation, _ = table.get(kind) or choose(kind, (value,))
            return implementation(value)
        except EvaluationError as error:
            _place(error, offset)
            raise

    return run


def _binary(dispatcher: Dispatcher, args: tuple[Code, ...], offset: int) -> Callable[[Frame], Any]:
    table, choose = dispatcher.table, dispatcher.choose
    evaluate_left, evaluate_right = args[0].run, args[1].run

    def run(frame: Frame) -> Any:
        left, right = evaluate_left(frame), evaluate_right(frame)
        kinds = (type(left), type(right))
        try:
            implementation, _ = table.get(kinds) or choose(kinds, (left, right))
            return implementation(left, right)
        except EvaluationError as error:
            _place(error, offset)
            raise

    return run


def _many(dispatcher: Dispatcher, args: tuple[Code, ...], offset: int) -> Callable[[Frame], Any]:
    table, choose = dispatcher.table, dispatcher.choose
    evaluations = tuple([arg.run for arg in args])

    def run(frame: Frame) -> Any:
        values = tuple([evaluate(frame) for evaluate in evaluations])
        kinds = tuple(map(type, values))
        try:
            implementation, _ = table.get(kinds) or choose(kinds, values)
            return implementation(*values)
        except EvaluationError as error:
            _place(error, offset)
            raise

    return run


def _charging_binary(dispatcher: Dispatcher, args: tuple[Code, ...], offset: int) -> Callable[[Frame], Any]:
    """A call of two arguments whose cost depends on them."""
    table, choose = dispatcher.table, dispatcher.choose
    evaluate_left, evaluate_right = args[0].run, args[1].run

    def run(frame: Frame) -> Any:
        left, right = evaluate_left(frame), evaluate_right(frame)
        kinds = (type(left), type(right))
        try:
            implementation, cost = table.get(kinds) or choose(kinds, (left, right))
            if cost is not None:
                charge_beyond_call(frame, cost(left, right))
            return implementation(left, right)
        except EvaluationError as error:
            _place(error, offset)
            raise

    return run


def _charging(dispatcher: Dispatcher, args: tuple[Code, ...], offset: int) -> Callable[[Frame], Any]:
    """A call whose cost depends on its arguments."""
    invoke = invocation(dispatcher, offset)
    evaluations = tuple([arg.run for arg in args])

    def run(frame: Frame) -> Any:
        return invoke(frame, tuple([evaluate(frame) for evaluate in evaluations]))

    return run
