"""What CloudFront refuses of a tenant's own name, web ACL and countries, which its service model does not say.

AWS documents the forms (a web ACL of WAF v2 with global scope, two capital letters of ISO 3166-1), and declares
`InvalidArgument` for all of it. Of names the model allows capital letters; cloudfront-tenant-operator documents that
CloudFront takes none, and the stricter of the two holds here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from edgekeeper.core.countries import COUNTRIES
from kubesim.aws.errors import AwsError

_INVALID: Final = "InvalidArgument"
_WEB_ACL = re.compile(
    r"arn:aws[a-z-]*:wafv2:us-east-1:\d{12}:global/webacl/[\w-]{1,128}/[\w-]{1,36}", re.ASCII
)


def check_name(name: str) -> None:
    """Raise what CloudFront answers to a name that it does not take."""
    if name != name.lower():
        raise AwsError(_INVALID, f"The name {name} is not valid: use lowercase letters, digits, . and -.")


def check_customizations(customizations: Mapping[str, Any]) -> None:
    """Raise what CloudFront answers to customizations that it does not take."""
    acl, geo = customizations.get("WebAcl"), customizations.get("GeoRestrictions")
    if acl and acl["Action"] == "override":
        check_web_acl(acl.get("Arn") or "")
    if geo:
        _check_countries(geo["RestrictionType"], geo.get("Locations") or [])


def check_web_acl(arn: str) -> None:
    """Raise what CloudFront answers to an ARN that no web ACL for it can have."""
    if not arn:
        raise AwsError(_INVALID, "The web ACL ARN is required when the action is override.")
    if not _WEB_ACL.fullmatch(arn):
        raise AwsError(_INVALID, f"The web ACL {arn} is not the ARN of a global AWS WAF web ACL.")


def _check_countries(restriction: str, locations: list[str]) -> None:
    if restriction != "none" and not locations:
        raise AwsError(_INVALID, f"The {restriction} must have at least one location.")
    for location in locations:
        if location not in COUNTRIES:
            raise AwsError(_INVALID, f"The location {location} is not an ISO 3166-1 alpha-2 country code.")
