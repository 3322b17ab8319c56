"""The status page shows the plan that `edgekeeper plan` prints."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from edgekeeper.cli.plan_output import print_text, render_json
from edgekeeper.cloud.cloudflare.models import ServiceToken
from edgekeeper.controllers.zerotrust.steps import AwaitWrites, UpdateToken
from edgekeeper.core.delta import ABSENT, Difference, compare
from edgekeeper.core.drift import Change, Policy
from edgekeeper.core.errors import Stall
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.preview import Preview, Verdict
from edgekeeper.web.plans import WORDS, plan_view

KEY = Key("edge", "shop")
STEPS = (
    UpdateToken(
        ServiceToken("t-1", "c-1", "old", "8h"), "new", "24h", reason="it is not as the route asks for"
    ),
    AwaitWrites(reason="they are written together with others"),
)
PREVIEWS = {
    "changes": Preview("HTTPRoute", KEY, Verdict.CHANGES, Policy.ENFORCE, Change.SPEC_CHANGE, steps=STEPS),
    "waiting": Preview("HTTPRoute", KEY, Verdict.WAITING, steps=STEPS[1:]),
    "settled": Preview("HTTPRoute", KEY, Verdict.SETTLED, Policy.ENFORCE, Change.NO_CHANGE),
    "drifted": Preview(
        "HTTPRoute",
        KEY,
        Verdict.DRIFTED,
        Policy.REPORT,
        Change.DRIFT,
        differences=(Difference("enabled", False, True), Difference("tags.team", "b", ABSENT)),
    ),
    "orphaned": Preview("HTTPRoute", KEY, Verdict.ORPHANED, kept=("DnsRecord a", "AccessApplication b")),
    "refused": Preview.refused("HTTPRoute", KEY, Stall("NotAllowed", "spec.domains: not allowed")),
}


@pytest.mark.parametrize("name", PREVIEWS)
def test_page_has_everything_that_the_command_prints(name: str) -> None:
    preview = PREVIEWS[name]
    output = StringIO()
    print_text([preview], Console(file=output, width=200))
    printed = output.getvalue().splitlines()
    view = plan_view(preview, "2026-01-01T00:00:00Z")
    fields = [*view.drift, *(field for step in view.steps for field in step.fields)]
    head, *lines = printed[: printed.index("")]
    assert head.endswith(f"({view.cause})" if view.cause else ": " + printed[-1].split("1 ")[1].rstrip("."))
    expected = [
        text for number, one in enumerate(view.steps, 1) for text in (f"{number}. {one.what}", one.why)
    ]
    expected += [f"- {one.path}: {one.before}" for one in fields if one.before is not None]
    expected += [f"+ {one.path}: {one.after}" for one in fields if one.after is not None]
    expected += [view.error] if view.error else []
    assert sorted(line.strip() for line in lines) == sorted(expected)


def test_every_verdict_has_words() -> None:
    assert set(WORDS) == set(Verdict)


def test_secrets_are_in_no_output() -> None:
    env = [{"name": "TOKEN", "value": "c4n4ry"}], [{"name": "TOKEN", "value": "c4n4ry2"}]
    differences = (Difference("spec.password", "c4n4ry", "c4n4ry2"), *compare(*env))
    preview = Preview("HTTPRoute", KEY, Verdict.DRIFTED, Policy.REPORT, Change.DRIFT, differences=differences)
    output = StringIO()
    print_text([preview], Console(file=output, width=200))
    shown = output.getvalue() + render_json([preview]) + repr(plan_view(preview, "2026-01-01T00:00:00Z"))
    assert shown.count("[redacted]") == 12
    assert "c4n4ry" not in shown
