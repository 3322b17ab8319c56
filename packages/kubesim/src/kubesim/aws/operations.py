"""Every operation that the simulated cloud knows, by service and name."""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.aws import sts
from kubesim.aws.acm import operations as acm
from kubesim.aws.apigateway import domains as api_domains
from kubesim.aws.apigateway import mappings, rules
from kubesim.aws.apigateway import tags as api_tags
from kubesim.aws.call import Operation
from kubesim.aws.cloudfront import certificates, distributions, domains, groups, tags, tenants
from kubesim.aws.functions import permissions
from kubesim.aws.route53 import changes, listing, zones

OPERATIONS: Mapping[str, Mapping[str, Operation]] = {
    "cloudfront": {
        "CreateDistributionTenant": tenants.create,
        "GetDistributionTenant": tenants.get,
        "GetDistributionTenantByDomain": tenants.get_by_domain,
        "UpdateDistributionTenant": tenants.update,
        "DeleteDistributionTenant": tenants.delete,
        "ListDistributionTenants": tenants.list_all,
        "ListDistributionTenantsByCustomization": tenants.list_by_customization,
        "AssociateDistributionTenantWebACL": tenants.associate_web_acl,
        "DisassociateDistributionTenantWebACL": tenants.disassociate_web_acl,
        "CreateConnectionGroup": groups.create,
        "GetConnectionGroup": groups.get,
        "GetConnectionGroupByRoutingEndpoint": groups.get_by_endpoint,
        "UpdateConnectionGroup": groups.update,
        "DeleteConnectionGroup": groups.delete,
        "ListConnectionGroups": groups.list_all,
        "GetManagedCertificateDetails": certificates.details,
        "ListDomainConflicts": domains.list_conflicts,
        "UpdateDomainAssociation": domains.update_association,
        "VerifyDnsConfiguration": domains.verify_dns,
        "GetDistribution": distributions.get,
        "GetDistributionConfig": distributions.get_config,
        "TagResource": tags.tag,
        "UntagResource": tags.untag,
        "ListTagsForResource": tags.list_all,
    },
    "route53": {
        "CreateHostedZone": zones.create,
        "DeleteHostedZone": zones.delete,
        "GetHostedZone": zones.get,
        "GetHostedZoneLimit": zones.get_limit,
        "ListHostedZones": listing.list_zones,
        "ListHostedZonesByName": listing.list_zones_by_name,
        "ListResourceRecordSets": listing.list_records,
        "ChangeResourceRecordSets": changes.change_records,
        "GetChange": changes.get_change,
    },
    "acm": {
        "RequestCertificate": acm.request,
        "DescribeCertificate": acm.describe,
        "ListCertificates": acm.list_all,
        "DeleteCertificate": acm.delete,
        "AddTagsToCertificate": acm.add_tags,
        "RemoveTagsFromCertificate": acm.remove_tags,
        "ListTagsForCertificate": acm.list_tags,
    },
    "apigateway": {
        "CreateDomainName": api_domains.create,
        "GetDomainName": api_domains.get,
        "GetDomainNames": api_domains.list_all,
        "UpdateDomainName": api_domains.update,
        "DeleteDomainName": api_domains.delete,
        "CreateApiMapping": mappings.create,
        "GetApiMapping": mappings.get,
        "GetApiMappings": mappings.list_all,
        "UpdateApiMapping": mappings.update,
        "DeleteApiMapping": mappings.delete,
        "CreateRoutingRule": rules.create,
        "GetRoutingRule": rules.get,
        "ListRoutingRules": rules.list_all,
        "PutRoutingRule": rules.put,
        "DeleteRoutingRule": rules.delete,
        "TagResource": api_tags.tag,
        "UntagResource": api_tags.untag,
        "GetTags": api_tags.get,
    },
    "lambda": {
        "AddPermission": permissions.add_permission,
        "RemovePermission": permissions.remove_permission,
        "GetPolicy": permissions.get_policy,
        "GetFunction": permissions.get_function,
    },
    "sts": {
        "AssumeRole": sts.assume_role,
        "AssumeRoleWithWebIdentity": sts.assume_role_with_web_identity,
        "GetCallerIdentity": sts.get_caller_identity,
    },
}
