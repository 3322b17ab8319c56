"""Validation rules for DistributionTenants at admission. Each message names the remedy.

*Guarantees*
 - The rules refuse only values that CloudFront refuses as well, as far as AWS documents it.
 - An object that was stored before a rule existed can be deleted, and changed in other fields: each rule is attached to
   the field that it checks, and kube-apiserver (1.30 and later) skips it in updates that do not change that field
   (validation ratcheting). For a list, that is the list as a whole.
 - The controller's validation applies the same rules to objects that were stored before.

The limits of lists and strings keep the estimated cost of the rules within kube-apiserver's limits. They equal AWS's
quotas, or are well above quotas that AWS raises on request.
"""

from __future__ import annotations

from typing import Final

from edgekeeper.api.schema import Rule, admission
from edgekeeper.core.aws_identifiers import (
    CERTIFICATE_ARN,
    CONNECTION_GROUP_ID,
    DISTRIBUTION_ID,
    DOMAIN_NAME,
    HOSTED_ZONE_ID,
    LONGEST_DOMAIN,
    MOST_TAGS,
    ROLE_ARN,
    WEB_ACL_ARN,
)
from edgekeeper.core.ownership import TAG_PREFIX

MOST_DOMAINS: Final = 250
MOST_PARAMETERS: Final = 100
MOST_LOCATIONS: Final = 250
_MOST_COMPARED: Final = 150
"""The longest list that is checked for duplicates: the cost is quadratic, and its limit is a million per evaluation."""
_LONGEST_ARN: Final = 2048
_LONGEST_ID: Final = 128


def _has_form(form: str) -> str:
    return f"self.matches('^(?:{form})$')"


def _if_set(condition: str) -> str:
    """An optional field: the empty string is valid."""
    return f"self == '' || {condition}"


def _unique(items: str, key: str = "") -> Rule:
    """A list has no duplicates, by `key` if given. For lists over `_MOST_COMPARED`, only the controller checks this."""
    is_unique = f"self.all(one, self.exists_one(other, other{key} == one{key}))"
    return Rule(f"self.size() > {_MOST_COMPARED} || {is_unique}", f"no two {items} may be the same")


# Domains

_NO_DOMAIN: Final = (
    "not a domain name, which is two or more labels of letters, digits, - and _, such as shop.example.com"
)
_NO_DOMAIN_AND_REMEDY: Final = (
    r"!self.matches(r'^[\x00-\x7f]*$') ? 'not a domain name in ASCII: write it in punycode (xn--...)' : "
    "self.contains('/') || self.contains(':') ? "
    "'not a domain name: leave out the scheme, the port and the path of a URL' : "
    "self.contains('*') ? 'not a domain name: only the first label may be *, as in *.example.com' : "
    f"'{_NO_DOMAIN}'"
)
_DOMAIN: Final = Rule(_has_form(DOMAIN_NAME), _NO_DOMAIN, _NO_DOMAIN_AND_REMEDY)
DOMAIN: Final = admission(_DOMAIN, maxLength=LONGEST_DOMAIN)
DOMAINS: Final = admission(_unique("domains", ".domain"), maxItems=MOST_DOMAINS)

# Ids and ARNs

DISTRIBUTION: Final = admission(
    Rule(
        _has_form(DISTRIBUTION_ID),
        "the id of a distribution has capital letters and digits only, such as E1XNX8R2GOAABC",
    ),
    maxLength=_LONGEST_ID,
)
CONNECTION_GROUP: Final = admission(
    Rule(
        _if_set(_has_form(CONNECTION_GROUP_ID)),
        "name the connection group by its id, such as cg_2whCJoXMYCjHcxaLGrkllvyABC",
    ),
    maxLength=_LONGEST_ID,
)
ZONE: Final = admission(
    Rule(
        _has_form(HOSTED_ZONE_ID),
        "the id of a hosted zone has capital letters and digits only, such as Z1234567890ABC",
    ),
    maxLength=_LONGEST_ID,
)
ROLE: Final = admission(
    Rule(
        _if_set(_has_form(ROLE_ARN)),
        "the ARN of a role has the form arn:aws:iam::111122223333:role/NAME",
    ),
    maxLength=_LONGEST_ARN,
)
CERTIFICATE: Final = admission(
    Rule(
        _has_form(CERTIFICATE_ARN),
        "the ARN of a certificate has the form arn:aws:acm:us-east-1:111122223333:certificate/ID",
    ),
    maxLength=_LONGEST_ARN,
)
WEB_ACL: Final = admission(
    Rule(
        _if_set(_has_form(WEB_ACL_ARN)),
        "the ARN of a web ACL for CloudFront has the form "
        "arn:aws:wafv2:us-east-1:111122223333:global/webacl/NAME/ID",
    ),
    maxLength=_LONGEST_ARN,
)

# Countries

LOCATION: Final = admission(
    Rule("self.matches('^[A-Z]{2}$')", "a country is two capital letters of ISO 3166-1, such as DE"),
    maxLength=64,
)
LOCATIONS: Final = admission(_unique("locations"), maxItems=MOST_LOCATIONS)
RESTRICTION_NEEDS_LOCATIONS: Final = Rule(
    "self.restrictionType == 'none' || (has(self.locations) && self.locations.size() > 0)",
    "a whitelist or blacklist needs at least one country in locations",
)

# Parameters and tags

PARAMETERS: Final = admission(_unique("parameters", ".name"), maxItems=MOST_PARAMETERS)
_TAG_TEXT: Final = Rule(
    r"self.matches(r'^[\p{L}\p{Z}\p{N}_.:/=+@-]*$')",
    "a tag takes letters, digits, spaces and the characters _ . : / = + - @",
)
TAG_VALUE: Final = admission(_TAG_TEXT)
TAG_KEY: Final = admission(
    _TAG_TEXT,
    Rule(
        f"!self.lowerAscii().startsWith('aws:') && !self.lowerAscii().startsWith('{TAG_PREFIX}')",
        f"tag keys that begin with aws: or {TAG_PREFIX} are reserved: choose another key",
    ),
)
TAGS: Final = admission(_unique("tags", ".key"), maxItems=MOST_TAGS)
