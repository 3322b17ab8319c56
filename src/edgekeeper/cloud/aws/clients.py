"""aiobotocore's clients: made once, kept until the end or until their role is released, one per service, region and role.

A first client of a service costs a tenth of a second and some megabytes, further ones almost nothing. They are made on
first use, by one task for all who ask, and closed together. `warm_up` makes those that will surely be needed before the
process calls itself ready, since making them keeps the event loop busy.

Retries are off, because the transport repeats calls. So are redirects and unlimited answers (`http`); answers are parsed as `parsers` says.
Credentials come from the chain that botocore offers: the environment, IAM roles for service accounts, EKS Pod
Identity, profiles, instance metadata; it refreshes them by itself, and they are looked for again until there are some.
Other roles are assumed through `sts`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from ipaddress import ip_address
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import botocore
from aiobotocore.client import AioBaseClient
from aiobotocore.config import AioConfig
from aiobotocore.credentials import AioCredentials
from aiobotocore.session import AioSession
from botocore.exceptions import (
    ConfigNotFound,
    ConfigParseError,
    InvalidConfigError,
    InvalidRegionError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    UnknownCredentialError,
)
from botocore.utils import validate_region_name

from edgekeeper import __version__
from edgekeeper.cloud.aws.credentials import new_session
from edgekeeper.cloud.aws.http import GuardedSession
from edgekeeper.cloud.aws.models import keep_models_small
from edgekeeper.cloud.aws.parsers import parse_guarded, refuse_broken
from edgekeeper.cloud.aws.roles import OWN, Role
from edgekeeper.cloud.aws.settings import (
    DEFAULT_SETTINGS,
    AwsConfigError,
    AwsSettings,
    InsecureEndpointError,
)

GLOBAL_REGION: Final = "us-east-1"
"""Where CloudFront, its certificates and Route 53 live, whatever the region of everything else."""

_ClientKey: TypeAlias = tuple[str, str, Role]
"""Service, region and role."""
_LOOK_AGAIN: Final = timedelta(seconds=5)
"""After having found no credentials: services of the node are not asked once per call."""
_BOTOCORE_NAMES: Final = {"apigateway": "apigatewayv2"}
_GLOBAL_SERVICES: Final = frozenset({"cloudfront", "route53"})


_WRONG_CONFIGURATION: Final = (
    ConfigNotFound,
    ConfigParseError,
    InvalidConfigError,
    InvalidRegionError,
    PartialCredentialsError,
    UnknownCredentialError,
)


USER_AGENT: Final = f"edgekeeper/{__version__} Botocore/{botocore.__version__}"
"""A constant: botocore would assemble one for every call."""


class AwsClients:
    """Makes clients, keeps them and closes them. Used within one event loop."""

    def __init__(
        self,
        settings: AwsSettings = DEFAULT_SETTINGS,
        *,
        session: AioSession | None = None,
        http_session_class: type[Any] = GuardedSession,
    ) -> None:
        """`session` brings credentials of its own; `http_session_class` sends the requests.

        Raise InsecureEndpointError for an endpoint of the settings; one of the environment is known with the client.
        """
        self._settings = settings
        if settings.endpoint_url:
            self._confirm_endpoint(settings.endpoint_url)
        self._http_session_class = http_session_class
        self._sessions: dict[Role, AioSession] = {OWN: session or new_session()}
        # For the clients that botocore makes on its own to get credentials as well.
        self._sessions[OWN].set_default_client_config(self._config())
        self._making: dict[_ClientKey, asyncio.Task[AioBaseClient]] = {}
        self._open: dict[_ClientKey, AsyncExitStack] = {}
        self._bare_until = 0.0
        """Until when credentials are not looked for again, since none were found."""

    @property
    def region(self) -> str:
        """The region of services that are not global."""
        return self._settings.region or self._sessions[OWN].get_config_variable("region") or GLOBAL_REGION

    def region_of(self, service: str, region: str = "") -> str:
        """Where a service is called."""
        return GLOBAL_REGION if service in _GLOBAL_SERVICES else region or self.region

    def budget_region(self, service: str, region: str = "") -> str:
        """The region whose limits count; empty for a global service."""
        return "" if service in _GLOBAL_SERVICES else region or self.region

    async def get(
        self, service: str, region: str = "", role: Role = OWN, credentials: AioCredentials | None = None
    ) -> AioBaseClient:
        """The client of a service as `role`, whose credentials are needed when it is first asked for."""
        key = (service, self.region_of(service, region), role)
        if key not in self._making:
            self._making[key] = asyncio.create_task(
                self._make(*key, credentials), name=f"aws client {service}"
            )
        making = self._making[key]
        try:
            return await asyncio.shield(making)
        except Exception:
            self._making.pop(key, None)  # the next caller tries again
            raise

    async def warm_up(self, *services: str) -> None:
        for service in services:
            await self.get(service)

    async def release(self, role: Role) -> None:
        """Close the clients of a role that is no longer used. Later calls create new ones."""
        self._sessions.pop(role, None)
        await self._close([key for key in self._making if key[2] == role])

    async def confirm(self) -> None:
        """Make the first client. Raise AwsConfigError where none can be made until somebody corrects the settings.

        Where there are no credentials, none is made: they may come later, and calls say that they are missing.
        """
        try:
            validate_region_name(self.region)
            await self.warm_up("cloudfront")
        except NoCredentialsError:
            return
        except ProfileNotFound as error:
            raise AwsConfigError(
                f"the AWS profile {self._sessions[OWN].profile!r} does not exist: create it in ~/.aws/config, or choose "
                "another one with AWS_PROFILE"
            ) from error
        except _WRONG_CONFIGURATION as error:
            raise AwsConfigError(
                f"AWS is not configured as it should be: {' '.join(str(error).split()).rstrip('.')}: correct the "
                "environment, ~/.aws/config or ~/.aws/credentials"
            ) from error

    async def close(self) -> None:
        """Close every client. Must run in the event loop that made them."""
        await self._close(list(self._making))

    async def _close(self, keys: Sequence[_ClientKey]) -> None:
        making = [self._making.pop(key) for key in keys]
        opened = [self._open.pop(key) for key in keys if key in self._open]
        for task in making:
            task.cancel()
        await asyncio.gather(*making, return_exceptions=True)
        async with AsyncExitStack() as closing:
            for client in opened:
                closing.push_async_callback(client.aclose)

    async def _make(
        self, service: str, region: str, role: Role, credentials: AioCredentials | None
    ) -> AioBaseClient:
        session: Any = self._session_of(role, credentials)  # its stubs know a type per name of a service
        keep_models_small(session)
        await self._confirm_credentials(session)
        parse_guarded(session)
        creator = session.create_client(
            _BOTOCORE_NAMES.get(service, service),
            region_name=region,
            endpoint_url=self._settings.endpoint_url or None,
        )
        async with AsyncExitStack() as opened:
            client: AioBaseClient = await opened.enter_async_context(creator)
            self._confirm_endpoint(client.meta.endpoint_url)
            client.meta.events.register("before-parse", refuse_broken)
            self._open[service, region, role] = opened.pop_all()
        return client

    async def _confirm_credentials(self, session: Any) -> None:
        """Raise NoCredentialsError where there are none. A client that is made without them never learns of later ones."""
        now = asyncio.get_running_loop().time()
        if now < self._bare_until:
            raise NoCredentialsError
        if await session.get_credentials() is None:
            self._bare_until = now + _LOOK_AGAIN.total_seconds()
            raise NoCredentialsError

    def _session_of(self, role: Role, credentials: AioCredentials | None) -> AioSession:
        """One session per role. All share the loader, which holds megabytes of service models."""
        if role not in self._sessions:
            session = new_session(credentials)
            session.set_default_client_config(self._config())
            session.register_component("data_loader", self._sessions[OWN].get_component("data_loader"))
            self._sessions[role] = session
        return self._sessions[role]

    def _config(self) -> AioConfig:
        settings = self._settings
        return AioConfig(
            connect_timeout=settings.connect_timeout.total_seconds(),
            read_timeout=settings.read_timeout.total_seconds(),
            max_pool_connections=settings.connections,
            retries={"mode": "standard", "total_max_attempts": 1},
            user_agent=USER_AGENT,
            http_session_cls=self._http_session_class,
        )

    def _confirm_endpoint(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not self._settings.insecure_endpoint and not _is_local(parts.hostname):
            raise InsecureEndpointError(url)


def _is_local(host: str | None) -> bool:
    if host is None:
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
