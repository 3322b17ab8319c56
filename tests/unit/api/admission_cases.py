"""Specs that the API server refuses or admits, for tests against the embedded server and a real one."""

from __future__ import annotations

from typing import Any, Final

import pytest
import yaml

from edgekeeper.api.cloudfront_rules import MOST_DOMAINS, MOST_LOCATIONS, MOST_PARAMETERS
from edgekeeper.core.aws_identifiers import MOST_TAGS
from edgekeeper.core.json import JsonObject

ACCOUNT = "111122223333"
CERTIFICATE = f"arn:aws:acm:us-east-1:{ACCOUNT}:certificate/12345678-1234-1234-1234-123456789012"
WEB_ACL = f"arn:aws:wafv2:us-east-1:{ACCOUNT}:global/webacl/shop/12345678-1234-1234-1234-123456789012"
DNS = {"provider": "route53", "hostedZoneId": "Z1234567890ABC", "ttl": 300}


def domains(*names: str) -> JsonObject:
    return {"domains": [{"domain": name} for name in names]}


def customized(**settings: Any) -> JsonObject:
    return {"customizations": settings}


def longest(number: int) -> str:
    """A domain name of 253 characters, which is as long as one can be."""
    return f"{number:03}{'a' * 60}.{'b' * 63}.{'c' * 63}.{'d' * 53}.example"


REFUSED: Final[list[Any]] = [
    pytest.param(
        domains("https://shop.example.com/cart"),
        "spec.domains[0].domain",
        "leave out the scheme, the port and the path",
        id="URL",
    ),
    pytest.param(
        domains("a.io", "shop.example.com:443"),
        "spec.domains[1].domain",
        "leave out the scheme, the port and the path",
        id="port",
    ),
    pytest.param(
        domains("bücher.example"),
        "spec.domains[0].domain",
        "write it in punycode (xn--...)",
        id="Unicode",
    ),
    pytest.param(
        domains("\u212aiosk.example"),
        "spec.domains[0].domain",
        "punycode",
        id="a letter that looks like K",
    ),
    pytest.param(
        domains("a.*.example.com"),
        "spec.domains[0].domain",
        "only the first label may be *",
        id="wildcard in the middle",
    ),
    pytest.param(
        domains("*"), "spec.domains[0].domain", "only the first label may be *", id="wildcard alone"
    ),
    pytest.param(
        domains("shop example.com"), "spec.domains[0].domain", "such as shop.example.com", id="space"
    ),
    pytest.param(domains("shop"), "spec.domains[0].domain", "such as shop.example.com", id="one label"),
    pytest.param(domains("a.io\n"), "spec.domains[0].domain", "such as shop.example.com", id="end of line"),
    pytest.param(domains(f"{'a' * 64}.io"), "spec.domains[0].domain", "two or more labels", id="long label"),
    pytest.param(
        domains("a.io", "b.io", "a.io"), "spec.domains", "no two domains may be the same", id="twice"
    ),
    pytest.param(
        {
            "managedCertificateRequest": {
                "validationTokenHost": "cloudfront",
                "primaryDomainName": "https://a.io",
            }
        },
        "spec.managedCertificateRequest.primaryDomainName",
        "leave out the scheme",
        id="primary domain",
    ),
    pytest.param(
        {"distributionId": "e1/../x"}, "spec.distributionId", "such as E1XNX8R2GOAABC", id="distribution"
    ),
    pytest.param(
        {"connectionGroupId": f"arn:aws:cloudfront::{ACCOUNT}:connection-group/cg_1"},
        "spec.connectionGroupId",
        "by its id, such as cg_",
        id="connection group",
    ),
    pytest.param(
        {"tags": [{"key": "AWS:team"}]}, "spec.tags[0].key", "reserved: choose another", id="tag of AWS"
    ),
    pytest.param(
        {"tags": [{"key": "edgekeeper.io/uid", "value": "1"}]},
        "spec.tags[0].key",
        "reserved: choose another",
        id="tag of ours",
    ),
    pytest.param(
        {"tags": [{"key": "team", "value": "a,b"}]},
        "spec.tags[0].value",
        "letters, digits, spaces and the characters",
        id="tag with a comma",
    ),
    pytest.param({"tags": [{"key": "a"}, {"key": "a"}]}, "spec.tags", "no two tags", id="tag twice"),
    pytest.param(
        {"parameters": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]},
        "spec.parameters",
        "no two parameters",
        id="parameter twice",
    ),
    pytest.param(
        customized(certificate={"arn": f"arn:aws:acm:us-east-1:{ACCOUNT}:key/1"}),
        "spec.customizations.certificate.arn",
        "the form arn:aws:acm:us-east-1:111122223333:certificate/ID",
        id="certificate",
    ),
    pytest.param(
        customized(webAcl={"action": "override", "arn": "nonsense"}),
        "spec.customizations.webAcl.arn",
        "the form arn:aws:wafv2:us-east-1:111122223333:global/webacl/NAME/ID",
        id="web ACL",
    ),
    pytest.param(
        customized(webAcl={"action": "override", "arn": WEB_ACL.replace("global", "regional")}),
        "spec.customizations.webAcl.arn",
        "global/webacl",
        id="regional web ACL",
    ),
    pytest.param(
        customized(webAcl={"action": "override", "arn": ""}),
        "spec.customizations.webAcl",
        "arn is required",
        id="no web ACL",
    ),
    pytest.param(
        customized(geoRestrictions={"restrictionType": "whitelist", "locations": ["DE", "Germany"]}),
        "spec.customizations.geoRestrictions.locations[1]",
        "two capital letters of ISO 3166-1",
        id="country",
    ),
    pytest.param(
        customized(geoRestrictions={"restrictionType": "blacklist"}),
        "spec.customizations.geoRestrictions",
        "at least one country",
        id="no country",
    ),
    pytest.param(
        customized(geoRestrictions={"restrictionType": "blacklist", "locations": ["DE", "DE"]}),
        "spec.customizations.geoRestrictions.locations",
        "no two locations",
        id="country twice",
    ),
    pytest.param(
        {"dns": {**DNS, "hostedZoneId": "example.com"}},
        "spec.dns.hostedZoneId",
        "such as Z123",
        id="zone",
    ),
    pytest.param(
        {"dns": {**DNS, "assumeRoleArn": "role/dns"}},
        "spec.dns.assumeRoleArn",
        "the form arn:aws:iam::111122223333:role/NAME",
        id="role",
    ),
    pytest.param(
        {"tags": [{"key": f"k{n}"} for n in range(MOST_TAGS + 1)]}, "spec.tags", "Too many", id="51 tags"
    ),
]
"""A spec that is refused, the field that is blamed, and the remedy."""

