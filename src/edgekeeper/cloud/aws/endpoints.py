"""The addresses of services of AWS, without credentials: to see whether they can be reached."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from botocore.loaders import Loader
from botocore.regions import EndpointResolver


def endpoint_of(
    service: str,
    region: str,
    given: str = "",
    environment: Mapping[str, str] = os.environ,
    loader: Any = None,
) -> str:
    """The URL of a service in a region: `given`, else what the environment says, else AWS itself."""
    named = environment.get(f"AWS_ENDPOINT_URL_{service.upper()}") or environment.get("AWS_ENDPOINT_URL")
    if given or named:
        return given or str(named)
    resolver = EndpointResolver((loader or Loader()).load_data("endpoints"))
    found = resolver.construct_endpoint(service, region) or {}
    return f"https://{found.get('hostname') or f'{service}.{region}.amazonaws.com'}"
