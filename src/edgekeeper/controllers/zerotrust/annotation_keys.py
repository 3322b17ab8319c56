"""The annotations of an HTTPRoute that users may write, each in up to three spellings.

    dotted    access.sessionDuration      the path of the setting, by which it is known everywhere else
    flat      sessionDuration
    kebab     session-duration            the flat spelling in lower case

All stand for the same setting. Keys are case-sensitive, as Kubernetes treats them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.zerotrust.annotation_values import (
    ADDRESSES,
    BOOLEAN,
    DNS,
    DURATION,
    HOSTNAMES,
    NAME,
    ORIGIN,
    SAME_SITE,
    SECONDS,
    SERVICE,
    TENANT,
    TEXT,
    TEXTS,
    TOKEN_DURATION,
    TTL,
    TUNNEL,
    ValueParser,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that an annotation can make."""

    path: str
    """The dotted spelling."""
    parse: ValueParser
    spellings: tuple[str, ...]
    """All keys, without the prefix."""


def _kebab(flat: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=h)(?=401)", "-", flat).lower()


def _setting(path: str, parse: ValueParser, *, flat: str = "") -> Setting:
    flat = flat or path.rpartition(".")[2]
    return Setting(path, parse, tuple(dict.fromkeys((flat, path, _kebab(flat)))))


SETTINGS: Final = (
    _setting("enabled", BOOLEAN),
    _setting("hostname", HOSTNAMES),
    _setting("tenant", TENANT),
    _setting("template", NAME),
    _setting("tunnelId", TUNNEL),
    _setting("origin.url", ORIGIN, flat="originService"),
    _setting("origin.httpHostHeader", TEXT),
    _setting("origin.httpRedirect", BOOLEAN),
    _setting("origin.noTLSVerify", BOOLEAN),
    _setting("origin.originServerName", TEXT),
    _setting("origin.caPool", TEXT),
    _setting("origin.tlsTimeout", SECONDS),
    _setting("origin.http2Origin", BOOLEAN),
    _setting("origin.matchSNIToHost", BOOLEAN),
    _setting("access.enabled", BOOLEAN, flat="accessApp"),
    _setting("access.sessionDuration", DURATION),
    _setting("access.existingPolicyNames", TEXTS),
    _setting("access.existingPolicyIds", TEXTS),
    _setting("access.allowEmails", TEXTS),
    _setting("access.allowGroups", TEXTS),
    _setting("access.everyone", BOOLEAN, flat="allowEveryone"),
    _setting("access.allowedIdps", TEXTS),
    _setting("access.autoRedirectToIdentity", BOOLEAN),
    _setting("access.enableBindingCookie", BOOLEAN),
    _setting("access.httpOnlyCookieAttribute", BOOLEAN),
    _setting("access.sameSiteCookieAttribute", SAME_SITE),
    _setting("access.logoUrl", TEXT),
    _setting("access.skipInterstitial", BOOLEAN),
    _setting("access.appLauncherVisible", BOOLEAN),
    _setting("access.serviceAuth401Redirect", BOOLEAN),
    _setting("access.customDenyMessage", TEXT),
    _setting("access.customDenyUrl", TEXT),
    _setting("access.customNonIdentityDenyUrl", TEXT),
    _setting("access.publicPaths", TEXTS),
    _setting("access.applicationDomain", TEXT),
    _setting("access.applicationName", TEXT),
    _setting("access.policyName", TEXT),
    _setting("access.validateAtTunnel", BOOLEAN),
    _setting("serviceToken.enabled", BOOLEAN, flat="serviceToken"),
    _setting("serviceToken.duration", TOKEN_DURATION, flat="serviceTokenDuration"),
    _setting("serviceToken.rotationInterval", DURATION, flat="serviceTokenRotationInterval"),
    _setting("serviceToken.rotationGrace", DURATION, flat="serviceTokenRotationGrace"),
    _setting("serviceToken.rotate", TEXT, flat="serviceTokenRotate"),
    _setting("dnsOnly.enabled", BOOLEAN, flat="dnsOnly"),
    _setting("dnsOnly.proxied", BOOLEAN, flat="dnsOnlyProxied"),
    _setting("dnsOnly.ttl", TTL, flat="dnsOnlyTtl"),
    _setting("dnsOnly.staticIp", ADDRESSES, flat="dnsIp"),
    _setting("dnsOnly.ingressServiceRef", SERVICE, flat="dnsOnlyIngressServiceRef"),
    _setting("dns", DNS),
)

BY_SPELLING: Final[Mapping[str, Setting]] = MappingProxyType(
    {spelling: setting for setting in SETTINGS for spelling in setting.spellings}
)

_WRITTEN = (
    "hostnameRouteId",
    "tunnelRouteId",
    "cnameRecordId",
    "accessAppId",
    "accessPolicyId",
    "accessPolicyIds",
    "serviceTokenId",
    "serviceTokenSecretName",
    "dnsRecordId",
    "dnsRecordIp",
    "lastReconcile",
    "annotation-hash",
    "httproute-uid",
    "image-digest",
)
OPERATOR_WRITTEN: Final = frozenset(f"{PREFIX}{name}" for name in _WRITTEN)
"""Keys that an operator of any generation wrote, with the prefix. They say nothing about what the user wants."""

_FOLDED: Final = {
    re.sub(r"[-_.]", "", spelling.lower()): spelling for spelling in reversed(list(BY_SPELLING))
}


def nearest(name: str) -> str:
    """The spelling that a name without the prefix is most likely meant to be; empty if it resembles none."""
    folded = re.sub(r"[-_.\s]", "", name[:100].lower())
    near = difflib.get_close_matches(folded, _FOLDED, n=1, cutoff=0.6)
    return _FOLDED[near[0]] if near else ""
