"""Keeps aiohttp from sending a request again by itself.

It repeats a GET, PUT or DELETE when a kept connection turns out to be dead. That would be a call that the transport neither
numbers nor counts. Errors of botocore would not do: some are OSErrors, which aiohttp replaces by its own.
"""

from __future__ import annotations

import aiohttp


class NotRepeatedError(Exception):
    """Carries a connection error past aiohttp, which does not know this one."""

    def __init__(self, error: aiohttp.ClientError) -> None:
        super().__init__(str(error))
        self.error = error


async def send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """A middleware for a session whose requests are sent once. Requests raise NotRepeatedError."""
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise NotRepeatedError(error) from error
