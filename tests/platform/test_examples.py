"""The examples of the platform APIs, applied as they are: what a newcomer does first."""

from __future__ import annotations

from edgekeeper.cli.manifest import load_manifests
from kubesim.virtual import virtual_time
from tests.platform.world import EXAMPLES, definitions, platform

PLAIN = {"id", "template", "externalRef", "readyWhen", "includeWhen", "forEach"}
"""What a resource may have in kro's own format."""


def test_definitions_have_no_extension_of_ours() -> None:
    for definition in definitions():
        for resource in definition["spec"]["resources"]:
            assert set(resource) <= PLAIN, f"{definition['metadata']['name']}: {resource['id']}"


def test_instance_takes_ten_lines_of_a_person() -> None:
    files = sorted((EXAMPLES / "instances").glob("*.yaml"))
    lines = {
        path.name: sum(not line.startswith("#") for line in path.read_text().splitlines()) for path in files
    }
    assert lines
    assert max(lines.values()) <= 10, lines


@virtual_time
async def test_examples_become_active_and_go_without_a_trace() -> None:
    manifests = load_manifests([EXAMPLES / "instances"])
    assert {one.kind for one in manifests} == {"TubiLambdaService", "TubiService", "TubiPostgres"}
    async with platform() as world:
        before = world.portrait()
        for _ in range(2):
            for one in manifests:
                await world.apply(one.body)
            for one in manifests:
                assert (await world.active(one.kind, one.name))["state"] == "ACTIVE"
            assert world.portrait() != before
            for one in manifests:
                await world.delete(one.kind, one.name)
            for one in manifests:
                await world.gone(one.kind, one.name)
            await world.elapse(minutes=1)
            assert world.portrait() == before


@virtual_time
async def test_instances_at_rest_cost_no_write_anywhere() -> None:
    async with platform() as world:
        for one in load_manifests([EXAMPLES / "instances"]):
            await world.apply(one.body)
            await world.active(one.kind, one.name)
        await world.elapse(minutes=5)
        revision, aws, cloudflare = world.plane.store.revision, world.aws.writes, world.cloudflare.writes
        await world.elapse(minutes=30)
        assert (world.plane.store.revision, world.aws.writes, world.cloudflare.writes) == (
            revision,
            aws,
            cloudflare,
        )
