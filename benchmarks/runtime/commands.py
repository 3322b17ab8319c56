"""The children's half of the talk: a command is a line of JSON on standard input, its answer a line on standard output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import msgspec

Figures: TypeAlias = dict[str, float]
Command: TypeAlias = Callable[..., Awaitable[Figures]]


def tell(message: object) -> None:
    print(msgspec.json.encode(message).decode(), flush=True)


async def until(holds: Callable[[], bool], look: float) -> None:
    """Look every `look` seconds whether something holds: what is measured shall not be changed to tell us."""
    while not holds():  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(look)


async def obey(commands: Mapping[str, Command]) -> None:
    """Carry out commands until the parent closes our standard input or is gone; then end the one that is running."""
    orders = await _standard_input()
    async with asyncio.TaskGroup() as group:
        task: asyncio.Task[None] | None = None
        while line := await orders.readline():
            name, *arguments = msgspec.json.decode(line)
            task = group.create_task(_carry_out(commands[name], arguments))
        if task is not None:
            task.cancel()


async def _carry_out(command: Command, arguments: list[float]) -> None:
    tell(await command(*arguments))


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader
