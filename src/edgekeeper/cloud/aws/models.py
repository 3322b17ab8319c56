"""AWS's own descriptions of its services, kept small.

botocore reads them into ordered dictionaries, among them the endpoints of all services in all regions. Plain dictionaries
have an order too, and take less than two thirds of the memory; of the endpoints we keep those of services that we call.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

from botocore.loaders import JSONFileLoader

from edgekeeper.core.json import JsonObject

ENDPOINT_PREFIXES: Final = frozenset(
    {
        *("acm", "apigateway", "cloudfront", "lambda", "route53", "sts"),
        *("oidc", "portal.sso", "signin"),  # botocore itself, for credentials
    }
)
"""The services that are called, as the list of endpoints names them. Others would get the pattern of their partition."""


class SmallModels(JSONFileLoader):
    """Reads the files of a botocore loader."""

    def load_file(self, file_path: str) -> JsonObject | None:
        """What a file says, given without its extension; None where there is none."""
        for extension, read in ((".json", Path.read_bytes), (".json.gz", _read_packed)):
            path = Path(file_path + extension)
            if path.is_file():
                content: JsonObject = json.loads(read(path))
                return _without_others(content) if path.stem == "endpoints" else content
        return None


def keep_models_small(session: Any) -> None:
    """Let a botocore session, and all that share its loader, read models that way from now on."""
    session.get_component("data_loader").file_loader = SmallModels()


def _read_packed(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _without_others(endpoints: JsonObject) -> JsonObject:
    for partition in endpoints["partitions"]:
        services = partition["services"]
        partition["services"] = {name: services[name] for name in ENDPOINT_PREFIXES & services.keys()}
    return endpoints
