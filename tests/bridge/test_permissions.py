"""LambdaPermission: statements of a function's policy, and of nobody else's."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from edgekeeper.api.lambda_permission import PERMISSION_FINALIZER
from edgekeeper.controllers.bridge.domains.wiring import DomainOptions
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.kinds import Key
from kubesim.aws import faults
from kubesim.virtual import virtual_time
from tests.bridge.world import (
    APIS,
    CLUSTER,
    FUNCTIONS,
    PERMISSION,
    PERMISSIONS,
    SOURCE,
    made,
    make,
    permission,
    playing,
    statement,
)

OTHER = Key("default", "other")
BULKY = 60


def _source(statement: JsonObject) -> str:
    return str(statement["Condition"]["ArnLike"]["AWS:SourceArn"])


@virtual_time
async def test_permission_becomes_a_statement_and_goes_with_its_object() -> None:
    async with playing() as scene:
        scene.estate.make_statement("photos")
        await scene.create(permission(statement("api")))
        await scene.ready(PERMISSION)
        assert scene.object(PERMISSION)["metadata"]["finalizers"] == [PERMISSION_FINALIZER]
        assert _source(scene.estate.statements()["api"]) == SOURCE
        assert scene.status(PERMISSION)["functionArn"] == scene.estate.function.arn
        assert scene.states() == {"api": "Applied"}
        assert {type_: scene.fact(PERMISSION, type_).status for type_ in ("Ready", "Degraded")} == {
            "Ready": "True",
            "Degraded": "False",
        }
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(PERMISSION)
        assert set(scene.estate.statements()) == {"photos"}


@virtual_time
async def test_sixty_statements_take_sixty_two_calls_and_a_resync_takes_one() -> None:
    """One reading, sixty statements of 333 bytes, and one reading that confirms them."""
    async with playing() as scene:
        ids = [f"{'edge-api-':-<53}{number:02}" for number in range(BULKY)]
        await scene.create(permission(*(statement(id_) for id_ in ids)))
        await scene.ready(PERMISSION)
        assert set(scene.estate.statements()) == set(ids)
        sizes = {len(msgspec.json.encode(one)) for one in scene.estate.statements().values()}
        assert sizes == {333}
        assert len(scene.cloud.journal) <= BULKY + 2, scene.cloud.journal.counts
        await scene.elapse(minutes=1)
        scene.cloud.journal.clear()
        await scene.elapse(minutes=5)
        assert len(scene.cloud.journal) <= 1, scene.cloud.journal.counts
        assert scene.calls("GetPolicy") == 1


@virtual_time
async def test_changed_permission_is_removed_and_added_again_with_the_revision_that_was_read() -> None:
    """B11: a statement under the same id is compared, not only its id."""
    async with playing() as scene:
        await scene.create(permission(statement("api"), statement("jobs")))
        await scene.ready(PERMISSION)
        revision = scene.estate.function.revision
        scene.cloud.journal.clear()
        narrow = SOURCE.replace("/*/*", "/*/GET/orders")
        await scene.edit(PERMISSIONS, PERMISSION, permissions=[statement("api", sourceArn=narrow)])
        await scene.ready(PERMISSION)
        assert {id_: _source(one) for id_, one in scene.estate.statements().items()} == {"api": narrow}
        writes = [one for one in scene.cloud.journal.entries if one.operation.endswith("Permission")]
        assert [one.operation for one in writes] == ["RemovePermission", "RemovePermission", "AddPermission"]
        assert writes[0].params["RevisionId"] == revision
        assert all("RevisionId" not in one.params for one in writes[1:])


@virtual_time
async def test_policy_that_somebody_changes_at_the_same_time_is_read_again() -> None:
    """B11: the first write names the revision that it is based on, so that no statement of others is lost."""
    async with playing() as scene:
        scene.estate.make_statement("photos")

        def intrude() -> None:
            if scene.calls("GetPolicy") == 1 and "late" not in scene.estate.statements():
                scene.estate.make_statement("late")
                scene.estate.function.revision = scene.cloud.world.ids.uuid()

        scene.estate.chronicle.listeners.append(intrude)
        await scene.create(permission(statement("api")))
        await scene.ready(PERMISSION)
        assert set(scene.estate.statements()) == {"photos", "late", "api"}
        assert [one.code for one in scene.cloud.journal.entries if one.code] == [
            "PreconditionFailedException"
        ]


@virtual_time
async def test_function_that_appears_later_gets_its_statements() -> None:
    async with playing() as scene:
        await scene.create(permission(statement("api"), function={"functionName": "later"}))
        fact = await scene.says(PERMISSION, "FunctionResolved", "FunctionNotFound")
        assert "later" in fact.message
        assert scene.fact(PERMISSION, "Degraded").status == "False"
        assert scene.status(PERMISSION)["lastError"]["class"] == "Recoverable"
        made = scene.estate.functions.add("later")
        await scene.ready(PERMISSION)
        assert set(made.statements[""]) == {"api"}
        assert "lastError" not in scene.status(PERMISSION)


@virtual_time
async def test_function_and_source_are_resolved_from_ack_objects() -> None:
    async with playing() as scene:
        await scene.create(
            permission(
                statement("api", sourceRef={"apiName": "shop"}), statement("jobs"), function={"name": "shop"}
            )
        )
        fact = await scene.says(PERMISSION, "FunctionResolved", "ReferenceNotFound")
        assert "Function default/shop" in fact.message
        arn = {"ackResourceMetadata": {"arn": scene.estate.function.arn}}
        await make(scene.stage, FUNCTIONS, "shop", {"name": "shop"}, arn)
        await scene.until(lambda: scene.states() == {"api": "Pending", "jobs": "Applied"})
        await scene.says(PERMISSION, "PermissionsSynced", "ReferenceNotFound")
        assert scene.fact(PERMISSION, "FunctionResolved").status == "True"
        assert set(scene.estate.statements()) == {"jobs"}
        await scene.api()
        await scene.ready(PERMISSION)
        assert _source(scene.estate.statements()["api"]) == SOURCE
        await made(scene.stage, APIS, "shop", {"apiID": "other"})
        await scene.until(lambda: "other/*/*" in _source(scene.estate.statements()["api"]))


@virtual_time
async def test_statement_of_somebody_else_is_a_conflict_of_one_permission() -> None:
    async with playing() as scene:
        scene.estate.make_statement("api")
        await scene.create(permission(statement("api"), statement("jobs")))
        fact = await scene.says(PERMISSION, "Ready", "NameConflict")
        assert "statement api exists" in fact.message
        assert scene.states() == {"api": "Conflict", "jobs": "Applied"}
        assert scene.fact(PERMISSION, "Degraded").status == "True"
        assert scene.status(PERMISSION)["lastError"]["class"] == "Terminal"
        assert _source(scene.estate.statements()["api"]) == "arn:aws:s3:::photos"
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(PERMISSION)
        assert set(scene.estate.statements()) == {"api"}


@virtual_time
async def test_statement_of_somebody_else_is_taken_over_if_the_object_may_adopt() -> None:
    async with playing() as scene:
        scene.estate.make_statement("api")
        await scene.create(permission(statement("api")))
        await scene.says(PERMISSION, "Ready", "NameConflict")
        await scene.annotate(PERMISSIONS, PERMISSION, adopt="true")
        await scene.ready(PERMISSION)
        assert _source(scene.estate.statements()["api"]) == SOURCE
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(PERMISSION)
        assert not scene.estate.statements()


@virtual_time
async def test_statement_that_is_as_wanted_already_stays_when_the_object_goes() -> None:
    async with playing() as scene:
        await scene.create(permission(statement("api"), key=OTHER))
        await scene.ready(OTHER)
        await scene.stage.patch(
            PERMISSIONS, OTHER, {"metadata": {"annotations": {"edgekeeper.io/deletion-policy": "Orphan"}}}
        )
        await scene.delete(PERMISSIONS, OTHER)
        await scene.gone(OTHER)
        await scene.create(permission(statement("api")))
        await scene.ready(PERMISSION)
        assert scene.calls("AddPermission") == 1
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(PERMISSION)
        assert set(scene.estate.statements()) == {"api"}
        assert scene.events(PERMISSION, "StatementsLeft")


@virtual_time
async def test_full_policy_is_told_of_each_permission_and_what_fits_is_applied() -> None:
    async with playing() as scene:
        scene.cloud.world.quotas.policy_bytes = 800
        await scene.create(permission(*(statement(f"api-{number}") for number in range(4))))
        await scene.says(PERMISSION, "Ready", "PolicyLengthExceeded")
        applied = [id_ for id_, state in scene.states().items() if state == "Applied"]
        assert applied == sorted(scene.estate.statements())
        assert "Error" in scene.states().values()
        attempts = scene.calls("AddPermission")
        await scene.elapse(minutes=4)
        assert scene.calls("AddPermission") == attempts
        scene.cloud.world.quotas.policy_bytes = 20_480
        await scene.ready(PERMISSION)
        assert len(scene.estate.statements()) == 4


@virtual_time
async def test_drift_is_corrected() -> None:
    async with playing() as scene:
        await scene.create(permission(statement("api"), statement("jobs")))
        await scene.ready(PERMISSION)
        del scene.estate.statements()["jobs"]
        scene.estate.make_statement("api")
        await scene.until(lambda: _source(scene.estate.statements()["api"]) == SOURCE)
        await scene.ready(PERMISSION)
        assert set(scene.estate.statements()) == {"api", "jobs"}
        assert scene.events(PERMISSION, "DriftCorrected")


@virtual_time
async def test_drift_is_only_told_under_report() -> None:
    async with playing(DomainOptions(CLUSTER, Policy.REPORT)) as scene:
        await scene.create(permission(statement("api")))
        await scene.ready(PERMISSION)
        scene.estate.statements().clear()
        await scene.says(PERMISSION, "Synced", "DriftDetected")
        await scene.elapse(minutes=10)
        assert not scene.estate.statements()
        assert scene.calls("AddPermission") == 1


@virtual_time
async def test_statements_move_with_the_function_of_the_spec() -> None:
    async with playing() as scene:
        other = scene.estate.functions.add("other")
        await scene.create(permission(statement("api")))
        await scene.ready(PERMISSION)
        await scene.edit(PERMISSIONS, PERMISSION, functionRef={"functionName": "other"})
        await scene.ready(PERMISSION)
        await scene.until(lambda: not scene.estate.statements())
        assert set(other.statements[""]) == {"api"}
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(PERMISSION)
        assert not other.statements[""]


@virtual_time
async def test_alias_organisation_and_url_are_part_of_a_statement() -> None:
    async with playing() as scene:
        url = statement(
            "url",
            action="lambda:InvokeFunctionUrl",
            principal="*",
            functionUrlAuthType="AWS_IAM",
            principalOrgID="o-abcdefghij",
            sourceArn=None,
        )
        function = {"functionName": "shop", "qualifier": "live"}
        await scene.create(permission(url, function=function))
        await scene.ready(PERMISSION)
        (made,) = scene.estate.statements("live").values()
        assert made["Condition"]["StringEquals"] == {
            "aws:PrincipalOrgID": "o-abcdefghij",
            "lambda:FunctionUrlAuthType": "AWS_IAM",
        }
        assert scene.status(PERMISSION)["functionArn"] == scene.estate.function.arn
        await scene.elapse(minutes=20)
        assert scene.calls("AddPermission") == 1


@virtual_time
async def test_function_that_is_gone_does_not_keep_its_object() -> None:
    """B11: deletion tolerates a function that is not there."""
    async with playing() as scene:
        await scene.create(permission(statement("api")))
        await scene.ready(PERMISSION)
        scene.estate.functions.restore([])
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(PERMISSION)


@virtual_time
async def test_statement_belongs_to_the_older_of_two_objects() -> None:
    """B12"""
    async with playing() as scene:
        await scene.create(permission(statement("api"), key=OTHER))
        await scene.ready(OTHER)
        await scene.elapse(seconds=2)
        await scene.create(permission(statement("api", sourceArn="arn:aws:s3:::photos")))
        fact = await scene.says(PERMISSION, "Ready", "NameConflict")
        assert "default/other" in fact.message
        assert _source(scene.estate.statements()["api"]) == SOURCE
        await scene.delete(PERMISSIONS, OTHER)
        await scene.ready(PERMISSION)
        assert _source(scene.estate.statements()["api"]) == "arn:aws:s3:::photos"


@virtual_time
async def test_without_get_policy_the_inventory_says_what_is_there() -> None:
    """The rights of seed 004: GetFunction, AddPermission and RemovePermission."""
    async with playing(start=False) as scene:
        scene.estate.restrict("lambda:GetFunction", "lambda:AddPermission", "lambda:RemovePermission")
        scene.stage.start_operator()
        await scene.create(permission(statement("api"), statement("jobs")))
        await scene.ready(PERMISSION)
        assert scene.status(PERMISSION)["functionArn"] == scene.estate.function.arn
        await scene.edit(PERMISSIONS, PERMISSION, permissions=[statement("api")])
        await scene.until(lambda: set(scene.estate.statements()) == {"api"})
        await scene.ready(PERMISSION)
        await scene.elapse(minutes=30)
        assert scene.calls("AddPermission") == 2
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(PERMISSION)
        assert not scene.estate.statements()


@virtual_time
async def test_denied_right_is_a_visible_condition() -> None:
    async with playing(start=False) as scene:
        scene.estate.restrict("lambda:GetPolicy")
        scene.stage.start_operator()
        await scene.create(permission(statement("api")))
        fact = await scene.says(PERMISSION, "Degraded", "AccessDenied")
        assert "lambda:AddPermission" in fact.message
        assert scene.states() == {"api": "Error"}


@virtual_time
async def test_errors_of_lambda_are_retried_from_fifteen_seconds_on() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(
            faults.error("ServiceException", "busy", 500), operation="AddPermission", times=2
        )
        await scene.create(permission(statement("api")))
        await scene.ready(PERMISSION)
        attempts = [one.moment for one in scene.cloud.journal.entries if one.operation == "AddPermission"]
        pauses = [later - earlier for earlier, later in pairwise(attempts)]
        assert len(pauses) == 2
        assert 11 <= pauses[0] <= 16
        assert 23 <= pauses[1] <= 31


@virtual_time
async def test_passes_and_calls_are_counted() -> None:
    async with playing() as scene:
        await scene.create(permission(statement("api")))
        await scene.ready(PERMISSION)
        kind = {"kind": "LambdaPermission"}
        assert scene.metric("bridge_reconcile_total", result="requeue_after", **kind) >= 2
        assert scene.metric("bridge_reconcile_duration_seconds_count", **kind) >= 2
        call = {"service": "lambda", "operation": "AddPermission", "result": "success"}
        assert scene.metric("bridge_aws_calls_total", **call) == 1


@pytest.mark.parametrize(
    ("function", "permissions", "word"),
    [
        ({}, [statement("api")], "exactly one of name"),
        ({"name": "a", "functionName": "a"}, [statement("api")], "exactly one of name"),
        ({"functionName": "a b"}, [statement("api")], "functionName"),
        ({"functionName": "a"}, [], "permissions"),
        ({"functionName": "a"}, [statement("api"), statement("api")], "Duplicate"),
        ({"functionName": "a"}, [statement("a b")], "statementId"),
        ({"functionName": "a"}, [statement("api", sourceArn=SOURCE, sourceRef={"apiName": "a"})], "not both"),
    ],
)
@virtual_time
async def test_invalid_spec_is_refused_at_admission(
    function: JsonObject, permissions: list[JsonObject], word: str
) -> None:
    async with playing(start=False) as scene:
        with pytest.raises(ApiError, match=word):
            await scene.create(permission(*permissions, function=function))
