"""Outages: whoever has something to do says within a minute why nothing happens, once; whoever is at rest says nothing.

An outage is anything that is about us and AWS, whatever is asked: no answer, throttling, credentials that are missing,
have expired or are not accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from kubesim.aws.faults import Fault, error, html, refused, silence
from kubesim.aws.request import Answer
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.tenants.scene import Fact, Scene, playing
from tests.tenants.system import KEY, tenant

UNAVAILABLE = "CloudUnavailable"
NEXT = "tried again every few minutes, and as soon as the object changes"
SILENT = "the cloud does not answer: "
BUSY = "the cloud does not accept more calls for now: "
NOBODY = "the operator's credentials are missing or not accepted by the cloud: "
AVAILABLE = "edgekeeper_cloud_available"


@dataclass(frozen=True)
class Outage:
    """A way in which AWS cannot be used, and the words for it."""

    words: str
    fault: Callable[[], Fault] | None
    """Of every call. None: the operator is started anew, and finds no credentials."""

    async def begin(self, scene: Scene) -> None:
        await scene.elapse(minutes=1)  # the operator has listed what there is
        if self.fault is not None:
            scene.cloud.faults.add(self.fault(), times=None)
            return
        await scene.stage.operator.stop()
        scene.estate.has_credentials = False
        scene.stage.start_operator()

    def end(self, scene: Scene) -> None:
        scene.cloud.faults.clear()
        scene.estate.has_credentials = True


def _answering(body: bytes) -> Fault:
    """Something else answers every call, and says that it went well."""
    return Fault("answering", happens=False, spoil=lambda _: Answer(200, {"content-type": "text/xml"}, body))


OUTAGES = {
    "unreachable": Outage(SILENT, refused),
    "silent": Outage(SILENT, silence),
    "failing": Outage(SILENT, lambda: error("ServiceUnavailable", "try later", 503)),
    "behind a broken proxy": Outage(SILENT, lambda: html(502)),
    "behind something else": Outage(SILENT, lambda: _answering(b"<Anything><Else>1</Else></Anything>")),
    "declaring entities": Outage(SILENT, lambda: _answering(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')),
    "throttled": Outage(BUSY, lambda: error("Throttling", "Rate exceeded", 400)),
    "expired credentials": Outage(NOBODY, lambda: error("ExpiredToken", "The token is expired", 403)),
    "invalid credentials": Outage(NOBODY, lambda: error("InvalidClientTokenId", "No such key", 403)),
    "missing credentials": Outage(NOBODY, None),
}
each_outage = pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)


def told(scene: Scene, words: str, key: Key = KEY) -> Fact:
    """What Synced says, which must be about the outage."""
    synced = scene.fact("Synced", key)
    assert synced[:2] == ("False", UNAVAILABLE), synced
    assert synced.message.startswith(words)
    assert synced.message.endswith(NEXT)
    return synced


async def long_outage(scene: Scene, outage: Outage, key: Key = KEY) -> Fact:
    """An hour, in which the object is written at most once more, and tells of it once in all."""
    versions = len(scene.versions)
    await scene.elapse(hours=1)
    assert len(scene.versions) - versions <= 1, [one.get("status") for one in scene.versions[versions:]]
    assert len(scene.events(UNAVAILABLE, key)) == 1
    return told(scene, outage.words, key)


# New objects


@each_outage
@pytest.mark.parametrize("with_dns", [False, True], ids=["tenant", "tenant and records"])
@virtual_time
async def test_new_object_says_within_a_minute_why_nothing_happens(outage: Outage, with_dns: bool) -> None:
    async with playing() as scene:
        await outage.begin(scene)
        spec = {"dns": scene.dns()} if with_dns else {}
        await scene.create(tenant(KEY, "shop.example.com", **spec))
        await scene.elapse(seconds=30)
        assert UNAVAILABLE not in {fact.reason for fact in all_facts(scene).values()}, (
            "most outages are short"
        )
        await scene.elapse(seconds=30)
        assert scene.fact("Synced")[:2] == ("False", UNAVAILABLE)
        synced = await long_outage(scene, outage)
        assert scene.fact("Ready") == ("Unknown", UNAVAILABLE, synced.message)
        assert not scene.events("AccessDenied")
        outage.end(scene)
        await scene.ready()
        assert scene.fact("Synced")[:2] == ("True", "InSync")
        assert len(scene.events(UNAVAILABLE)) == 1


@virtual_time
async def test_operator_that_starts_in_an_outage_says_so_of_new_objects() -> None:
    """It has never listed anything: nothing is concluded from that, but it is not kept a secret."""
    async with playing(start=False) as scene:
        scene.cloud.faults.add(error("Throttling", "Rate exceeded", 400), times=None)
        scene.stage.start_operator()
        await scene.create(tenant(dns=scene.dns()))
        await scene.elapse(seconds=90)
        assert scene.fact("Synced")[:2] == ("False", UNAVAILABLE)
        await scene.elapse(minutes=10)
        told(scene, BUSY)
        assert len(scene.events(UNAVAILABLE)) == 1
        scene.cloud.faults.clear()
        await scene.ready()


def all_facts(scene: Scene, key: Key = KEY) -> dict[str, Fact]:
    return {type_: scene.fact(type_, key) for type_ in ("Ready", "Synced", "CertificateReady", "DNSReady")}


# Changed objects


@each_outage
@pytest.mark.parametrize(
    "change",
    [{"enabled": False}, {"domains": [{"domain": "shop.example.com"}, {"domain": "new.example.com"}]}],
    ids=["tenant", "tenant and records"],
)
@virtual_time
async def test_changed_object_is_neither_ready_nor_synced_without_its_cloud(
    outage: Outage, change: JsonObject
) -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        await outage.begin(scene)
        await scene.edit(**change)
        await scene.elapse(seconds=60)
        assert scene.is_current()
        assert scene.fact("Synced")[:2] == ("False", UNAVAILABLE)
        assert scene.fact("Ready").status != "True"
        await long_outage(scene, outage)
        outage.end(scene)
        await scene.ready()
        assert scene.fact("Synced").status == "True"
        assert len(scene.events(UNAVAILABLE)) == 1
        if "enabled" in change:
            assert not scene.aws().enabled
        else:
            assert set(scene.aws().domains) == {"shop.example.com", "new.example.com"}


@virtual_time
async def test_change_that_is_taken_back_leaves_nothing_to_tell() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        scene.cloud.faults.add(refused(), times=None)
        await scene.edit(enabled=False)
        await scene.says("Synced", UNAVAILABLE)
        await scene.edit(enabled=True)
        await scene.elapse(hours=1)
        scene.cloud.faults.clear()
        await scene.ready()
        assert scene.fact("Synced")[:2] == ("True", "InSync")


@virtual_time
async def test_further_change_is_told_for_its_own_generation_and_without_another_event() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        scene.cloud.faults.add(error("ExpiredToken", "expired", 403), times=None)
        await scene.edit(enabled=False)
        first = await scene.says("Synced", UNAVAILABLE)
        await scene.edit(domains=[{"domain": "other.example.com"}])
        await scene.elapse(seconds=30)
        assert scene.is_current()
        assert scene.fact("Synced") == first
        assert len(scene.events(UNAVAILABLE)) == 1


# Deletion


@each_outage
@pytest.mark.parametrize("with_dns", [False, True], ids=["tenant", "tenant and records"])
@virtual_time
async def test_deletion_says_within_a_minute_why_it_does_not_go_on(outage: Outage, with_dns: bool) -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", **({"dns": scene.dns()} if with_dns else {})))
        await scene.ready()
        await outage.begin(scene)
        await scene.delete()
        await scene.elapse(seconds=60)
        assert scene.is_current()
        assert scene.fact("Synced")[:2] == ("False", UNAVAILABLE)
        assert scene.fact("Ready").status != "True"
        await scene.elapse(minutes=50)
        assert len(scene.events(UNAVAILABLE)) == 1
        told(scene, outage.words)
        outage.end(scene)
        await scene.gone()
        assert (scene.names, scene.records, scene.estate.chronicle.wrongs) == ([], {}, [])


@virtual_time
async def test_deletion_that_is_under_way_says_when_it_does_not_go_on() -> None:
    """CloudFront is deploying the disabled tenant, and nobody can find out whether it has."""
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        await scene.delete()
        await scene.until(lambda: not scene.aws().enabled)
        scene.cloud.faults.add(refused(), times=None)
        await scene.elapse(minutes=2)
        told(scene, SILENT)
        assert scene.fact("Ready")[:2] == ("False", "Deleting")
        versions = len(scene.versions)
        await scene.elapse(minutes=50)
        assert len(scene.versions) == versions
        assert len(scene.events(UNAVAILABLE)) == 1
        scene.cloud.faults.clear()
        await scene.gone()


@pytest.mark.parametrize("deleting", [False, True], ids=["creation", "deletion"])
@virtual_time
async def test_object_that_waits_for_its_records_says_when_nobody_can_ask_about_them(deleting: bool) -> None:
    async with playing() as scene:
        if deleting:
            await scene.create(tenant(dns=scene.dns()))
            await scene.ready()
        scene.cloud.faults.add(error("ServiceUnavailable", status=503), operation="GetChange", times=None)
        if deleting:
            await scene.delete()
        else:
            await scene.create(tenant(dns=scene.dns()))
        await scene.until(lambda: scene.fact("Synced").reason == UNAVAILABLE)
        told(scene, SILENT)
        versions = len(scene.versions)
        await scene.elapse(minutes=30)
        assert len(scene.versions) == versions
        assert len(scene.events(UNAVAILABLE)) == 1
        scene.cloud.faults.clear()
        await (scene.gone() if deleting else scene.ready())


# Objects at rest


@each_outage
@virtual_time
async def test_object_at_rest_keeps_its_conditions(outage: Outage) -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        await scene.elapse(minutes=10)
        facts, versions, events = all_facts(scene), len(scene.versions), scene.events()
        await outage.begin(scene)
        await scene.elapse(hours=1)
        assert (all_facts(scene), len(scene.versions), scene.events()) == (facts, versions, events)
        outage.end(scene)
        await scene.elapse(hours=1)
        assert (all_facts(scene), len(scene.versions), scene.events()) == (facts, versions, events)


@virtual_time
async def test_object_that_waits_for_a_person_keeps_what_it_says() -> None:
    async with playing() as scene:
        scene.estate.make_tenant(KEY.name, "shop.example.com")
        await scene.create(tenant())
        fact = await scene.says("Ready", "NameConflict")
        await scene.elapse(minutes=1)
        versions, events = len(scene.versions), scene.events()
        scene.cloud.faults.add(refused(), times=None)
        await scene.elapse(hours=1)
        assert (scene.fact("Ready"), len(scene.versions), scene.events()) == (fact, versions, events)


@virtual_time
async def test_short_outage_is_told_to_nobody() -> None:
    async with playing() as scene:
        await scene.elapse(minutes=1)
        scene.cloud.faults.add(refused(), times=None)
        await scene.create(tenant())
        await scene.elapse(seconds=20)
        scene.cloud.faults.clear()
        await scene.ready()
        assert not scene.events(UNAVAILABLE)
        assert UNAVAILABLE not in {fact.reason for fact in scene.reasons("Synced") + scene.reasons("Ready")}


# How long it takes, and how often


@virtual_time
async def test_object_goes_on_within_minutes_after_half_a_day() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(refused(), times=None)
        await scene.create(tenant())
        await scene.elapse(hours=12)
        scene.cloud.faults.clear()
        await scene.elapse(minutes=8)
        assert scene.names == [KEY.name]


@virtual_time
async def test_two_outages_are_two_events() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        for number, enabled in enumerate((False, True), start=1):
            scene.cloud.faults.add(refused(), times=None)
            await scene.edit(enabled=enabled)
            await scene.says("Synced", UNAVAILABLE)
            scene.cloud.faults.clear()
            await scene.ready()
            await scene.elapse(seconds=30)
            assert len(scene.events(UNAVAILABLE)) == number


@virtual_time
async def test_other_cause_is_told_once_it_lasts() -> None:
    """First the network, then the credentials that have expired meanwhile: what helps is another thing."""
    async with playing() as scene:
        scene.cloud.faults.add(refused(), times=None)
        await scene.create(tenant())
        await scene.says("Synced", UNAVAILABLE)
        told(scene, SILENT)
        scene.cloud.faults.clear()
        scene.cloud.faults.add(error("ExpiredToken", "expired", 403), times=None)
        await scene.until(lambda: scene.fact("Synced").message.startswith(NOBODY))
        assert scene.fact("Ready") == ("Unknown", UNAVAILABLE, scene.fact("Synced").message)
        versions = len(scene.versions)
        await scene.elapse(hours=1)
        assert len(scene.versions) == versions
        assert len(scene.events(UNAVAILABLE)) == 1


@virtual_time
async def test_restart_during_an_outage_tells_nothing_again() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(refused(), times=None)
        await scene.create(tenant(dns=scene.dns()))
        await scene.elapse(minutes=10)
        versions, fact = len(scene.versions), told(scene, SILENT)
        scene.stage.operator.die()
        scene.stage.start_operator()
        await scene.elapse(hours=1)
        assert (len(scene.versions), scene.fact("Synced")) == (versions, fact)
        assert len(scene.events(UNAVAILABLE)) == 1


@virtual_time
async def test_fleet_in_an_outage_is_written_once_each() -> None:
    async with playing() as scene:
        keys = [Key("default", f"tenant-{number}") for number in range(10)]
        scene.cloud.faults.add(error("Throttling", "Rate exceeded", 400), times=None)
        for key in keys:
            await scene.create(tenant(key, f"{key.name}.example.com", dns=scene.dns()))
        await scene.elapse(minutes=5)
        versions = len(scene.versions)
        assert versions <= 4 * len(keys)  # as created, with the finalizer, and one or two that tell of it
        calls = len(scene.cloud.journal)
        await scene.elapse(hours=1)
        assert len(scene.versions) == versions
        assert len(scene.cloud.journal) - calls <= 1_200, "most of them are listings"
        for key in keys:
            told(scene, BUSY, key)
            assert len(scene.events(UNAVAILABLE, key)) == 1


# What the operator says itself


def mentions_credentials(line: JsonObject) -> bool:
    return any(word in str(line).lower() for word in ("credential", "token", "key"))


@pytest.mark.parametrize("name", ["expired credentials", "invalid credentials", "missing credentials"])
@virtual_time
async def test_credentials_are_told_once_in_the_log_and_by_a_metric(name: str) -> None:
    outage = OUTAGES[name]
    async with playing() as scene:
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        with capture_logs() as lines:
            await outage.begin(scene)
            for number in range(3):
                key = Key("default", f"tenant-{number}")
                await scene.create(tenant(key, f"{key.name}.example.com", dns=scene.dns()))
            await scene.elapse(minutes=30)
            assert scene.metric(AVAILABLE, provider="aws", service="cloudfront") == 0
            noise = [one for one in lines if one["log_level"] != "debug" and "operation" not in one]
            about = [(one["log_level"], one["event"]) for one in noise if mentions_credentials(one)]
            line = "Credentials are missing or not accepted"
            assert about == [("error", line)]
            outage.end(scene)
            await scene.elapse(minutes=10)
        assert scene.metric(AVAILABLE, provider="aws", service="cloudfront") == 1
        assert scene.metric(AVAILABLE, provider="aws", service="route53") == 1
        assert sum("Credentials are accepted" in one["event"] for one in lines) == 1


@virtual_time
async def test_service_that_does_not_answer_is_told_by_itself() -> None:
    async with playing() as scene:
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        with capture_logs() as lines:
            scene.cloud.faults.add(refused(), service="route53", times=None)
            await scene.elapse(hours=2)
            assert scene.metric(AVAILABLE, provider="aws", service="route53") == 0
            assert scene.metric(AVAILABLE, provider="aws", service="cloudfront") == 1
            scene.cloud.faults.clear()
            await scene.elapse(minutes=10)
        assert scene.metric(AVAILABLE, provider="aws", service="route53") == 1
        events = [one["event"] for one in lines if one["log_level"] in ("info", "warning", "error")]
        assert events.count("Cloud cannot be used") == events.count("Cloud can be used again") == 1
        assert not [one for one in events if "Reconciliation" in one and one != "Reconciliation completed"]
