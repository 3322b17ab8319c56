"""Every operation that the simulated cloud knows, by service and name."""

from __future__ import annotations

from collections.abc import Mapping

from edgekeeper.local.aws.call import Operation
from edgekeeper.local.aws.cloudfront import certificates, tenants
from edgekeeper.local.aws.route53 import changes, listing

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
        "GetManagedCertificateDetails": certificates.details,
    },
    "route53": {
        "ChangeResourceRecordSets": changes.change_records,
        "GetChange": changes.get_change,
        "ListResourceRecordSets": listing.list_records,
        "ListHostedZones": listing.list_zones,
        "ListHostedZonesByName": listing.list_zones_by_name,
        "GetHostedZone": listing.get_zone,
    },
}
