"""`edgekeeper plan`: the operator's own decisions, shown and not carried out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.kind_options import KindSettings
from edgekeeper.cli.kinds import MODULES, plannable
from edgekeeper.cli.main import run
from edgekeeper.cli.manifest import Manifest
from edgekeeper.cli.plan import answer, exit_code
from edgekeeper.cli.plan_output import print_text, render_json
from edgekeeper.cli.plan_request import PlanRequest
from edgekeeper.cli.proposal import propose
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.drift import Change, Policy
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.lifecycle.preview import Preview, Verdict
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.faults import error
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from tests.tenants.estate import DISTRIBUTION, NEIGHBOUR
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant

READING = ("Get", "List", "Describe", "AssumeRole")


def settings(values: Mapping[str, Any] | None = None, **common: Any) -> KindSettings:
    chosen = CommonOptions(cluster=OPTIONS.cluster, intervals=OPTIONS.intervals)
    return KindSettings(common=replace(chosen, **common), values=values or {})


async def planned(
    scene: Scene, *manifests: JsonObject, names: Sequence[str] = (), namespace: str = "", **more: Any
) -> list[Preview]:
    """The plans, after proof that making them has changed nothing anywhere."""
    before = deepcopy((list(scene.stage.objects()), scene.estate.state()))
    made = len(scene.cloud.journal.entries)
    request = PlanRequest(
        tuple((plannable(MODULES)[0], name) for name in names),
        tuple(Manifest(body, Path("x.yaml")) for body in manifests),
        namespace or KEY.namespace,
        only_namespace=bool(namespace),
    )
    transport = InProcessTransport(scene.stage.plane)
    previews = await answer(request, settings(**more), transport, scene.estate.clients())
    calls = list(scene.cloud.journal.entries)[made:]
    assert [one.operation for one in calls if not one.operation.startswith(READING)] == []
    assert (list(scene.stage.objects()), scene.estate.state()) == before
    return previews


def told(previews: Sequence[Preview], *, colour: bool = False) -> str:
    stream = StringIO()
    console = Console(
        file=stream, width=1000, force_terminal=colour, color_system="standard" if colour else None
    )
    print_text(previews, console)
    return stream.getvalue()


@asynccontextmanager
async def settled(*objects: JsonObject) -> AsyncIterator[Scene]:
    """An operator has done its work and left."""
    async with playing() as scene:
        for obj in objects or (tenant(dns=scene.dns()),):
            await scene.create(obj)
        await scene.stage.settled()
        await scene.elapse(minutes=10)
        await scene.stage.stop_operators()
        yield scene


def actions(preview: Preview) -> list[str]:
    return [type(step).__name__ for step in preview.steps]


def paths(preview: Preview) -> set[str]:
    return {one.path for step in preview.steps for one in step.changes()}


# What is to be done


@virtual_time
async def test_plan_of_a_new_manifest_shows_every_step_with_reason_and_fields() -> None:
    async with playing(start=False) as scene:
        parameters = (ParameterDefinition("tier", default="silver"),)
        scene.cloud.cloudfront.change_distribution(DISTRIBUTION, parameters=parameters)
        (preview,) = await planned(
            scene, tenant(dns=scene.dns(), parameters=[{"name": "tier", "value": "gold"}])
        )
        text = told([preview])
    assert preview.verdict is Verdict.CHANGES
    assert actions(preview) == ["RememberRecords", "WriteRecords", "CreateTenant"]
    assert exit_code([preview]) == ExitCode.CHANGES
    assert "DistributionTenant default/test-tenant: to be changed (SpecChange)" in text
    assert "     the tenant's domains must point to CloudFront before it is created\n" in text
    assert f'     + dns[CNAME shop.example.com]: {{"target": "{scene.endpoint}", "ttl": 300}}\n' in text
    assert '     + parameters: {"tier": "gold"}\n' in text
    assert '     + tags[edgekeeper.io/uid]: "known-after-apply"\n' in text
    assert text.endswith("Plan: 1 to be changed.\n")


@virtual_time
async def test_plan_of_a_managed_certificate_shows_what_is_requested() -> None:
    request = {"validationTokenHost": "cloudfront", "primaryDomainName": "shop.example.com"}
    async with playing(start=False) as scene:
        (preview,) = await planned(scene, tenant(managedCertificateRequest=request))
    assert '+ managedCertificateRequest.validationTokenHost: "cloudfront"\n' in told([preview])


@virtual_time
async def test_plan_of_what_is_as_declared_is_empty() -> None:
    async with settled() as scene:
        previews = await planned(scene)
    assert [one.verdict for one in previews] == [Verdict.SETTLED]
    assert previews[0].steps == ()
    assert exit_code(previews) == ExitCode.OK
    assert told(previews).endswith("Plan: 1 as declared.\n")


@virtual_time
async def test_plan_of_a_changed_manifest_is_compared_with_the_cluster() -> None:
    async with settled() as scene:
        (preview,) = await planned(scene, tenant(KEY, "sale.example.com", dns=scene.dns(ttl=60)))
    assert actions(preview) == ["RememberRecords", "WriteRecords", "RemoveRecords", "UpdateTenant"]
    text = told([preview])
    assert "     + domains[sale.example.com]\n     - domains[shop.example.com]\n" in text
    assert "     - dns[CNAME shop.example.com]: " in text


@virtual_time
async def test_plan_of_a_time_to_live_shows_both_values() -> None:
    async with settled() as scene:
        (preview,) = await planned(scene, tenant(dns=scene.dns(ttl=60)))
    assert (
        "     - dns[CNAME shop.example.com].ttl: 300\n     + dns[CNAME shop.example.com].ttl: 60\n"
        in told([preview])
    )


@virtual_time
async def test_plan_of_an_unchanged_manifest_is_empty() -> None:
    async with settled() as scene:
        previews = await planned(scene, tenant(dns=scene.dns()))
    assert [one.verdict for one in previews] == [Verdict.SETTLED]


@virtual_time
async def test_plan_of_drift_repairs_it() -> None:
    async with settled() as scene:
        scene.cloud.cloudfront.change_tenant(KEY.name, enabled=False)
        (preview,) = await planned(scene, names=[KEY.name])
    assert (preview.verdict, preview.change) == (Verdict.CHANGES, "Drift")
    assert actions(preview)[0] == "UpdateTenant"
    assert "     - enabled: false\n     + enabled: true\n" in told([preview])


@virtual_time
async def test_plan_of_drift_that_is_left_alone_shows_it_and_is_no_change() -> None:
    async with settled() as scene:
        scene.cloud.cloudfront.change_tenant(KEY.name, enabled=False)
        await scene.elapse(minutes=10)
        previews = await planned(scene, drift_policy=Policy.REPORT)
    assert [one.verdict for one in previews] == [Verdict.DRIFTED]
    assert exit_code(previews) == ExitCode.OK
    text = told(previews)
    assert (
        "changed outside the operator, not corrected (the policy is report)\n     - enabled: false\n" in text
    )


@virtual_time
async def test_plan_while_somebody_else_is_at_work_is_no_change() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.says("Ready", "Deploying")
        await scene.stage.stop_operators()
        previews = await planned(scene)
    assert [one.verdict for one in previews] == [Verdict.WAITING]
    assert actions(previews[0]) == ["AwaitDeployment"]
    assert exit_code(previews) == ExitCode.OK


@virtual_time
async def test_plan_of_a_deletion_goes_back_to_front() -> None:
    async with settled() as scene:
        await scene.delete()
        (preview,) = await planned(scene)
    assert actions(preview) == ["RemoveRecords", "DisableTenant", "DeleteTenant"]
    assert {"enabled", "tenant"} <= paths(preview)
    text = told([preview])
    assert text.startswith("DistributionTenant default/test-tenant: to be deleted\n")
    assert text.endswith("Plan: 1 to be deleted.\n")
    (shown,) = json.loads(render_json([preview]))["objects"]
    assert (shown["verdict"], shown["deleting"], shown.get("change")) == ("Changes", True, None)


@virtual_time
async def test_plan_of_steps_that_no_change_asks_for_names_no_change() -> None:
    request = {"validationTokenHost": "cloudfront", "primaryDomainName": "shop.example.com"}
    async with playing() as scene:
        await scene.create(tenant(dns=scene.dns(), managedCertificateRequest=request))
        await scene.says("CertificateReady", "PendingValidation")
        await scene.stage.stop_operators()
        await scene.elapse(hours=1)
        (preview,) = await planned(scene)
    assert (actions(preview)[0], preview.change) == ("AttachCertificate", Change.NO_CHANGE)
    assert told([preview]).startswith("DistributionTenant default/test-tenant: to be changed\n")


@pytest.mark.parametrize(
    ("annotation", "delete", "verdict"),
    [
        ({"paused": "true"}, False, Verdict.PAUSED),
        ({"deletion_policy": "Orphan"}, True, Verdict.ORPHANED),
    ],
    ids=["paused", "orphaned"],
)
@virtual_time
async def test_plan_respects_annotations(annotation: dict[str, str], delete: bool, verdict: Verdict) -> None:
    async with settled() as scene:
        await scene.annotate(KEY, **annotation)
        if delete:
            await scene.delete()
        previews = await planned(scene)
    assert [one.verdict for one in previews] == [verdict]
    assert exit_code(previews) == ExitCode.OK


@virtual_time
async def test_plan_of_an_orphaned_tenant_names_what_is_kept() -> None:
    async with settled() as scene:
        tenant_id = scene.object()["status"]["id"]
        await scene.annotate(KEY, deletion_policy="Orphan")
        await scene.delete()
        previews = await planned(scene)
    head, *_ = told(previews).splitlines()
    assert head == (
        "DistributionTenant default/test-tenant: being deleted, what it has made is kept "
        f"(tenant {tenant_id}, CNAME shop.example.com)"
    )
    assert json.loads(render_json(previews))["objects"][0]["kept"] == [
        f"tenant {tenant_id}",
        "CNAME shop.example.com",
    ]


@virtual_time
async def test_plan_adopts_only_where_it_is_asked_for() -> None:
    async with playing(start=False) as scene:
        scene.estate.make_tenant(KEY.name, "shop.example.com")
        wish = tenant()
        (refused,) = await planned(scene, wish)
        wish["metadata"]["annotations"] = {"edgekeeper.io/adopt": "true"}
        (preview,) = await planned(scene, wish)
    assert refused.error is not None
    assert refused.error.reason == "NameConflict"
    assert actions(preview) == ["AdoptTenant", "MarkTenant"], "the adoption, and what follows it"
    marks = {f"tags[edgekeeper.io/{one}]" for one in ("cluster", "namespace", "name", "uid")}
    assert paths(preview) == {"status.id", *marks}


# What a person must fix


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        ({"domains": [{"domain": "nonsense"}]}, "Invalid", "spec.domains[0].domain: "),
        ({"domains": [{"domain": "https://a.io"}]}, "Invalid", "leave out the scheme"),
        ({"distributionId": "E2NONE"}, "ValidationFailed", "there is no distribution E2NONE"),
        ({"domains": []}, "Invalid", "spec.domains in body should have at least 1 items"),
        ({"enabled": "yes"}, "Invalid", "must be of type boolean"),
        ({"colour": "red"}, "Invalid", "spec.colour is not a field"),
        ({"dns": {"provider": "route53"}}, "Invalid", "hostedZoneId is required for route53"),
        ({"dns": {"provider": "bind"}}, "Invalid", 'spec.dns.provider: Unsupported value: "bind"'),
        ({"dns": {"provider": "route53", "hostedZoneId": "ZNONE"}}, "DNSError", "ZNONE"),
    ],
    ids=["domain", "URL", "distribution", "too few", "type", "unknown field", "rule", "value", "zone"],
)
@virtual_time
async def test_plan_says_what_must_be_fixed_first(spec: JsonObject, reason: str, message: str) -> None:
    async with playing(start=False) as scene:
        (preview,) = await planned(scene, tenant(**spec))
    assert preview.verdict is Verdict.REFUSED
    assert preview.error is not None
    assert preview.error.reason == reason
    assert message in preview.error.message
    assert "<nil>" not in preview.error.message, "everything that is wrong is wrong somewhere"
    assert exit_code([preview]) == ExitCode.FAILED
    assert f"to be fixed by you ({reason})\n     {preview.error.message}\n" in told([preview])


UNLENT = {
    "provider": "route53",
    "hostedZoneId": "Z0LENT",
    "assumeRoleArn": f"arn:aws:iam::{NEIGHBOUR}:role/unlent",
}


@pytest.mark.parametrize(
    ("metadata", "spec", "reason", "message"),
    [
        pytest.param(
            {},
            {"parameters": [{"name": "teir", "value": "gold"}]},
            "ValidationFailed",
            "does not define: teir; it defines none",
            id="undefined parameter",
        ),
        pytest.param(
            {},
            {"tags": [{"key": f"k{number}"} for number in range(50)]},
            "ValidationFailed",
            "are 54, and AWS allows 50: remove 4",
            id="too many tags",
        ),
        pytest.param(
            {},
            {"connectionGroupId": "cg_none"},
            "InvalidSpec",
            "spec.connectionGroupId: there is no connection group cg_none",
            id="missing connection group",
        ),
        pytest.param(
            {}, {"dns": UNLENT}, "DNSError", "spec.dns.assumeRoleArn: AWS AssumeRole failed", id="denied role"
        ),
        pytest.param(
            {"annotations": {"edgekeeper.io/deletion-policy": "retain"}},
            {},
            "InvalidAnnotation",
            "annotation edgekeeper.io/deletion-policy: 'retain' is not one of Delete, Orphan",
            id="unknown value of an annotation",
        ),
        pytest.param(
            {"annotations": {"edgekeeper.io/deletion_policy": "Orphan"}},
            {},
            "InvalidAnnotation",
            "did you mean edgekeeper.io/deletion-policy?",
            id="misspelt annotation",
        ),
    ],
)
@virtual_time
async def test_plan_of_a_manifest_says_what_the_operator_would(
    metadata: JsonObject, spec: JsonObject, reason: str, message: str
) -> None:
    manifest = tenant(**spec)
    manifest["metadata"] |= metadata
    async with playing(start=False) as scene:
        (preview,) = await planned(scene, manifest)
        assert preview.verdict is Verdict.REFUSED
        assert exit_code([preview]) == ExitCode.FAILED
        assert preview.error is not None
        await scene.create(manifest)
        scene.stage.start_operator()
        fact = await scene.says("Ready", reason)
    assert (preview.error.reason, preview.error.message) == (reason, fact.message)
    assert message in fact.message
    assert f"to be fixed by you ({reason})\n     {fact.message}\n" in told([preview])


@virtual_time
async def test_plan_refuses_more_tags_than_the_server_admits() -> None:
    async with playing(start=False) as scene:
        (preview,) = await planned(scene, tenant(tags=[{"key": f"k{number}"} for number in range(51)]))
    assert preview.error is not None
    assert (preview.error.reason, "spec.tags: Too many: 51" in preview.error.message) == ("Invalid", True)


@virtual_time
async def test_plan_refuses_a_role_that_administrators_do_not_list_and_never_assumes_it() -> None:
    async with playing(start=False) as scene:
        (preview,) = await planned(scene, tenant(dns=UNLENT), role_arns=frozenset())
        assert scene.calls("AssumeRole") == 0
    assert preview.error is not None
    assert preview.error.reason == "ValidationFailed"
    assert "spec.dns.assumeRoleArn" in preview.error.message
    assert "--allowed-role-arns" in preview.error.message


@virtual_time
async def test_plan_of_an_object_of_before_there_were_rules_is_the_operators_to_refuse() -> None:
    """The server admits an update that leaves the mistake as it was, so it is not refused as invalid here."""
    async with playing(loose=True) as scene:
        await scene.create(tenant(KEY, "bücher.example.com"))
        fact = await scene.says("Ready", "ValidationFailed")
        await scene.stage.stop_operators()
        (preview,) = await planned(scene, tenant(KEY, "bücher.example.com", enabled=False))
        (worse,) = await planned(scene, tenant(KEY, "https://bücher.example.com"))
    assert preview.error is not None
    assert (preview.error.reason, preview.error.message) == ("ValidationFailed", fact.message)
    assert worse.error is not None
    assert worse.error.reason == "Invalid"


@virtual_time
async def test_plan_knows_who_claimed_a_domain_first() -> None:
    async with settled() as scene:
        await scene.elapse(minutes=1)
        (preview,) = await planned(scene, tenant(Key("default", "younger")))
    assert preview.error is not None
    assert preview.error.reason == "DomainConflict"
    assert "default/test-tenant" in preview.error.message


@virtual_time
async def test_plan_finds_two_manifests_that_claim_the_same() -> None:
    async with playing(start=False) as scene:
        previews = await planned(scene, tenant(Key("default", "one")), tenant(Key("default", "two")))
    assert Verdict.REFUSED in {one.verdict for one in previews}


@virtual_time
async def test_plan_touches_no_zone_that_administrators_forbid() -> None:
    async with playing(start=False) as scene:
        (preview,) = await planned(scene, tenant(dns=scene.dns()), hosted_zones=frozenset({"ZOTHER"}))
        assert scene.calls("ListResourceRecordSets") == 0
    assert preview.error is not None
    assert "--allowed-hosted-zones" in preview.error.message


@virtual_time
async def test_plan_that_cannot_see_aws_says_so_once() -> None:
    async with playing(start=False) as scene:
        scene.cloud.faults.add(error("ServiceUnavailable", status=503), service="cloudfront", times=None)
        with pytest.raises(CommandError, match="AWS cannot be used"):
            await planned(scene, tenant())


@virtual_time
async def test_plan_of_a_name_that_is_not_there_is_an_error_with_a_way_out() -> None:
    async with playing(start=False) as scene:
        with pytest.raises(CommandError, match="no DistributionTenant default/absent; without a name all"):
            await planned(scene, names=["absent"])
        await scene.create(tenant())
        with pytest.raises(CommandError, match=r"no DistributionTenant edge/test-tenant; .* with -n default"):
            await planned(scene, names=[KEY.name], namespace="edge")


@virtual_time
async def test_plan_of_manifests_of_another_namespace_than_asked_for_is_an_error() -> None:
    async with playing(start=False) as scene:
        with pytest.raises(CommandError, match="default/test-tenant is not in edge; leave -n out"):
            await planned(scene, tenant(), namespace="edge")


@virtual_time
async def test_plan_ignores_other_kinds_beside_ours() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "edge"}}
    async with playing(start=False) as scene:
        assert len(await planned(scene, namespace, tenant())) == 1
        with pytest.raises(CommandError, match=r"no DistributionTenant of .*v1alpha1 among"):
            await planned(scene, namespace)


# How it is told


@virtual_time
async def test_json_has_all_of_it() -> None:
    async with playing(start=False) as scene:
        previews = await planned(scene, tenant(), tenant(Key("default", "b"), "nonsense"))
    first, second = json.loads(render_json(previews))["objects"]
    assert (first["name"], first["verdict"], first["error"]["reason"]) == ("b", "Refused", "Invalid")
    assert (second["verdict"], second["change"], second["driftPolicy"]) == (
        "Changes",
        "SpecChange",
        "enforce",
    )
    (step,) = second["steps"]
    assert (step["action"], step["waiting"], step["reason"]) == (
        "CreateTenant",
        False,
        "it does not exist yet",
    )
    assert {"path": "enabled", "after": True} in step["changes"]


@virtual_time
async def test_text_is_coloured_like_a_diff_on_a_terminal_only() -> None:
    async with playing(start=False) as scene:
        previews = await planned(scene, tenant())
    assert "\x1b[32m     + enabled: true\x1b[0m" in told(previews, colour=True)
    assert "\x1b" not in told(previews)


@virtual_time
async def test_lines_stay_whole_however_narrow_the_terminal() -> None:
    async with playing(start=False) as scene:
        previews = await planned(scene, tenant(dns=scene.dns()))
    stream = StringIO()
    print_text(previews, Console(file=stream, width=20, force_terminal=True, color_system=None))
    assert stream.getvalue() == told(previews)


# Manifests as objects


def test_proposal_keeps_what_edgekeeper_has_attached() -> None:
    attached = {"certificate": {"arn": "arn:aws:acm:us-east-1:1:certificate/x"}}
    live = tenant(customizations=attached, enabled=True)
    live["metadata"] |= {"generation": 4, "uid": "u"}
    live["status"] = {"certificateArn": attached["certificate"]["arn"]}
    proposed = propose(MODULES[0], tenant(), live, SystemClock().now())
    assert proposed["spec"]["customizations"] == attached
    assert proposed["metadata"]["generation"] == 4


def test_proposal_of_another_spec_is_another_generation() -> None:
    live = tenant(enabled=True)
    live["metadata"] |= {"generation": 4, "uid": "u", "annotations": {"a": "1"}}
    written = tenant(enabled=False)
    written["metadata"]["annotations"] = {"b": "2"}
    proposed = propose(MODULES[0], written, live, SystemClock().now())
    assert proposed["metadata"] == {
        **live["metadata"],
        "generation": 5,
        "annotations": {"a": "1", "b": "2"},
        "labels": {},
    }


# The command line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shop"], "'shop' is not KIND/NAME"),
        (["/shop"], "'/shop' is not KIND/NAME"),
        (["dt/shop", "-f", "pyproject.toml"], "but not both"),
        (["-f", "absent.yaml"], "'absent.yaml' does not exist"),
        (["--aws-endpoint-url"], "requires an argument"),
        (["--drift-policy", "ENFORCE"], "'ENFORCE' is not one of"),
    ],
    ids=["no kind", "other kind", "both", "no file", "no value", "policy"],
)
def test_plan_refuses_wrong_usage_in_one_line_and_never_with_the_code_of_changes(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *arguments]) == ExitCode.FAILED
    captured = capsys.readouterr()
    assert message in captured.err
    assert "see 'edgekeeper plan --help'" in captured.err
    assert (captured.err.count("\n"), captured.out) == (1, "")


def test_plan_of_a_file_that_declares_nothing_is_an_error_and_not_a_plan_of_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text("# nothing yet\n")
    assert run(["plan", "-f", str(empty)]) == ExitCode.FAILED
    assert f"nothing is declared in {empty}; a manifest needs apiVersion" in capsys.readouterr().err
