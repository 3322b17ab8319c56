"""An event loop whose time is virtual: a day of timers passes in the time it takes to run their callbacks.

    async def scenario() -> int:
        clock = LoopClock()
        await asyncio.sleep(86_400)             # at once
        return round(clock.monotonic())

    assert run_virtual(scenario, seed=7) == 86_400

The loop never waits. Where everybody waits for a timer, the time is that of the next timer at once; where everybody
waits and there is no timer, nothing can ever happen again, and that is an error which says who waits where. Two more
errors end what would otherwise never end: a limit of virtual time, and one of iterations in which no time passes.

Expected flow
    `run_virtual` makes the loop, seeds the module `random` (and puts its state back), runs the coroutine to its end,
    and then makes sure that it left nothing behind: no task, no callback that raised, no exception that nobody asked
    for. A failure carries a note with the seed and the virtual time, which is all it takes to run it again.

Guarantees
    The order of callbacks depends on the program and the seed alone.

Assumptions
    Everything happens in this process and on this loop. There is nothing to wait for outside, so:
    - Functions handed to an executor (`run_in_executor`, `asyncio.to_thread`, and with them `getaddrinfo`) run at once,
      within the loop. One that waits for the loop waits for ever.
    - Subprocesses are refused, since they end in real time.
    - Sockets are not watched while time jumps: a peer never gets a chance to answer before the timeout.
    - `call_soon_threadsafe` from a thread of one's own is seen only as long as something else keeps the loop going.

Caveats
    What the program itself makes different from run to run stays different: `uuid4`, `os.urandom`, the iteration order
    of sets of strings or of objects without a hash of their own.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import math
import random
import selectors
import time
from asyncio.base_events import MAXIMUM_SELECT_TIMEOUT  # type: ignore[attr-defined]
from collections.abc import Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, ParamSpec, TypeVar, TypeVarTuple

from edgekeeper.core.duration import format_duration

T = TypeVar("T")
P = ParamSpec("P")
Ts = TypeVarTuple("Ts")

START = datetime(2026, 1, 1, tzinfo=UTC)
LONGEST_RUN = timedelta(days=400)
BUSY_ITERATIONS = 1_000_000
SLOW_CALLBACK = timedelta(milliseconds=100)
_LAST_ROUNDS = 10
"""How often the loop turns after the end, without time passing, for what is already on its way out."""


class VirtualTimeError(Exception):
    """The program does something that would hang, or leaves something behind."""


@dataclass(frozen=True, slots=True)
class SlowCallback:
    """A callback that kept everybody else waiting, in real time."""

    name: str
    elapsed: timedelta
    processor_time: timedelta
    """Much less than `elapsed` where the callback blocked, or the machine was busy with others."""
    collecting: timedelta = timedelta()
    """The part of `processor_time` that the garbage collector took, which looks at all objects of the process."""

    @property
    def own_time(self) -> timedelta:
        """The processor time of the callback itself."""
        return self.processor_time - self.collecting


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run is taken to be one that never ends, and what counts as slow."""

    virtual_time: timedelta = LONGEST_RUN
    iterations: int = BUSY_ITERATIONS
    """Turns of the loop in which no time passes."""
    slow_callback: timedelta | None = None
    """Record callbacks that take longer than this; None saves the cost of looking."""


