"""Whether an endpoint can be reached at all, and what time it is there: one request without credentials.

What the endpoint answers does not matter, only that it does. An error says at which step it failed: the name, the proxy,
the connection or the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

import aiohttp

PATIENCE = timedelta(seconds=8)


class Step(StrEnum):
    """Where a connection failed."""

    NAME = "name"
    PROXY = "proxy"
    CERTIFICATE = "certificate"
    CONNECTION = "connection"
    ANSWER = "answer"


REMEDIES = {
    Step.NAME: "check the DNS of the node or pod, and the address in the configuration",
    Step.PROXY: "check HTTPS_PROXY and NO_PROXY, and that the proxy allows the host",
    Step.CERTIFICATE: "a proxy or firewall that intercepts TLS needs its certificate authority in SSL_CERT_FILE; else check the address",
    Step.CONNECTION: "allow egress to the host: NetworkPolicy, security groups, firewall, VPC endpoint",
    Step.ANSWER: "allow egress to the host, and check proxies and firewalls that accept connections and drop requests",
}


class EndpointError(Exception):
    """An endpoint cannot be reached."""

    def __init__(self, step: Step, message: str) -> None:
        super().__init__(message)
        self.step = step

    @property
    def remedy(self) -> str:
        return REMEDIES[self.step]


@dataclass(frozen=True, slots=True)
class Reached:
    """The answer of an endpoint."""

    date: str
    """Its header `Date`; empty if there is none."""


class Probe(Protocol):
    """Calls an endpoint. Raises EndpointError."""

    async def __call__(self, url: str) -> Reached: ...


async def probe(url: str) -> Reached:
    """Call an endpoint as the operator does: through the proxy of the environment, with the system's certificates."""
    timeout = aiohttp.ClientTimeout(total=PATIENCE.total_seconds())
    try:
        async with (
            aiohttp.ClientSession(
                timeout=timeout, trust_env=True, cookie_jar=aiohttp.DummyCookieJar()
            ) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            return Reached(response.headers.get("Date", ""))
    except aiohttp.ClientProxyConnectionError as error:
        raise EndpointError(Step.PROXY, f"the proxy cannot be reached: {error}") from error
    except aiohttp.ClientHttpProxyError as error:
        raise EndpointError(Step.PROXY, f"the proxy refuses: {error.status} {error.message}") from error
    except aiohttp.ClientConnectorDNSError as error:
        raise EndpointError(Step.NAME, f"the name cannot be resolved: {error}") from error
    except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as error:
        raise EndpointError(Step.CERTIFICATE, f"the certificate is not trusted: {error}") from error
    except aiohttp.ClientConnectorError as error:
        raise EndpointError(Step.CONNECTION, f"no connection: {error}") from error
    except TimeoutError as error:
        raise EndpointError(Step.CONNECTION, f"no answer within {PATIENCE.total_seconds():g} s") from error
    except (aiohttp.ClientError, OSError) as error:
        raise EndpointError(Step.ANSWER, f"no answer: {str(error) or type(error).__name__}") from error
