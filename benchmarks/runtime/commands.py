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
    """Carry out one command after the other, until the parent closes our standard input or is gone."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        name, *arguments = msgspec.json.decode(line)
        tell(await commands[name](*arguments))
