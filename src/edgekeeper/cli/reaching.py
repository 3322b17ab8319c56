"""The way to the cluster at the start of a command: found good, or told at once what is wrong with it.

Who asks a question wants to know within seconds that nobody answers (`identify`: one attempt). An operator waits for
its cluster and says so with every attempt (`await_cluster`); only what does not heal by waiting ends it. Either way the
message names the context, the server, the cause and what can be done about it.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import count
from random import Random
from typing import Final

from edgekeeper.cli.failure import CommandError
from edgekeeper.core.backoff import Backoff
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.duration import format_duration
from edgekeeper.core.log import get_logger
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.credentials import CredentialsError
from edgekeeper.kube.errors import (
    ApiError,
    ForbiddenError,
    ServerError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
)
from edgekeeper.kube.kinds import NAMESPACE, Key
from edgekeeper.kube.transport import Transport, TransportError

log = get_logger(__name__)

ATTEMPT: Final = timedelta(seconds=15)
"""For one question, the time included that a plugin takes to get credentials."""
PAUSES: Final = Backoff(first=timedelta(seconds=1), longest=timedelta(seconds=15), jitter=0.2)
OLDEST_NAMESPACE: Final = Key("", "kube-system")

_ERRNO: Final = re.compile(r"\[Errno (\d+)\]")
_PROXY: Final = re.compile(r" by the proxy \S+:\d+")
_OTHER_CLUSTER: Final = "choose another cluster with --context or --kubeconfig"


class UnavailableError(CommandError):
    """The API server gives no answer now. That may change by waiting."""

    def __init__(self, message: str, remedy: str, why: str) -> None:
        super().__init__(message, remedy)
        self.why = why
        """The cause alone."""


async def identify(transport: Transport, cluster: ClusterConfig, given: str = "") -> str:
    """The id of the cluster: `given`, else the uid of its oldest namespace. The cluster is asked once in any case.

    Raise CommandError where it cannot be used.
    """
    client = KubeClient(transport, Calls(), SystemClock(), ClientOptions(deadline=ATTEMPT, retries=False))
    try:
        namespace = await client.get(NAMESPACE, OLDEST_NAMESPACE)
    except ForbiddenError as error:
        if given:
            return given
        raise CommandError(
            f"{_named(cluster)} does not let us identify the cluster: {error.message}",
            "allow `get` on namespaces, or identify it with --cluster-id",
        ) from error
    except ApiError as error:
        raise explain(error, cluster) from error
    return given or str(namespace["metadata"]["uid"])


async def await_cluster(transport: Transport, cluster: ClusterConfig, given: str = "") -> str:
    """The same, but where the server gives no answer it is asked again and again, and the log tells."""
    random = Random()
    for attempt in count(1):
        try:
            return await identify(transport, cluster, given)
        except UnavailableError as error:
            pause = PAUSES.delay(attempt, random)
            log.warning(
                "API server cannot be used yet",
                server=cluster.server,
                cluster=cluster.origin,
                error=error.why,
                attempt=attempt,
                retry_after=format_duration(pause),
            )
        await asyncio.sleep(pause.total_seconds())
    raise AssertionError("there is always another attempt")


def explain(error: ApiError, cluster: ClusterConfig) -> CommandError:
    """A refusal, or the lack of an answer, for people: which cluster, what is wrong, what to do."""
    where = _named(cluster)
    if isinstance(error, UnauthorizedError):
        message = f"{where} does not accept our credentials: {error.message}"
        return CommandError(message, "renew them, or choose another user with --context")
    if isinstance(error, ForbiddenError):
        return CommandError(f"{where} does not allow it: {error.message}", "have it allowed to our user")
    if isinstance(error, UnreachableError):
        return _unreachable(error, where)
    if isinstance(error, ServerError | ThrottledError):
        return UnavailableError(f"{where} cannot be used now: {error}", "try again later", str(error))
    return CommandError(f"{where} cannot be used: {error}")


def _unreachable(error: UnreachableError, where: str) -> CommandError:
    causes = list(_chain(error))
    untrusted = next((cause for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)), None)
    if untrusted is not None:
        return CommandError(
            f"the certificate of {where} is not trusted: {untrusted.verify_message.rstrip('.')}",
            "correct the cluster's `server` or certificate authority in the kubeconfig",
        )
    if any(isinstance(cause, CredentialsError) for cause in causes):
        return CommandError(f"{where} cannot be asked: {error.message}", "correct the kubeconfig")
    if any(isinstance(cause, TransportError) and cause.is_final for cause in causes):
        return CommandError(f"{where} cannot be used: {error.message}", _OTHER_CLUSTER)
    why = _why(error, causes)
    remedy = f"check that it runs and can be reached, or {_OTHER_CLUSTER}"
    return UnavailableError(f"cannot reach {where}: {why}", remedy, why)


def _named(cluster: ClusterConfig) -> str:
    origin = f" ({cluster.origin})" if cluster.origin else ""
    return f"the API server {cluster.server}{origin}"


def _why(error: UnreachableError, causes: Iterable[BaseException]) -> str:
    """The words of the operating system, where it was that which failed, and through whom."""
    words = [_words(cause) for cause in causes if isinstance(cause, OSError) and cause.errno]
    words += [os.strerror(int(number)) for number in _ERRNO.findall(error.message)]
    proxy = _PROXY.search(error.message)
    return f"{', '.join(dict.fromkeys(words))}{proxy[0] if proxy else ''}" if words else error.message


def _words(error: OSError) -> str:
    """What a number means. Event loops put words of their own beside it; resolvers have numbers below zero."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
