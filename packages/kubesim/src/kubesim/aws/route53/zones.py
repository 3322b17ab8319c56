"""The operations on hosted zones."""

from __future__ import annotations

from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError
from kubesim.aws.route53.changes import bare, view
from kubesim.aws.route53.listing import zone_view
from kubesim.aws.route53.state import Zone


def create(call: Call) -> Result:
    """A caller's reference makes this idempotent in the strict sense: it can be used only once."""
    state, params = call.account.route53, call.params
    reference, most = params["CallerReference"], state.world.quotas.hosted_zones
    if any(zone.caller_reference == reference for zone in state.zones.values()):
        raise AwsError("HostedZoneAlreadyExists", f"A hosted zone has already been created with {reference}.")
    if len(state.zones) >= most:
        raise AwsError("TooManyHostedZones", f"Limits Exceeded: MAX_HOSTED_ZONES_BY_OWNER {most}")
    config = params.get("HostedZoneConfig") or {}
    zone = state.add_zone(
        params["Name"],
        private=config.get("PrivateZone", False),
        comment=config.get("Comment"),
        caller_reference=reference,
    )
    location = f"https://route53.amazonaws.com/2013-04-01/hostedzone/{zone.id}"
    return _view(zone) | {"ChangeInfo": view(state, state.submit(None)), "Location": location}


def get(call: Call) -> Result:
    return _view(call.account.route53.zone(bare(call.params["Id"])))


def get_limit(call: Call) -> Result:
    """How many records a zone has, and may have. VPCs, the other limit, belong to private zones, which have none here."""
    state, kind = call.account.route53, call.params["Type"]
    zone = state.zone(bare(call.params["HostedZoneId"]))
    if kind != "MAX_RRSETS_BY_ZONE":
        raise AwsError("HostedZoneNotPrivate", "The specified hosted zone is a public hosted zone.")
    limit = {"Type": kind, "Value": state.world.quotas.records_per_zone}
    return {"Limit": limit, "Count": len(zone.records)}


def delete(call: Call) -> Result:
    state = call.account.route53
    zone = state.zone(bare(call.params["Id"]))
    if any(record.name != zone.name or record.type not in ("NS", "SOA") for record in zone.records.values()):
        raise AwsError(
            "HostedZoneNotEmpty",
            "The specified hosted zone contains non-required resource record sets and so cannot be deleted.",
        )
    state.remove_zone(zone)
    return {"ChangeInfo": view(state, state.submit(None))}


def _view(zone: Zone) -> dict[str, object]:
    delegation = {"NameServers": [server.rstrip(".") for server in zone.name_servers]}
    return {"HostedZone": zone_view(zone), "DelegationSet": None if zone.private else delegation}