DEFAULT_LIMITS = Limits()


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits. The time that a wait would have taken has passed when `select` returns."""

    def __init__(self, on_idle: Callable[[float | None], None]) -> None:
        super().__init__()
        self._on_idle = on_idle

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            self._on_idle(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module. `slow_callbacks` fills where the limits ask for it."""

    def __init__(self, start: datetime = START, limits: Limits = DEFAULT_LIMITS) -> None:
        self.start = start
        self.limits = limits
        self.slow_callbacks: list[SlowCallback] = []
        self.failures: list[dict[str, Any]] = []
        """What nobody caught, as asyncio describes it to exception handlers."""
        self._elapsed = 0.0
        self._idle_turns = 0
        self._collecting_since = 0.0
        self._collected = 0.0
        """Seconds of processor time that the garbage collector has taken so far."""
        super().__init__(_JumpingSelector(self._turn))
        self._set_time(0.0)
        self.set_exception_handler(lambda _, context: self.failures.append(context))

    def time(self) -> float:
        return self._elapsed

    def _set_time(self, elapsed: float) -> None:
        """Let it be exactly this time. Timers that are due at a later one, by however little, are not called yet."""
        self._elapsed = elapsed
        self._clock_resolution = math.ulp(elapsed)

    def _next_timer(self) -> asyncio.TimerHandle:
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]  # asyncio's own heap
        return timers[0]

    def note_collection(self, phase: str, _: dict[str, int]) -> None:
        """Measure the garbage collector: one of `gc.callbacks`."""
        if phase == "start":
            self._collecting_since = time.thread_time()
        else:
            self._collected += time.thread_time() - self._collecting_since

    def forgive(self) -> None:
        """Lift the limits, so that what has been stopped by one can clean up."""
        self.limits = Limits(timedelta.max, 2**63)

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Call at once: there are no threads here."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - belongs to whoever awaits the future
            future.set_exception(error)
        return future

    async def subprocess_exec(self, *_: Any, **__: Any) -> NoReturn:
        raise VirtualTimeError("a subprocess ends in real time, and cannot be awaited in virtual time")

    async def subprocess_shell(self, *_: Any, **__: Any) -> NoReturn:
        raise VirtualTimeError("a subprocess ends in real time, and cannot be awaited in virtual time")

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        return super().call_soon(self._timed(callback), *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return super().call_at(when, self._timed(callback), *args, context=context)

    def _timed(self, callback: Callable[[*Ts], object]) -> Callable[[*Ts], object]:
        longest = self.limits.slow_callback
        if longest is None:
            return callback

        def measured(*args: *Ts) -> None:
            real, processor, collected = time.perf_counter(), time.thread_time(), self._collected
            try:
                callback(*args)
            finally:
                elapsed = timedelta(seconds=time.perf_counter() - real)
                if elapsed > longest:
                    used = timedelta(seconds=time.thread_time() - processor)
                    collecting = timedelta(seconds=self._collected - collected)
                    self.slow_callbacks.append(SlowCallback(_name(callback), elapsed, used, collecting))

        return measured

    def _turn(self, timeout: float | None) -> None:
        """The loop would wait now: for nothing, because there is work; for a timer; or for ever."""
        if timeout is None:
            raise VirtualTimeError(
                f"everybody waits and no timer is set, nothing will ever happen again:\n{self._waiting()}"
            )
        if timeout > 0:
            is_cut = timeout >= MAXIMUM_SELECT_TIMEOUT
            self._set_time(self._elapsed + timeout if is_cut else self._next_timer().when())
            self._idle_turns = 0
        else:
            self._idle_turns += 1
        if self._idle_turns > self.limits.iterations:
            raise VirtualTimeError(
                f"busy loop: {self._idle_turns} turns and no time passes:\n{self._waiting()}"
            )
        if self._elapsed > self.limits.virtual_time.total_seconds():
            raise VirtualTimeError(
                f"still running after {format_duration(self.limits.virtual_time)}:\n{self._waiting()}"
            )

    def _waiting(self) -> str:
        return "\n".join(sorted(map(_whereabouts, asyncio.all_tasks(self))))


class LoopClock:
    """A clock over a loop's time. Its wall clock can be set, and it may run faster or slower than the loop's timers."""

    def __init__(self, start: datetime | None = None, *, rate: float = 1.0) -> None:
        self._loop = asyncio.get_running_loop()
        default = self._loop.start if isinstance(self._loop, VirtualLoop) else START
        self._start = default if start is None else start
        self._rate = rate
        self._jumped = timedelta()

    def now(self) -> datetime:
        return self._start + self._jumped + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return self._loop.time() * self._rate

    def jump(self, interval: timedelta) -> None:
        """Set the wall clock forward or back, as an administrator or NTP does. No time passes."""
        self._jumped += interval


def run_virtual(
    main: Callable[[], Coroutine[Any, Any, T]],
    *,
    seed: int = 0,
    start: datetime = START,
    limits: Limits = DEFAULT_LIMITS,
    slow_callbacks: list[SlowCallback] | None = None,
) -> T:
    """Run a coroutine function in virtual time and return its result.

    Raise VirtualTimeError where it would hang, or ends but leaves tasks or uncaught exceptions behind. Callbacks that
    exceed `limits.slow_callback` are appended to `slow_callbacks`.
    """
    loop = VirtualLoop(start, limits)
    state = random.getstate()
    random.seed(seed)
    # What exists already cannot be garbage of this run; the collection at its end need not look at it.
    gc.freeze()
    gc.callbacks.append(loop.note_collection)
    try:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            result = _run(runner, loop, main)
        gc.collect()  # finds the exceptions that nobody has asked for
        _confirm_no_failures(loop)
    except BaseException as error:
        error.add_note(f"virtual run: seed {seed}, {loop.time():.3f} s after {start.isoformat()}")
        raise
    finally:
        gc.callbacks.remove(loop.note_collection)
        gc.unfreeze()
        random.setstate(state)
        if slow_callbacks is not None:
            slow_callbacks += loop.slow_callbacks
    return result


def virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make an ordinary function of a coroutine function: calling it runs it in virtual time."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtual(lambda: test(*args, **kwargs))

    return run


def _run(runner: asyncio.Runner, loop: VirtualLoop, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    async def supervised() -> T:
        result = await main()
        await _confirm_no_tasks()
        return result

    try:
        return runner.run(supervised())
    finally:
        loop.forgive()


async def _confirm_no_tasks() -> None:
    this = asyncio.current_task()
    for _ in range(_LAST_ROUNDS):
        await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() if task is not this]
    if left:
        raise VirtualTimeError("tasks are left behind:\n" + "\n".join(sorted(map(_whereabouts, left))))


def _confirm_no_failures(loop: VirtualLoop) -> None:
    if not loop.failures:
        return
    lines = [f"{context['message']}: {context.get('exception')!r}" for context in loop.failures]
    raise VirtualTimeError("nobody has caught:\n" + "\n".join(lines)) from loop.failures[0].get("exception")


def _whereabouts(task: asyncio.Task[Any]) -> str:
    """A task's name, the coroutines it is in, and the line the innermost of them is at."""
    names: list[str] = []
    place = "its end"
    inner: Any = task.get_coro()
    while inner is not None and (frame := getattr(inner, "cr_frame", None)) is not None:
        names.append(_name(inner))
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        inner = inner.cr_await
    return f"  {task.get_name()} in {' > '.join(names)} at {place}"


def _name(callback: object) -> str:
    """What to call something that ran: the coroutine, where it is a step of a task."""
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return f"{owner.get_name()} in {_name(owner.get_coro())}"
    return getattr(callback, "__qualname__", repr(callback))
