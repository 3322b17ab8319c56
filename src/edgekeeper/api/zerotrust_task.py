"""CloudflareTask: what has to be done at Cloudflare for one HTTPRoute, and how far it is.

Tasks are the durable queue between the part of the operator that reads the cluster and the part that calls Cloudflare.
The first writes specs, the second statuses. A spec is everything that the second needs: what is wanted (`operations`), and
what is there because of the route (`inventory`). What is in the inventory and no longer wanted is withdrawn.

No secret is ever part of a task.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, field

from edgekeeper.api.definition import AGE, Column, CustomKind
from edgekeeper.api.shared import ATOMIC_LIST, CamelStruct, Conditions
from edgekeeper.api.zerotrust import GROUP, VERSION
from edgekeeper.api.zerotrust_settings import AccessSettings, LogLevel, OriginTls, Strings


class RouteRef(CamelStruct, frozen=True):
    """The HTTPRoute that the task is for."""

    name: Annotated[str, Meta(description="The name of the route.")]
    namespace: Annotated[str, Meta(description="The namespace of the route.")]
    uid: Annotated[str, Meta(description="The uid of the route.")] = ""


class TenantRef(CamelStruct, frozen=True):
    """The tenant through which the route is published."""

    name: Annotated[str, Meta(description="The name of the tenant.")]
    namespace: Annotated[str, Meta(description="The namespace of the tenant.")] = ""


class CredentialSecretRef(CamelStruct, frozen=True):
    """The Secret with the API token."""

    name: Annotated[str, Meta(description="The name of the Secret.")]
    namespace: Annotated[str, Meta(description="The namespace of the Secret.")] = ""
    key: Annotated[str, Meta(description="The key in the Secret.")] = "token"


class PathRule(CamelStruct, frozen=True):
    """Where requests for some paths go to."""

    path: Annotated[str, Meta(description="A regular expression; empty for all paths.")] = ""
    service: Annotated[str, Meta(description="The origin; originService by default.")] = ""
    public: Annotated[bool, Meta(description="Whether no login is needed below a protected hostname.")] = (
        False
    )


class TunnelRouteOperation(CamelStruct, frozen=True):
    """Hostnames of the tunnel."""

    enabled: Annotated[bool, Meta(description="Whether the tunnel serves the hostnames.")] = False
    origin_service: Annotated[str, Meta(description="The address of the origin.")] = ""
    http_host_header: Annotated[
        str, Meta(description="The Host header that the origin gets; empty for what was requested.")
    ] = ""
    http_redirect: Annotated[
        bool | None, Meta(description="Accepted, without effect: the API of tunnels has no such setting.")
    ] = None
    origin_tls: OriginTls | None = field(name="originTLS", default=None)
    rules: Annotated[
        list[PathRule], Meta(description="One rule for all paths by default.", extra_json_schema=ATOMIC_LIST)
    ] = []


class CnameOperation(CamelStruct, frozen=True):
    """A CNAME record to the tunnel for each hostname."""

    enabled: Annotated[bool, Meta(description="Whether there are such records.")] = False


class ServiceTokenOperation(CamelStruct, frozen=True):
    """The service token, whose credentials go into a Secret."""

    enabled: Annotated[bool, Meta(description="Whether there is a service token.")] = False
    name: Annotated[str, Meta(description="The name of the token.")] = ""
    duration: Annotated[str, Meta(description="How long the token is valid.")] = ""
    secret_namespace: Annotated[str, Meta(description="The namespace of the Secret.")] = ""
    secret_name: Annotated[str, Meta(description="The name of the Secret.")] = ""
    client_id_key: Annotated[str, Meta(description="The key of the client id in the Secret.")] = "client_id"
    client_secret_key: Annotated[str, Meta(description="The key of the client secret in the Secret.")] = (
        "client_secret"  # noqa: S105 - the name of a key
    )
    rotation: Annotated[
        str, Meta(description="Identifies the requested rotation. The secret is replaced when it changes.")
    ] = ""
    rotation_interval: Annotated[
        str, Meta(description="How often the client secret is replaced; empty for never.")
    ] = ""
    rotation_grace: Annotated[str, Meta(description="How long the previous client secret stays valid.")] = ""


class DnsTarget(CamelStruct, frozen=True):
    """An address record."""

    type: Annotated[Literal["A", "AAAA", "CNAME"], Meta(description="The type of the record.")]
    content: Annotated[str, Meta(description="The address, or the name that a CNAME leads to.")]


class DnsRecordOperation(CamelStruct, frozen=True):
    """Records that lead to an address, without a tunnel."""

    enabled: Annotated[bool, Meta(description="Whether there are such records.")] = False
    ip_address: Annotated[str, Meta(description="The first address, for display.")] = ""
    targets: Annotated[
        list[DnsTarget], Meta(extra_json_schema=ATOMIC_LIST, description="The records of each hostname.")
    ] = []
    proxied: Annotated[bool, Meta(description="Whether requests pass through Cloudflare.")] = False
    ttl: Annotated[int, Meta(description="The TTL in seconds; 1 is automatic.")] = 120


class AccessAppOperation(AccessSettings, frozen=True):
    """The Access application. All settings are resolved but for names, which only Cloudflare knows."""

    name: Annotated[str, Meta(description="The name of the application.")] = ""


class Operations(CamelStruct, frozen=True):
    """What is wanted."""

    tunnel_route: TunnelRouteOperation = TunnelRouteOperation()
    cname_dns: CnameOperation = CnameOperation()
    access_app: AccessAppOperation = AccessAppOperation()
    service_token: ServiceTokenOperation = ServiceTokenOperation()
    dns_record: DnsRecordOperation = DnsRecordOperation()


class InventoryItem(CamelStruct, frozen=True):
    """Something that exists at Cloudflare, or as a Secret, because of the route."""

    kind: Annotated[
        Literal["AccessApplication", "AccessPolicy", "ServiceToken", "TunnelHostname", "DnsRecord", "Secret"],
        Meta(description="What it is."),
    ]
    id: Annotated[
        str, Meta(description="Cloudflare's id; empty for a hostname of a tunnel, and for a Secret.")
    ] = ""
    name: Annotated[
        str, Meta(description="Hostname, domain, name of the token, or namespace/name of the Secret.")
    ] = ""
    parent: Annotated[
        str, Meta(description="The zone of a record, the tunnel of a hostname, the application of a policy.")
    ] = ""
    type: Annotated[str, Meta(description="The type of a record.")] = ""
    content: Annotated[
        str,
        Meta(description="The content of a record; the client id of the credentials that were in a Secret."),
    ] = ""
    unconfirmed: Annotated[
        bool,
        Meta(
            description="Left behind by another operator: it counts as ours only if the live object has this id and name."
        ),
    ] = False


class ExistingIds(CamelStruct, frozen=True):
    """The ids in the inventory, as the described operators name them. For display."""

    hostname_route_id: Annotated[str, Meta(description="The hostname in the tunnel.")] = ""
    app_id: Annotated[str, Meta(description="The Access application.")] = ""
    access_app_id: Annotated[str, Meta(description="The Access application.")] = ""
    access_policy_ids: Annotated[str, Meta(description="The Access policies, separated by commas.")] = ""
    service_token_id: Annotated[str, Meta(description="The service token.")] = ""
    cname_record_id: Annotated[str, Meta(description="The CNAME record to the tunnel.")] = ""
    dns_record_id: Annotated[str, Meta(description="The record to an address.")] = ""


class DeleteIds(CamelStruct, frozen=True):
    """What a deletion removes, as the described operators name it. For display."""

    hostname: Annotated[str, Meta(description="The hostname.")] = ""
    access_app_id: Annotated[str, Meta(description="The Access application.")] = ""
    cname_record_id: Annotated[str, Meta(description="The CNAME record to the tunnel.")] = ""
    service_token_id: Annotated[str, Meta(description="The service token.")] = ""
    dns_record_id: Annotated[str, Meta(description="The record to an address.")] = ""
    tunnel_id: Annotated[str, Meta(description="The tunnel that serves the hostname.")] = ""
    zone_id: Annotated[str, Meta(description="The zone of the records.")] = ""


class TaskSpec(CamelStruct, frozen=True):
    """What is wanted, and what is there."""

    httproute_ref: RouteRef
    tenant_ref: TenantRef
    hostname: Annotated[str, Meta(description="The first hostname.")]
    operations: Operations
    action: Annotated[
        Literal["reconcile", "delete"],
        Meta(
            description="reconcile: make everything as operations say. delete: remove everything in the inventory."
        ),
    ] = "reconcile"
    hostnames: Annotated[Strings, Meta(description="All hostnames, as Cloudflare spells them.")] = []
    credential_secret_ref: CredentialSecretRef | None = None
    account_id: Annotated[str, Meta(description="The account at Cloudflare.")] = ""
    tunnel_id: Annotated[str, Meta(description="The tunnel that serves the hostnames.")] = ""
    zone_id: Annotated[str, Meta(description="The zone that all hostnames must be in; empty for any.")] = ""
    adopt: Annotated[bool, Meta(description="Whether things of others may be taken over.")] = False
    orphan: Annotated[
        bool,
        Meta(description="A deletion that leaves everything as it is, and only removes our ownership marks."),
    ] = False
    log_level: Annotated[LogLevel | None, Meta(description="The log level of the tenant's work.")] = None
    inventory: Annotated[
        list[InventoryItem],
        Meta(description="What is there because of the route.", extra_json_schema=ATOMIC_LIST),
    ] = []
    existing_ids: ExistingIds | None = None
    delete_ids: DeleteIds | None = None


class TaskResult(CamelStruct, frozen=True):
    """The ids of what is there, as the described operators name them. Never a secret."""

    hostname_route_id: Annotated[str, Meta(description="The hostname in the tunnel.")] = ""
    cname_record_id: Annotated[str, Meta(description="The CNAME record to the tunnel.")] = ""
    access_app_id: Annotated[str, Meta(description="The Access application.")] = ""
    access_policy_ids: Annotated[str, Meta(description="Separated by commas.")] = ""
    service_token_id: Annotated[str, Meta(description="The service token.")] = ""
    service_token_client_id: Annotated[str, Meta(description="The client id of the service token.")] = ""
    service_token_secret_name: Annotated[
        str, Meta(description="The Secret with the credentials of the service token.")
    ] = ""
    service_token_expires_at: Annotated[
        datetime | None, Meta(description="When the service token expires.")
    ] = None
    dns_record_id: Annotated[str, Meta(description="The record to an address.")] = ""
    dns_record_ip: Annotated[str, Meta(description="The address of that record.")] = ""
    resolved_zone_id: Annotated[str, Meta(description="The zone of the first hostname.")] = ""


class TaskStatus(CamelStruct, frozen=True):
    """How far the task is."""

    phase: Annotated[
        Literal["Pending", "InProgress", "Completed", "Failed"], Meta(description="How far the task is.")
    ] = "Pending"
    message: Annotated[str, Meta(description="The result, or what the task waits for, in words.")] = ""
    last_transition_time: Annotated[datetime | None, Meta(description="When the phase last changed.")] = None
    worker_pod: Annotated[str, Meta(description="The pod that performs the task.")] = ""
    observed_generation: Annotated[
        int | None, Meta(description="The generation that phase and result are of.")
    ] = None
    result: TaskResult | None = None
    inventory: Annotated[
        list[InventoryItem],
        Meta(
            description="What is there because of the route: of the spec, and since then. Withdrawn things are left out.",
            extra_json_schema=ATOMIC_LIST,
        ),
    ] = []
    conditions: Conditions = []


class CloudflareTask(CamelStruct, frozen=True):
    """The object as controllers read it."""

    spec: TaskSpec
    status: TaskStatus = TaskStatus()


CLOUDFLARE_TASK = CustomKind(
    group=GROUP,
    version=VERSION,
    kind="CloudflareTask",
    plural="cloudflaretasks",
    description="Work to be done at Cloudflare for one HTTPRoute.",
    spec=TaskSpec,
    status=TaskStatus,
    columns=(
        Column("HTTPRoute", ".spec.httprouteRef.name"),
        Column("Hostname", ".spec.hostname"),
        Column("Phase", ".status.phase"),
        Column("Worker", ".status.workerPod", priority=1),
        Column("Message", ".status.message", priority=1),
        AGE,
    ),
    short_names=("cfztask", "cftask"),
    categories=("edge",),
)
