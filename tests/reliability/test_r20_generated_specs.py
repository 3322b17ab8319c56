"""R-20: a thousand specs, good, flawed and hostile. Each is refused with the path of a field, or carried out, or says why
not; nothing raises what nobody expected; and when all are deleted nothing is left.

`make crash` runs a thousand; `make test` a hundred.
"""

from __future__ import annotations

from collections import Counter

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import Key
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.virtual import run_virtual
from tests.crash.runner import captured_logs
from tests.crash.sampling import EVERY
from tests.results import Figures
from tests.tenants.estate import DISTRIBUTION
from tests.tenants.generated import Generator
from tests.tenants.scene import Scene, playing
from tests.tenants.system import STALLS, tenant

AT_ONCE = 50
BATCHES = range(20)[:: 2 * EVERY if EVERY > 1 else 1]
EXPECTED = {*STALLS, "DomainValidationPending", "QuotaExceeded", "Deployed"}


async def hand_in(scene: Scene, number: int) -> str:
    """Create an object with a generated spec. Return what the server has against it, if anything."""
    obj: JsonObject = tenant(key_of(number))
    obj["spec"] = Generator(number, scene.zone.id).spec()
    try:
        await scene.create(obj)
    except InvalidError as refusal:
        return str(refusal)
    return ""


def key_of(number: int) -> Key:
    return Key("default", f"tenant-{number}")


async def play(first: int, *, loose: bool) -> Counter[str]:
    """What becomes of so many objects. If `loose`, the server lets nearly all of them through to the operator."""
    fates: Counter[str] = Counter()
    async with playing(loose=loose) as scene:
        scene.cloud.cloudfront.change_distribution(
            DISTRIBUTION, parameters=(ParameterDefinition("colour", required=False),)
        )
        before = scene.estate.state()
        for number in range(first, first + AT_ONCE):
            refusal = await hand_in(scene, number)
            assert "spec" in refusal or not refusal, refusal
            fates["refused"] += bool(refusal)
        await scene.elapse(minutes=15)
        for obj in list(scene.stage.objects()):
            key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
            fact = scene.fact("Ready", key)
            assert fact.reason in EXPECTED, (obj["spec"], obj.get("status"))
            assert fact.message
            fates[fact.reason] += 1
            await scene.delete(key)
        await scene.elapse(minutes=15)
        assert not list(scene.stage.objects())
        assert _lasting(scene.estate.state()) == _lasting(before)
    return fates


def _lasting(state: JsonObject) -> JsonObject:
    """Certificates that CloudFront requested stay in ACM."""
    return {"tenants": state["tenants"], "records": state["records"]}


@pytest.mark.parametrize("loose", [False, True], ids=["our definition", "one without rules"])
@pytest.mark.parametrize("batch", BATCHES)
def test_every_spec_ends_well_or_says_why_not(batch: int, loose: bool, figures: Figures) -> None:
    with captured_logs() as logs:
        fates = run_virtual(lambda: play(batch * AT_ONCE, loose=loose))
    assert "Traceback" not in logs.getvalue()
    assert fates.total() == AT_ONCE
    figures.count("specs", fates.total())
    assert fates["Deployed"], "some must have been good"
    assert fates["refused"], "and some must not"
