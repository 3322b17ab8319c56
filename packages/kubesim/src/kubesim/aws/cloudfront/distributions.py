"""Reading distributions. They are made by scenarios: what an operator of tenants needs of them is to look at them."""

from __future__ import annotations

from typing import Any

from kubesim.aws.call import Call, Result
from kubesim.aws.cloudfront.resources import Distribution, ParameterDefinition
from kubesim.aws.errors import AwsError

_ORIGIN = "origin"


def get(call: Call) -> Result:
    state = call.account.cloudfront
    distribution = _found(call)
    view = {
        "Id": distribution.id,
        "ARN": distribution.arn,
        "Status": state.status(distribution),
        "LastModifiedTime": distribution.modified,
        "InProgressInvalidationBatches": 0,
        "DomainName": distribution.endpoint,
        "DistributionConfig": _config(distribution),
    }
    return {"Distribution": view, "ETag": distribution.etag}


def get_config(call: Call) -> Result:
    distribution = _found(call)
    return {"DistributionConfig": _config(distribution), "ETag": distribution.etag}


def _found(call: Call) -> Distribution:
    found = call.account.cloudfront.distributions.get(call.params["Id"])
    if found is None:
        raise AwsError("NoSuchDistribution", "The specified distribution does not exist.")
    return found


def _config(distribution: Distribution) -> dict[str, Any]:
    definitions = [_definition(definition) for definition in distribution.parameters]
    return {
        "CallerReference": distribution.id,
        "Aliases": {"Quantity": len(distribution.aliases), "Items": list(distribution.aliases)},
        "DefaultRootObject": "",
        "Origins": {"Quantity": 1, "Items": [{"Id": _ORIGIN, "DomainName": "origin.example.net"}]},
        "DefaultCacheBehavior": {"TargetOriginId": _ORIGIN, "ViewerProtocolPolicy": "redirect-to-https"},
        "Comment": "",
        "PriceClass": "None" if distribution.tenant_only else "PriceClass_All",
        "Enabled": distribution.enabled,
        "ViewerCertificate": _viewer_certificate(distribution.certificate),
        "Restrictions": {"GeoRestriction": {"RestrictionType": "none", "Quantity": 0}},
        "WebACLId": distribution.web_acl,
        "HttpVersion": "http2",
        "TenantConfig": {"ParameterDefinitions": definitions} if distribution.tenant_only else None,
        "ConnectionMode": "tenant-only" if distribution.tenant_only else "direct",
    }


def _definition(definition: ParameterDefinition) -> dict[str, Any]:
    schema = {
        "Comment": definition.comment,
        "DefaultValue": definition.default,
        "Required": definition.required,
    }
    return {"Name": definition.name, "Definition": {"StringSchema": schema}}


def _viewer_certificate(arn: str | None) -> dict[str, Any]:
    if arn is None:
        return {"CloudFrontDefaultCertificate": True, "MinimumProtocolVersion": "TLSv1"}
    return {
        "CloudFrontDefaultCertificate": False,
        "ACMCertificateArn": arn,
        "SSLSupportMethod": "sni-only",
        "MinimumProtocolVersion": "TLSv1.2_2021",
        "Certificate": arn,
        "CertificateSource": "acm",
    }
