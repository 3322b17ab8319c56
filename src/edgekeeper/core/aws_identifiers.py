"""The forms of AWS's identifiers and of domain names, as regular expressions.

Admission rules (RE2) and the operator's own validation (`re`) use the same texts, so that both refuse the same values:
character classes are written out, since `\\w` and `\\d` differ between the two. The texts have no anchors: `is_form`
compares the whole value, and a rule puts `^` and `$` around them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

PARTITION: Final = "aws(?:-cn|-us-gov|-eusc|-iso(?:-[bef])?)?"
_ACCOUNT: Final = "[0-9]{12}"
_REGION: Final = "[a-z0-9-]+"

CERTIFICATE_ARN: Final = f"arn:{PARTITION}:acm:{_REGION}:{_ACCOUNT}:certificate/[A-Za-z0-9_-]+"
ROLE_ARN: Final = f"arn:{PARTITION}:iam::{_ACCOUNT}:role/[A-Za-z0-9_+=,.@/-]{{1,512}}"
WEB_ACL_ARN: Final = f"arn:{PARTITION}:wafv2:{_REGION}:{_ACCOUNT}:global/webacl/[A-Za-z0-9_-]+/[A-Za-z0-9_-]+"
"""CloudFront takes web ACLs of AWS WAF v2 with global scope only."""

DISTRIBUTION_ID: Final = "[A-Z0-9]{1,32}"
CONNECTION_GROUP_ID: Final = "[A-Za-z0-9_.-]{1,128}"
HOSTED_ZONE_ID: Final = "(?:/hostedzone/)?[A-Z0-9]{1,32}"

_LABEL: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
DOMAIN_NAME: Final = f"(?:[*][.])?{_LABEL}(?:[.]{_LABEL})+[.]?"
"""Two labels or more, in ASCII; a wildcard may stand before them. Longer than `LONGEST_DOMAIN` there are none."""
LONGEST_DOMAIN: Final = 253
MOST_TAGS: Final = 50
"""On one resource."""


def account_of(arn: str) -> str:
    """The account of an ARN; empty if it names none."""
    return arn.split(":")[4] if arn.count(":") >= 5 else ""


def is_form(form: str, text: str) -> bool:
    """Has the whole text this form?"""
    return _compiled(form).fullmatch(text) is not None


@cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form)