ADMITTED: Final[list[Any]] = [
    pytest.param(
        domains("Shop.Example.COM.", "*.example.com", "_x.a.io", "xn--bcher-kva.example"), id="names"
    ),
    pytest.param({"dns": {**DNS, "hostedZoneId": "/hostedzone/Z1"}}, id="zone as the API writes it"),
    pytest.param({"connectionGroupId": "", "dns": {**DNS, "assumeRoleArn": ""}}, id="empty as unset"),
    pytest.param(customized(webAcl={"action": "disable", "arn": ""}), id="no web ACL"),
    pytest.param(
        customized(geoRestrictions={"restrictionType": "none", "locations": []}), id="no restriction"
    ),
    pytest.param({"tags": [{"key": "Zürich 1", "value": "a=b+c@d:/.-_"}]}, id="tag"),
    pytest.param(
        {"dns": {**DNS, "assumeRoleArn": "arn:aws-us-gov:iam::123456789012:role/a/b"}}, id="partition"
    ),
    pytest.param(domains(*map(longest, range(100))), id="as many domains as AWS's quota allows"),
    pytest.param(domains(*map(longest, range(150))), id="as many domains as are compared"),
    pytest.param(domains(*map(longest, range(MOST_DOMAINS))), id="as many domains as are allowed"),
    pytest.param(
        {"parameters": [{"name": f"{n:0128}", "value": "v" * 256} for n in range(MOST_PARAMETERS)]},
        id="as many parameters as are allowed",
    ),
    pytest.param(
        {"tags": [{"key": f"{n:0128}", "value": "v" * 256} for n in range(MOST_TAGS)]},
        id="as many tags as are allowed",
    ),
    pytest.param(
        customized(
            geoRestrictions={
                "restrictionType": "blacklist",
                "locations": [chr(65 + n // 26) + chr(65 + n % 26) for n in range(MOST_LOCATIONS)],
            }
        ),
        id="as many countries as are allowed",
    ),
]
"""Specs that are taken, among them the largest lists."""

_SAMPLES = """
distributionId: E1XNX8R2GOAABC
domains: [{domain: minimal.example.com}]
---
distributionId: E1XNX8R2GOAABC
domains: [{domain: full.example.com}, {domain: www.full.example.com}]
enabled: true
connectionGroupId: cg_2whCJoXMYCjHcxaLGrkllvyABC
parameters: [{name: tenantName, value: full-tenant}, {name: originPath, value: /tenants/full}]
customizations:
  webAcl:
    action: override
    arn: arn:aws:wafv2:us-east-1:123456789012:global/webacl/my-tenant-waf/abc123
  certificate:
    arn: arn:aws:acm:us-east-1:123456789012:certificate/abc12345-1234-1234-1234-abc123456789
  geoRestrictions: {restrictionType: whitelist, locations: [US, CA, GB, DE, FR]}
tags: [{key: env, value: production}, {key: team, value: platform}]
---
distributionId: E1XNX8R2GOAABC
domains: [{domain: managed-cert.example.com}]
managedCertificateRequest:
  validationTokenHost: cloudfront
  primaryDomainName: managed-cert.example.com
  certificateTransparencyLoggingPreference: enabled
tags: [{key: env, value: staging}]
---
distributionId: E1XNX8R2GOAABC
domains: [{domain: dns-managed.example.com}]
managedCertificateRequest: {validationTokenHost: cloudfront, primaryDomainName: dns-managed.example.com}
dns:
  provider: route53
  hostedZoneId: Z1234567890ABC
  ttl: 300
  assumeRoleArn: arn:aws:iam::123456789012:role/route53-manager
"""
PREDECESSOR: Final[list[JsonObject]] = list(yaml.safe_load_all(_SAMPLES))
"""The specs of cloudfront-tenant-operator's samples."""


STALE: Final[JsonObject] = dict(
    **domains("https://bücher.example", "a.*.io", "a.*.io"),
    distributionId="nonsense",
    connectionGroupId="a b",
    tags=[{"key": "aws:x"}, {"key": "aws:x"}],
    dns={"provider": "route53", "hostedZoneId": "nonsense", "assumeRoleArn": "nonsense"},
    **customized(
        webAcl={"action": "override", "arn": "nonsense"},
        certificate={"arn": "nonsense"},
        geoRestrictions={"restrictionType": "whitelist", "locations": ["Germany", "Germany"]},
    ),
)
"""Nothing in it would be admitted today."""
