"""What people have made by hand in both clouds, with variety: none of it by an operator."""

from __future__ import annotations

from typing import Any, Final

from edgekeeper.core.json import JsonObject
from kubesim.aws.apigateway.state import ApiDomain, Mapped
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.route53.records import CLOUDFRONT_ZONE, Alias, Record
from tests.bridge.estate import REGION
from tests.importing.world import SHOP, World
from tests.tenants.estate import DISTRIBUTION

WEB_ACL: Final = (
    "arn:aws:wafv2:us-east-1:111122223333:global/webacl/edge/11112222-3333-4444-5555-666677778888"
)


# CloudFront


def make_tenants(here: World, count: int) -> None:
    """Tenants with all options, one after the other."""
    estate, cloudfront = here.aws, here.aws.cloud.cloudfront
    parameters = (ParameterDefinition("tier", required=False), ParameterDefinition("origin", required=False))
    cloudfront.change_distribution(DISTRIBUTION, parameters=parameters)
    own = estate.cloud.account().certificates("us-east-1").add_issued("*.example.com", "*.own.example.com")
    options: list[JsonObject] = [
        {},
        {"parameters": (("tier", "gold"), ("origin", "a"))},
        {"customizations": {"WebAcl": {"Action": "override", "Arn": WEB_ACL}}},
        {"customizations": {"WebAcl": {"Action": "disable"}}, "tags": {"team": "a", "cost center": "7"}},
        {"customizations": {"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["FR", "DE"]}}},
        {"customizations": {"Certificate": {"Arn": own.arn}}},
        {"enabled": False},
        {"tags": {"aws:cloudformation:stack-name": "shops", "team": "b"}},
        {
            "parameters": (("tier", "silver"),),
            "customizations": {"GeoRestrictions": {"RestrictionType": "none"}},
        },
    ]
    for number in range(count):
        name = f"shop-{number:02}"
        domains = (
            [f"{name}.example.com"] if number % 4 else [f"{name}.example.com", f"www-{name}.example.com"]
        )
        estate.make_tenant(name, *domains, **options[number % len(options)])
        if number % 3:
            lead(here, *domains, ttl=600 if number % 5 == 0 else 300)


def lead(here: World, *names: str, ttl: int = 300, target: str = "") -> None:
    """Names lead to CloudFront by CNAMEs."""
    endpoint = target or here.aws.cloud.cloudfront.default_group().endpoint
    for name in names:
        here.aws.cloud.route53.put_record(here.aws.zone, Record(f"{name}.", "CNAME", ttl, (f"{endpoint}.",)))


def make_special_tenants(here: World) -> None:
    """Tenants that need more than one call: of another group, at the apex of a zone, with a managed certificate."""
    estate, cloudfront = here.aws, here.aws.cloud.cloudfront
    default = cloudfront.default_group()
    group = cloudfront.keep_group(cloudfront.new_group("other"))
    estate.make_tenant("grouped", "grouped.example.com", group=group.id)
    lead(here, "grouped.example.com", target=group.endpoint)
    certificates = estate.cloud.account().certificates("us-east-1")
    zone = estate.cloud.route53.add_zone("example.org")
    apex = certificates.add_issued("example.org", "*.example.org")
    estate.make_tenant(
        "apex", "example.org", "*.example.org", customizations={"Certificate": {"Arn": apex.arn}}
    )
    for kind in ("A", "AAAA"):
        alias = Alias(CLOUDFRONT_ZONE, f"{default.endpoint}.")
        estate.cloud.route53.put_record(zone, Record("example.org.", kind, alias=alias))
    wildcard = Record("*.example.org.", "CNAME", 300, (f"{default.endpoint}.",))
    estate.cloud.route53.put_record(zone, wildcard)
    managed = certificates.request(
        ("managed.example.com",),
        "HTTP",
        managed_by="CLOUDFRONT",
        validation_host="cloudfront",
        transparency="DISABLED",
    )
    certificates.approve(managed.arn)
    lead(here, "managed.example.com")
    estate.make_tenant(
        "managed",
        "managed.example.com",
        managed_certificate=managed.arn,
        customizations={"Certificate": {"Arn": managed.arn}},
    )


# API Gateway


def make_domains(here: World, count: int) -> None:
    """Domain names with an API, most of them with DNS: a CNAME, or aliases."""
    estate, gateway = here.aws, here.aws.gateway
    certificate = estate.certificates.add_issued("*.apis.example.com", "apis.example.com").arn
    for number in range(count):
        name = f"a{number}.apis.example.com"
        api = gateway.add_api(stages=("$default", "live"))
        mapped = Mapped(
            f"m{number}", api, "live" if number % 2 else "$default", "v1" if number % 4 == 3 else ""
        )
        policy = "TLS_1_0" if number % 5 == 4 else "TLS_1_2"
        settings = {"CertificateArn": certificate, "EndpointType": "REGIONAL", "SecurityPolicy": policy}
        target = f"d-{number:010}.execute-api.{REGION}.amazonaws.com"
        tags = {"team": "apis"} if number % 2 else {}
        gateway.keep(ApiDomain(name, target, settings, 0.0, tags=tags, mappings=(mapped,)))
        if number % 3 == 0:
            lead(here, name, ttl=120, target=target)
        elif number % 3 == 1:
            for kind in ("A", "AAAA"):
                alias = Alias("ZLY8HYME6SFDD", f"{target}.")
                estate.cloud.route53.put_record(estate.zone, Record(f"{name}.", kind, alias=alias))


# Cloudflare


def act(here: World, method: str, path: str, body: Any = None) -> Any:
    """Somebody does something in the account."""
    account = here.cloudflare.account.id
    return here.cloudflare.cloud.act(method, f"/accounts/{account}/{path}", body)


def configure(here: World, *rules: JsonObject) -> None:
    """Write the configuration of the tunnel, as the dashboard does."""
    config = {"ingress": [*rules, {"service": "http_status:404"}]}
    act(here, "PUT", f"cfd_tunnel/{here.cloudflare.tunnel}/configurations", {"config": config})


def name(here: World, hostname: str, **fields: Any) -> None:
    """A record for a hostname: by default that of the tunnel, as the dashboard makes it."""
    content = f"{here.cloudflare.tunnel}.cfargotunnel.com"
    body = {"type": "CNAME", "name": hostname, "content": content, "proxied": True, "ttl": 1, **fields}
    here.cloudflare.cloud.act("POST", f"/zones/{here.cloudflare.zone.id}/dns_records", body)


def protect(here: World, *hostnames: str, policies: list[Any], **fields: Any) -> JsonObject:
    """An Access application for hostnames."""
    body = {
        "type": "self_hosted",
        "name": f"Login of {hostnames[0]}",
        "domain": hostnames[0],
        "destinations": [{"type": "public", "uri": hostname} for hostname in hostnames],
        "policies": policies,
        **fields,
    }
    made: JsonObject = act(here, "POST", "access/apps", body)
    return made


def rule(hostname: str, service: str = "", path: str = "", **request: Any) -> JsonObject:
    """A rule of the tunnel, with empty settings of the origin, as the dashboard writes it."""
    target = service or f"http://{hostname.partition('.')[0].replace('*', 'wildcard')}.{SHOP}.svc:8080"
    return {
        "hostname": hostname,
        "service": target,
        **({"path": path} if path else {}),
        "originRequest": request,
    }


def lock(here: World, application: JsonObject) -> JsonObject:
    """What makes cloudflared check that requests have passed an application."""
    return {"required": True, "teamName": here.cloudflare.account.team, "audTag": [application["aud"]]}


def emails(*addresses: str, **fields: Any) -> JsonObject:
    """A policy that lets addresses in."""
    include = [{"email": {"email": address}} for address in addresses]
    return {"name": "Allow people", "decision": "allow", "include": include, **fields}


def make_routes(here: World) -> int:
    """Twenty routes: public ones, protected ones of all sorts, with paths, with and without DNS. Returns how many."""
    group = act(
        here,
        "POST",
        "access/groups",
        {"name": "Staff", "include": [{"email_domain": {"domain": "example.com"}}]},
    )
    provider = act(here, "POST", "access/identity_providers", {"name": "Okta", "type": "okta", "config": {}})
    reusable = act(
        here, "POST", "access/policies", {**emails("ann@example.com"), "name": "Everybody in sales"}
    )
    rules: list[JsonObject] = []
    for number in range(8):
        hostname = f"public{number}.example.com"
        service = f"http://public.{SHOP}.svc.cluster.local:80" if number % 2 else ""
        header = {"httpHostHeader": "internal.example.com"} if number == 3 else {}
        rules.append(rule(hostname, service, **header))
        if number != 5:
            name(here, hostname)
    mail = protect(here, "mail.example.com", policies=[emails("ann@example.com", "bob@example.com")])
    rules.append(rule("mail.example.com", access=lock(here, mail)))
    staff = {"include": [{"group": {"id": group["id"]}}], "name": "Staff", "decision": "allow"}
    protect(
        here,
        "staff.example.com",
        policies=[staff],
        session_duration="8h",
        app_launcher_visible=False,
        same_site_cookie_attribute="strict",
        allowed_idps=[provider["id"]],
        auto_redirect_to_identity=True,
        custom_deny_message="Ask the help desk",
    )
    rules.append(rule("staff.example.com"))
    everyone = {"include": [{"everyone": {}}], "name": "All", "decision": "allow"}
    protect(here, "two.example.com", "three.example.com", policies=[everyone], name="pair")
    shared = f"http://pair.{SHOP}.svc:80"
    rules += [rule("two.example.com", shared), rule("three.example.com", shared)]
    sales = protect(here, "sales.example.com", policies=[{"id": reusable["id"], "precedence": 1}])
    rules.append(rule("sales.example.com", access=lock(here, sales)))
    complex_policy = {
        "name": "Contractors",
        "decision": "allow",
        "include": [
            {"email_domain": {"domain": "partner.example"}},
            {"okta": {"name": "contractors", "identity_provider_id": provider["id"]}},
        ],
        "require": [{"geo": {"country_code": "DE"}}],
        "exclude": [{"ip": {"ip": "192.0.2.0/24"}}],
    }
    protect(here, "contractors.example.com", policies=[complex_policy])
    rules.append(rule("contractors.example.com"))
    wild = protect(here, "*.apps.example.com", policies=[emails("ann@example.com")])
    rules += [rule(f"a{number}.apps.example.com", access=lock(here, wild)) for number in range(2)]
    paths = f"http://paths.{SHOP}.svc.cluster.local:80"
    rules += [
        rule("paths.example.com", f"http://api.{SHOP}.svc.cluster.local:8080", r"^/api(/.*)?$"),
        rule("paths.example.com", f"http://exact.{SHOP}.svc.cluster.local:80", r"^/one$"),
        rule("paths.example.com", paths),
    ]
    rules.append(
        rule(
            "tls.example.com",
            f"https://tls.{SHOP}.svc:8443",
            httpHostHeader="tls.example.com",
            originServerName="tls.example.com",
            noTLSVerify=True,
            tlsTimeout=10,
            http2Origin=False,
            matchSNItoHost=False,
        )
    )
    rules += _public_rules(here, _with_public_path(here, "health.example.com"))
    _with_public_path(here, "ping.example.com")
    rules.append(rule("ping.example.com"))
    rules.append(rule("*.apps.example.com", f"http://wildcard.{SHOP}.svc:80", access=lock(here, wild)))
    for hostname in (
        "mail",
        "staff",
        "two",
        "three",
        "sales",
        "contractors",
        "a0.apps",
        "*.apps",
        "paths",
        "tls",
        "health",
        "ping",
    ):
        name(here, f"{hostname}.example.com")
    name(here, "a1.apps.example.com", proxied=False)
    configure(here, *rules)
    return 20


def _with_public_path(here: World, hostname: str) -> JsonObject:
    """An application with a path that needs no login."""
    patterns = [{"path_pattern": path, "behavior": "public"} for path in ("/healthz", "/healthz/*")]
    destination = {"type": "public", "uri": hostname, "overrides": patterns}
    return protect(here, hostname, policies=[emails("ann@example.com")], destinations=[destination])


def _public_rules(here: World, application: JsonObject) -> list[JsonObject]:
    from edgekeeper.controllers.zerotrust.origin import fixed_origin  # noqa: PLC0415 # the expression is an internal matter

    service = f"http://health.{SHOP}.svc:80"
    public, rest = fixed_origin(service, ["/healthz"]).rules
    return [
        rule("health.example.com", service, public.path),
        rule("health.example.com", rest.service, access=lock(here, application)),
    ]
