"""The operations that change records and ask how far a change has come."""

from __future__ import annotations

from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError
from kubesim.aws.route53 import batches
from kubesim.aws.route53.state import Change, Route53


def change_records(call: Call) -> Result:
    state, params = call.account.route53, call.params
    zone = state.zone(bare(params["HostedZoneId"]))
    batch = params["ChangeBatch"]
    batches.apply(state, zone, batch["Changes"])
    return {"ChangeInfo": view(state, state.submit(batch.get("Comment")))}


def get_change(call: Call) -> Result:
    state = call.account.route53
    id_ = bare(call.params["Id"])
    change = state.changes.get(id_)
    if change is None:
        raise AwsError("NoSuchChange", f"Could not find resource with ID: {id_}")
    return {"ChangeInfo": view(state, change)}


def bare(id_: str) -> str:
    """An id without the kind that older clients put before it."""
    return id_.rpartition("/")[2]


def view(state: Route53, change: Change) -> dict[str, object]:
    return {
        "Id": f"/change/{change.id}",
        "Status": "INSYNC" if state.world.time.passed(change.in_sync_at) else "PENDING",
        "SubmittedAt": change.submitted,
        "Comment": change.comment,
    }
