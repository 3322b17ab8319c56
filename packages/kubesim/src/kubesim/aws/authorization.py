"""What each call must be allowed to do: IAM's name for the action, the resource it is about, and the facts of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubesim.aws.call import Call
from kubesim.aws.errors import AwsError
from kubesim.aws.iam import Wish, complaint, like
from kubesim.aws.route53.changes import bare
from kubesim.aws.route53.names import normal

CODES = {
    "cloudfront": "AccessDenied",
    "route53": "AccessDenied",
    "sts": "AccessDenied",
    "acm": "AccessDeniedException",
    "apigateway": "AccessDeniedException",
    "lambda": "AccessDeniedException",
}
_ALWAYS_ALLOWED = ("GetCallerIdentity", "AssumeRoleWithWebIdentity")


class Guard:
    """Lets calls pass that the caller's policies allow. What is denied here is denied to everybody."""

    def __init__(self) -> None:
        self.denied: set[str] = set()
        """Patterns of actions, such as `cloudfront:Update*`."""
        self.granted: set[str] = set()
        """What callers with policies have asked for and were allowed: a policy need not say more."""

    def admit(self, call: Call, method: str, path: str) -> None:
        """Raise AccessDenied, in the words of the service, for a call that may not be made."""
        if call.operation in _ALWAYS_ALLOWED or not (self.denied or call.principal.policies):
            return
        for wish in wishes(call, method, path):
            reason = self._reason(call, wish)
            if reason:
                raise AwsError(
                    CODES[call.service],
                    f"User: {call.principal.arn} is not authorized to perform: {wish.action} on resource: "
                    f"{wish.resource} {reason}",
                )
            self.granted.add(wish.action)

    def _reason(self, call: Call, wish: Wish) -> str | None:
        if any(like(pattern, wish.action) for pattern in self.denied):
            return "with an explicit deny in a service control policy"
        return complaint(call.principal.policies, wish) if call.principal.policies else None


def wishes(call: Call, method: str, path: str) -> list[Wish]:
    """Everything that a call needs to be allowed."""
    return _WISHES[call.service](call, method, path)


def _cloudfront(call: Call, _method: str, _path: str) -> list[Wish]:
    params = call.params
    tags = {item["Key"]: item.get("Value", "") for item in (params.get("Tags") or {}).get("Items") or ()}
    resource, own_tags = _cloudfront_resource(call)
    context = _tag_context(tags, own_tags)
    asked = [Wish(f"cloudfront:{call.operation}", resource, context)]
    if tags and call.operation.startswith("Create"):
        asked.append(Wish("cloudfront:TagResource", resource, context))
    if params.get("ManagedCertificateRequest"):
        asked.append(Wish("acm:RequestCertificate"))  # CloudFront asks ACM in the caller's name
    return asked


def _cloudfront_resource(call: Call) -> tuple[str, Mapping[str, str]]:
    """The ARN that a call is about, with the tags that it has. Lookups by name are about nothing in particular."""
    state, params = call.account.cloudfront, call.params
    prefix = f"arn:aws:cloudfront::{call.account.id}:"
    if "Resource" in params:
        return params["Resource"], {}
    if call.operation.startswith("GetDistribution") and "Id" in params:
        return f"{prefix}distribution/{params['Id']}", {}
    if "ConnectionGroup" in call.operation and "Id" in params:
        group = state.groups.get(params["Id"])
        return f"{prefix}connection-group/{params['Id']}", group.tags if group else {}
    if "Id" in params:
        tenant = state.tenants.get(state.tenant_id(params["Id"]))
        return f"{prefix}distribution-tenant/{params['Id']}", tenant.tags if tenant else {}
    return "*", {}


def _tag_context(requested: Mapping[str, str], present: Mapping[str, str]) -> dict[str, Any]:
    context: dict[str, Any] = {f"aws:RequestTag/{key}": value for key, value in requested.items()}
    context |= {f"aws:ResourceTag/{key}": value for key, value in present.items()}
    return context | ({"aws:TagKeys": list(requested)} if requested else {})


def _route53(call: Call, _method: str, _path: str) -> list[Wish]:
    params = call.params
    zone = params.get("HostedZoneId") if "DNSName" not in params else None
    if call.operation == "GetChange":
        resource = f"arn:aws:route53:::change/{bare(params['Id'])}"
    elif zone or "Id" in params:
        resource = f"arn:aws:route53:::hostedzone/{bare(zone or params['Id'])}"
    else:
        resource = "*"
    changes = (params.get("ChangeBatch") or {}).get("Changes") or ()
    records = [change["ResourceRecordSet"] for change in changes]
    context = {
        "route53:ChangeResourceRecordSetsActions": [change["Action"] for change in changes],
        "route53:ChangeResourceRecordSetsRecordTypes": [record["Type"] for record in records],
        "route53:ChangeResourceRecordSetsNormalizedRecordNames": [
            normal(record["Name"]).rstrip(".") for record in records
        ],
    }
    return [Wish(f"route53:{call.operation}", resource, context if changes else {})]


def _acm(call: Call, _method: str, _path: str) -> list[Wish]:
    params = call.params
    tags = {item["Key"]: item.get("Value", "") for item in params.get("Tags") or ()}
    context = _tag_context(tags, {})
    if "DomainName" in params:
        context["acm:DomainNames"] = [params["DomainName"], *params.get("SubjectAlternativeNames", ())]
        context["acm:ValidationMethod"] = params.get("ValidationMethod", "EMAIL")
    wish = Wish(f"acm:{call.operation}", params.get("CertificateArn", "*"), context)
    if tags and call.operation == "RequestCertificate":
        return [wish, Wish("acm:AddTagsToCertificate", "*", context)]
    return [wish]


def _apigateway(call: Call, method: str, path: str) -> list[Wish]:
    """Actions are HTTP methods, resources are paths."""
    resource = f"arn:aws:apigateway:{call.region}::{path.removeprefix('/v2')}"
    wish = Wish(f"apigateway:{method}", resource, _tag_context(call.params.get("Tags") or {}, {}))
    if "DomainNameConfigurations" in call.params:
        return [wish, Wish("apigateway:AddCertificateToDomain", resource)]
    return [wish]


def _lambda(call: Call, _method: str, _path: str) -> list[Wish]:
    name = call.params["FunctionName"]
    prefix = f"arn:aws:lambda:{call.region}:{call.account.id}:function:"
    resource = name if name.startswith("arn:") else prefix + name.rpartition("function:")[2]
    context = {"lambda:Principal": call.params["Principal"]} if "Principal" in call.params else {}
    return [Wish(f"lambda:{call.operation}", resource, context)]


def _sts(call: Call, _method: str, _path: str) -> list[Wish]:
    return [Wish(f"sts:{call.operation}", call.params.get("RoleArn", "*"))]


_WISHES: Mapping[str, Callable[[Call, str, str], list[Wish]]] = {
    "cloudfront": _cloudfront,
    "route53": _route53,
    "acm": _acm,
    "apigateway": _apigateway,
    "lambda": _lambda,
    "sts": _sts,
}
