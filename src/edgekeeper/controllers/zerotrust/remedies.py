"""What the reasons of HTTPRoutes, CloudflareTasks, tenants, templates and OperatorConfigs mean, beside those of all kinds."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.lifecycle.remedies import Remedy

_SOON: Final = timedelta(minutes=1)
_WORKER: Final = "the cloudflare-worker"

_CREDENTIALS: Final = (
    Remedy(
        "CredentialNotFound",
        "the Secret with the API token, or its key, does not exist, or the operator may not read it",
        "create the Secret that the message names, with the API token under the key of `spec.credentialRef`; grant the "
        "operator `get` on it (value `secrets.namespaces` of the chart)",
    ),
    Remedy(
        "CredentialInvalid",
        "the Secret has something that cannot be an API token",
        "put the API token of Cloudflare into the key, without quotes or line breaks",
    ),
    Remedy(
        "CredentialPending",
        "the Secret with the API token is being read",
        "wait; if it lasts, check that the operator may read the Secret",
        waits_for="the API server",
        within=_SOON,
    ),
    Remedy(
        "AuthFailed",
        "Cloudflare does not accept the API token, or the token lacks a permission that the message names",
        "create a token with the permissions of docs/kinds/cloudflare-zero-trust-tenant.md, and put it into the Secret",
    ),
    Remedy(
        "CloudflareAPIError",
        "the account has no such tunnel",
        "correct `spec.tunnelId`, or create the tunnel",
        message="has no tunnel",
    ),
    Remedy(
        "CloudflareAPIError",
        "Cloudflare refuses the API token or the request, or cannot be used; the message is Cloudflare's",
        "check the token in the Secret, its permissions and expiry, and `spec.accountId`; `edgekeeper doctor` verifies each "
        "token",
    ),
)
_CLOUDFLARE: Final = (
    Remedy(
        "QuotaExceeded",
        "a limit of the Cloudflare plan is reached, such as the number of Access applications or rules",
        "delete what is not needed, or have the limit raised; it is tried again every 30 minutes",
    ),
    Remedy(
        "AccessNotEnabled",
        "Zero Trust was never switched on in the account",
        "open Zero Trust in the dashboard of Cloudflare once, and choose a team name",
    ),
    Remedy(
        "TunnelNotFound",
        "the account has no tunnel of the id that the tenant names",
        "correct `spec.tunnelId` of the tenant, or create the tunnel",
    ),
    Remedy(
        "TunnelConnected",
        "the tunnel has connections, and cannot be deleted",
        "stop its cloudflared",
        waits_for="the connections",
    ),
    Remedy(
        "TunnelConfigContended",
        "somebody else writes the rules of the tunnel at the same time",
        "let only the operator write them; it is tried again",
        waits_for="the next attempt",
        within=_SOON,
    ),
    Remedy(
        "TunnelConfigInconsistent",
        "Cloudflare returned rules of the tunnel that contradict each other",
        "wait for the next attempt; if it lasts, look at the rules in the dashboard",
        waits_for="the next attempt",
        within=_SOON,
    ),
    Remedy(
        "GroupNotFound",
        "the account has no Access group of that name or id",
        "create the group, or correct the name",
    ),
    Remedy(
        "AmbiguousGroup",
        "the account has several Access groups of that name",
        "write the id of one of them, which the message lists",
    ),
    Remedy(
        "PolicyNotFound",
        "the account has no reusable Access policy of that name or id",
        "create the policy, or correct the name",
    ),
    Remedy(
        "AmbiguousPolicy",
        "the account has several Access policies of that name",
        "write the id of one of them, which the message lists",
    ),
    Remedy(
        "IdentityProviderNotFound",
        "the account has no identity provider of that name or id",
        "correct the name; the message lists those that there are",
    ),
    Remedy(
        "AmbiguousIdentityProvider",
        "it does not follow from the settings which identity provider is meant",
        "name one, by its id, in `allowedIdps`",
    ),
    Remedy(
        "ZoneNotFound",
        "the account has no active zone for the hostname, or the token may not see it",
        "add the zone to the account, correct the hostname, or allow the token `Zone:Read` and `DNS:Edit` on it",
    ),
    Remedy(
        "ZoneMismatch",
        "a hostname is not in the zone that the tenant or the route names",
        "correct the hostname or the zone id",
    ),
    Remedy(
        "RecordConflict",
        "another DNS record exists where the route's should be",
        'remove it, or adopt it with `edgekeeper.io/adopt: "true"`',
    ),
    Remedy(
        "HostnameConflict",
        "a rule of the tunnel for the hostname belongs to somebody else",
        'remove the rule, or adopt it with `edgekeeper.io/adopt: "true"`',
    ),
    Remedy(
        "ApplicationConflict",
        "an Access application for the hostname exists that is not the route's",
        'remove it, adopt it with `edgekeeper.io/adopt: "true"`, or name it as existing application',
    ),
    Remedy(
        "ApplicationNotFound",
        "the existing Access application that the settings name is not in the account",
        "correct its name or id, or create it",
    ),
    Remedy(
        "OwnedByOther",
        "what the route needs has the ownership mark of another object or cluster",
        "remove the hostname from one of the two, or remove the mark if its owner is gone",
    ),
    Remedy(
        "ServiceTokenConflict",
        "a service token of that name exists that is not the route's",
        "choose another name for the token, or delete the other one",
    ),
    Remedy(
        "SecretConflict",
        "the Secret for the service token exists and is not the operator's",
        "choose another name for the Secret, or delete the other one",
    ),
    Remedy(
        "NoPolicy",
        "an Access application without a policy would let nobody, or everybody, in",
        "set rules (`access.include`), a group, or reusable policies",
    ),
    Remedy(
        "TooManyHostnames",
        "an Access application takes fewer hostnames than the route has",
        "divide the route into several",
    ),
    Remedy(
        "NotConverging",
        "the same change was made several times, and Cloudflare still shows something else",
        "find out who changes it back; the message has the change",
    ),
    Remedy("NotFound", "Cloudflare has no such address", "check `--cloudflare-api-base`"),
    Remedy("NotSupported", "tasks cannot be orphaned", "orphan the HTTPRoute instead"),
)
_ROUTES: Final = (
    Remedy(
        "InvalidAnnotation",
        "an annotation of the route has an unknown key or value; nothing is published or changed until it is corrected",
        "correct the key or value that the message names; docs/kinds/httproute.md lists all",
    ),
    Remedy(
        "InvalidSettings",
        "a setting of the template or tenant is not valid, or contradicts another one",
        "correct the setting; the message has its path and where it comes from",
    ),
    Remedy(
        "TenantNotFound",
        "there is no CloudflareZeroTrustTenant that the route could use",
        "create one, or name one in the annotation `cfzt.cloudflare.com/tenant`",
    ),
    Remedy(
        "TenantAmbiguous",
        "the namespace has several tenants",
        "name one in the annotation `cfzt.cloudflare.com/tenant`",
    ),
    Remedy("TenantInvalid", "the tenant does not fit its kind", "correct the fields that the message names"),
    Remedy(
        "NamespaceNotAllowed",
        "the tenant does not allow routes of this namespace",
        "have the namespace added to `spec.allowedNamespaces` of the tenant, or use another tenant",
    ),
    Remedy(
        "TemplateNotFound",
        "there is no template of the name that the route's annotation has",
        "create it in the namespace of the tenant or of the route, or correct `cfzt.cloudflare.com/template`",
    ),
    Remedy(
        "TemplateInvalid", "the template does not fit its kind", "correct the fields that the message names"
    ),
    Remedy(
        "NoHostname",
        "neither the route nor its annotations have a hostname",
        "add `spec.hostnames`, or the annotation `cfzt.cloudflare.com/hostname`",
    ),
    Remedy(
        "HostnameNotAllowed",
        "`--hostname-policy` does not allow the namespace this hostname",
        "choose a hostname below the domains that the message names, or ask the administrators of the operator",
    ),
    Remedy(
        "DomainConflict",
        "another object claims the hostname, which the message names",
        "remove the hostname from one of the two; the other then continues by itself",
    ),
    Remedy(
        "UnsupportedRoute",
        "a tunnel cannot do what the rules of the route say, such as matching headers",
        "remove what the message names, or set an origin that does it (`cfzt.cloudflare.com/origin`)",
    ),
    Remedy(
        "ReferenceNotGranted",
        "the route refers to another namespace, and no ReferenceGrant there allows it",
        "create a ReferenceGrant in the namespace that the message names",
    ),
    Remedy(
        "ServiceNotFound",
        "a Service that the route refers to does not exist",
        "create it, or correct `backendRefs`",
    ),
    Remedy(
        "NoAddress",
        "a record without a tunnel needs an address, and the Service or Gateway has none",
        "wait for its address, or set one in the annotation that the message names",
    ),
    Remedy(
        "PublicAddress",
        "the record would have a public address, which `--dns-only-public` does not allow",
        "use a private address, or have an administrator set `--dns-only-public`",
    ),
    Remedy(
        "ProtectionRemoved",
        "the route is protected by Access, and no setting says any more whether it shall be",
        'write `access.enabled` "true" to keep the protection, or "false" to remove it',
    ),
    Remedy(
        "MassDeletion",
        "many routes disappeared at once, and none of them is withdrawn",
        'restore the routes; or, if it is meant, annotate their state ConfigMaps with `edgekeeper.io/confirm-deletion: "true"`',
    ),
    Remedy(
        "StateUnreadable",
        "the state ConfigMap of the route has something that cannot be read",
        "restore the ConfigMap that the message names, or remove what was changed in it",
    ),
    Remedy(
        "NameConflict",
        "an object of the operator's namespace has the name of the route's state or task, and is not the operator's; or the "
        "name is taken at Cloudflare",
        "rename or delete what the message names",
    ),
    Remedy(
        "TaskFailed",
        "the task of the route failed without a reason; its status has the message",
        "act on the message of the task",
    ),
    Remedy(
        "Failed", "the task failed; its conditions and its message say why", "act on the message of the task"
    ),
    Remedy(
        "Progressing", "the changes are being made at Cloudflare", "wait", waits_for=_WORKER, within=_SOON
    ),
    Remedy("Withdrawing", "what was published is being removed", "wait", waits_for=_WORKER, within=_SOON),
    Remedy("InProgress", "the task is being performed", "wait", waits_for=_WORKER, within=_SOON),
    Remedy(
        "NotSynced",
        "what is in the cloud is not listed yet",
        "wait",
        waits_for="the first listing",
        within=_SOON,
    ),
    Remedy(
        "Forbidden",
        "the user of `edgekeeper plan` may not read something that the preview needs",
        "grant the right that the message names",
    ),
)
_OPERATOR_CONFIG: Final = (
    Remedy(
        "InvalidConfiguration",
        "the OperatorConfig has a value that is not valid",
        "correct the field that the message names",
    ),
    Remedy(
        "AnotherConfigInUse",
        "there are several OperatorConfigs, and another one is in use",
        "delete all but one; the message names the one in use",
    ),
    Remedy(
        "DeploymentNotFound",
        "the Deployment of the operator was not found",
        "set `--operator-deployment`, or POD_NAME, on the operator",
    ),
    Remedy(
        "DeploymentsForbidden",
        "the operator may not write its own Deployment",
        "grant the right that the message names",
    ),
    Remedy(
        "DeploymentNotReady",
        "the Deployment of the operator is being rolled out",
        "wait; if it lasts, look at its pods",
        waits_for="the rollout",
        within=timedelta(minutes=10),
    ),
    Remedy(
        "DeploymentConflict",
        "a Deployment that a worker would have exists and is not the operator's",
        "rename or delete it",
    ),
)

REMEDIES: Final[tuple[Remedy, ...]] = (*_CREDENTIALS, *_CLOUDFLARE, *_ROUTES, *_OPERATOR_CONFIG)
