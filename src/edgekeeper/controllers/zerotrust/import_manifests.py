"""Imported settings as objects: an HTTPRoute with annotations, and a template where these do not suffice. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.zerotrust.annotation_keys import BY_SPELLING
from edgekeeper.controllers.zerotrust.import_access import ProposedAccess
from edgekeeper.controllers.zerotrust.import_origins import ProposedOrigin
from edgekeeper.controllers.zerotrust.route_index import TEMPLATE
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import HTTP_ROUTE, Key
from edgekeeper.lifecycle.importing import manifest

_FLAT: Final = {setting.path: setting.spellings[0] for setting in BY_SPELLING.values()}
"""The flat spelling of each setting."""


def route_manifest(
    key: Key, hostnames: Sequence[str], origin: ProposedOrigin, settings: Mapping[str, Any]
) -> JsonObject:
    """A route with these settings, by path."""
    annotations = {"enabled": "true", **{_FLAT[path]: _text(value) for path, value in settings.items()}}
    spec: JsonObject = {"rules": list(origin.rules)}
    if any("_" in hostname for hostname in hostnames):
        annotations["hostname"] = ",".join(hostnames)  # the Gateway API knows no underscores
    else:
        spec = {"hostnames": list(hostnames), **spec}
    prefixed = {f"{PREFIX}{name}": text for name, text in annotations.items()}
    return manifest(HTTP_ROUTE, key.namespace, key.name, spec, **prefixed)


def template_manifest(key: Key, access: ProposedAccess) -> JsonObject:
    """A template with the rules of an application."""
    rules = {name: list(each) for name, each in access.rules.items()}
    spec = {"accessApplication": {"enabled": True, **rules}}
    return manifest(TEMPLATE, key.namespace, key.name, spec)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
