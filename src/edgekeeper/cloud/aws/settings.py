"""How AWS is reached, and what may be wrong with that. Nothing of the AWS SDK is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


class AwsConfigError(Exception):
    """Something is wrong with how AWS is configured. The message says what, and what to do about it."""


class InsecureEndpointError(AwsConfigError):
    """Signed requests would be sent without encryption."""

    def __init__(self, url: str) -> None:
        super().__init__(f"refusing the endpoint {url}: it is neither https nor on this machine")


@dataclass(frozen=True, slots=True)
class AwsSettings:
    """How AWS is reached. The environment variables of the AWS SDKs hold where nothing is set here."""

    region: str = ""
    """Of services that are not global. Empty: as the environment says, else `us-east-1`."""
    endpoint_url: str = ""
    """Of all services. Empty: as the environment says (`AWS_ENDPOINT_URL` and its variants), else AWS itself."""
    insecure_endpoint: bool = False
    """Allow an endpoint that is neither https nor on this machine."""
    connect_timeout: timedelta = timedelta(seconds=5)
    read_timeout: timedelta = timedelta(seconds=30)
    connections: int = 20
    """Per client."""


DEFAULT_SETTINGS: Final = AwsSettings()
