"""Connect to the cluster at the start of a command, with clear errors if that fails.

Commands for people make one attempt and fail within seconds (`identify`). The operator retries until the API server
answers, and logs every attempt (`await_cluster`); it ends only on errors that retrying cannot fix. All messages name the
context, the server, the cause and a remedy.
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
"""The time limit of one attempt, including the time that a credentials plugin takes."""
PAUSES: Final = Backoff(first=timedelta(seconds=1), longest=timedelta(seconds=15), jitter=0.2)
OLDEST_NAMESPACE: Final = Key("", "kube-system")

_ERRNO: Final = re.compile(r"\[Errno (\d+)\]")
_PROXY: Final = re.compile(r" by the proxy \S+:\d+")
_OTHER_CLUSTER: Final = "choose another cluster with --context or --kubeconfig"


class UnavailableError(CommandError):
    """The API server cannot be used at present; a retry may succeed."""

    def __init__(self, message: str, remedy: str, why: str) -> None:
        super().__init__(message, remedy)
        self.why = why
        """The cause, without the server and the remedy."""


async def identify(transport: Transport, cluster: ClusterConfig, given: str = "") -> str:
    """The id of the cluster: `given`, else the uid of the namespace kube-system. The cluster is called in any case.

    Raise CommandError if the cluster cannot be used.
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
    """Like `identify`, but retry with backoff as long as the server is unavailable, and log every attempt."""
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
    """Turn an API error into a message for people: which cluster, what is wrong, what to do."""
    where = _named(cluster)
    if isinstance(error, UnauthorizedError):
        message = f"{where} does not accept our credentials: {error.message}"
        return CommandError(message, "renew them, or choose another user with --context")
    if isinstance(error, ForbiddenError):
        return CommandError(
            f"{where} does not allow it: {error.message}", "grant the permission to this user"
        )
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
        return CommandError(f"{where} cannot be called: {error.message}", "correct the kubeconfig")
    if any(isinstance(cause, TransportError) and cause.is_final for cause in causes):
        return CommandError(f"{where} cannot be used: {error.message}", _OTHER_CLUSTER)
    why = _why(error, causes)
    remedy = f"check that it runs and can be reached, or {_OTHER_CLUSTER}"
    return UnavailableError(f"cannot reach {where}: {why}", remedy, why)


def _named(cluster: ClusterConfig) -> str:
    origin = f" ({cluster.origin})" if cluster.origin else ""
    return f"the API server {cluster.server}{origin}"


def _why(error: UnreachableError, causes: Iterable[BaseException]) -> str:
    """The messages of the operating system if it reported the error, and the proxy that was used."""
    words = [_error_text(cause) for cause in causes if isinstance(cause, OSError) and cause.errno]
    words += [os.strerror(int(number)) for number in _ERRNO.findall(error.message)]
    proxy = _PROXY.search(error.message)
    return f"{', '.join(dict.fromkeys(words))}{proxy[0] if proxy else ''}" if words else error.message


def _error_text(error: OSError) -> str:
    """The system's message for an errno, since event loops set their own. Negative numbers are errors of the resolver."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
