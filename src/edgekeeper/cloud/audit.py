"""The audit log: one line per mutating cloud call, with its objects and its result.

    Cloud mutation  call=17 account=aws:111122223333 service=cloudfront operation=CreateDistributionTenant
                    subject=shop actors=["DistributionTenant team-a/shop uid 6f1c… generation 3"] result=done

    done         it took effect
    refused      it had no effect; `error_type`, `reason` and `message` say why
    throttled    it had no effect: too many calls
    unknown      it may have taken effect: there was no response, or the call was cancelled
    kept back    it was not sent because of a dry run

The lines have a separate logger, so that they can be routed elsewhere. Subjects and messages, which may come from users,
are redacted here, independent of the configuration of the logs.
"""

from __future__ import annotations

from edgekeeper.cloud.call_context import CallContext
from edgekeeper.cloud.operation import Failure, Operation, Verdict
from edgekeeper.core.calls import CallRecord
from edgekeeper.core.log import get_logger
from edgekeeper.core.redaction import redact_text

log = get_logger(__name__)

MESSAGE = "Cloud mutation"

DONE = "done"
UNKNOWN = "unknown"
KEPT_BACK = "kept back"

_RESULTS = {Verdict.REFUSED: "refused", Verdict.THROTTLED: "throttled", Verdict.UNANSWERED: UNKNOWN}


def result_of(failure: Failure) -> str:
    """The result of a call that failed."""
    return _RESULTS[failure.verdict]


def audit(
    record: CallRecord,
    operation: Operation,
    account: str,
    context: CallContext,
    result: str,
    failure: Failure | None = None,
) -> None:
    """Write the line, if the call is a mutation."""
    if not operation.mutating:
        return
    why = {}
    if failure is not None:
        error = failure.error
        why = {
            "error_type": failure.error_type,
            "reason": error.reason,
            "message": redact_text(error.message),
        }
    log.info(
        MESSAGE,
        call=record.number,
        account=account,
        service=operation.service,
        operation=operation.name,
        subject=redact_text(record.subject),
        actors=[str(actor) for actor in context.actors],
        result=result,
        **why,
    )
