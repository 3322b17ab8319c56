"""S-11: a status is what we write down, not what proves anything. Whoever can write it gets nobody else's things by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from kubesim.aws.route53.records import Record
from kubesim.virtual import virtual_time
from tests.security.forgery import ATTACKER, KIOSK, LATER, STALL, VICTIM, Holdings, entry, forge, two_teams
from tests.tenants.scene import Scene
from tests.tenants.system import tenant

Forgery = Callable[[Scene], JsonObject]
OTHER_ROLE = "arn:aws:iam::444455556666:role/dns"


def with_entry(name: str = KIOSK, **fields: Any) -> Forgery:
    return lambda scene: {"inventory": [entry(scene, STALL), entry(scene, name, **fields)]}


def victims_tenant(*fields: str) -> Forgery:
    return lambda scene: {name: scene.status(VICTIM)[name] for name in fields}


def old_status(scene: Scene) -> JsonObject:
    """As the operator before us wrote it, when there was no inventory."""
    results = [{"domain": name, "status": "active"} for name in (STALL, KIOSK)]
    return {"inventory": None, "tagsFingerprint": None, "domainResults": results, "dnsTarget": scene.endpoint}


FORGERIES: dict[str, Forgery] = {
    "id": victims_tenant("id"),
    "id, ARN and ETag": victims_tenant("id", "arn", "eTag"),
    "id, ARN, ETag and fingerprint": victims_tenant("id", "arn", "eTag", "tagsFingerprint"),
    "id of nobody": lambda _: {"id": "dt_nobody", "arn": "arn:nobody"},
    "ETag": lambda _: {"eTag": "E0"},
    "generation": lambda _: {"observedGeneration": 99},
    "fingerprint": lambda _: {"tagsFingerprint": "0aaaaaaaaaaa"},
    "certificate": lambda _: {"certificateArn": "arn:theirs", "managedCertificateStatus": "issued"},
    "change of the zone": lambda _: {"dnsChangeId": "../../hostedzone"},
    "conditions": lambda _: {"conditions": []},
    "record": with_entry(),
    "record that is only planned": with_entry(state="Planned"),
    "record in capitals": with_entry(KIOSK.upper()),
    "record with a dot": with_entry(f"{KIOSK}."),
    "record in octal": with_entry(f"\\{ord('k'):03o}{KIOSK[1:]}"),
    "record in octal capitals": with_entry(f"\\{ord('K'):03o}{KIOSK[1:]}"),
    "record in another time": with_entry(ttl=60),
    "zone by its path": lambda scene: with_entry(zone=f"/hostedzone/{scene.zone.id}")(scene),
    "what an older status implies": old_status,
    "apex": with_entry("example.com", type="A", ttl=None),
    "name servers": with_entry("example.com", type="NS", target="ns-1.awsdns.net", ttl=172800),
    "mail": with_entry("example.com", type="MX", target="10 mail.example.net"),
    "text": with_entry("example.com", type="TXT", target='"v=spf1 -all"'),
    "address": with_entry("www.example.com", type="A", target="192.0.2.1"),
    "alias of somebody": with_entry("theirs.example.com", target="theirs.example.net"),
}


def others_records(scene: Scene) -> None:
    """What else a zone has."""
    for record in (
        Record("example.com.", "MX", 300, ("10 mail.example.net",)),
        Record("example.com.", "TXT", 300, ('"v=spf1 -all"',)),
        Record("www.example.com.", "A", 300, ("192.0.2.1",)),
        Record("theirs.example.com.", "CNAME", 300, ("theirs.example.net.",)),
    ):
        scene.cloud.route53.put_record(scene.zone, record)


def without_times(status: JsonObject) -> JsonObject:
    conditions = [{**one, "lastTransitionTime": ""} for one in status["conditions"]]
    return {**status, "conditions": conditions, "lastDriftCheckTime": ""}


@virtual_time
async def test_status_that_was_forged_is_set_right_and_nothing_else_happens() -> None:
    async with two_teams() as scene:
        others_records(scene)
        await scene.elapse(**LATER)
        before, status = Holdings.of(scene), without_times(scene.status(ATTACKER))
        for variant, forgery in FORGERIES.items():
            await forge(scene, ATTACKER, **forgery(scene))
            await scene.elapse(**LATER)
            before.confirm(scene, variant)
            assert without_times(scene.status(ATTACKER)) == status, variant


@virtual_time
async def test_deletion_by_a_forged_status_removes_what_was_ones_own() -> None:
    async with two_teams(attacking=False) as scene:
        others_records(scene)
        await scene.elapse(**LATER)
        before = Holdings.of(scene)
        keys = {variant: Key("beta", f"stall-{number}") for number, variant in enumerate(FORGERIES)}
        for key in keys.values():
            await scene.create(tenant(key, f"{key.name}.example.com", dns=scene.dns()))
        for key in keys.values():
            await scene.ready(key)
        await scene.stage.operator.stop()
        for variant, key in keys.items():
            forged = FORGERIES[variant](scene)
            if "inventory" in forged:
                forged["inventory"] = [entry(scene, f"{key.name}.example.com"), *(forged["inventory"] or ())]
            await forge(scene, key, **forged)
            await scene.delete(key)
        scene.stage.start_operator()
        for variant, key in keys.items():
            await scene.gone(key)
            assert key.name not in scene.names, variant
        before.confirm(scene, untouched=False)
