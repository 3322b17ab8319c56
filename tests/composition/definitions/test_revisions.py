"""GraphRevisions: when one is issued, how many are kept, whose they are, and which is in force."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from edgekeeper.api.composition import REVISION_HASH_LABEL
from edgekeeper.controllers.composition.graph import read_definition
from edgekeeper.controllers.composition.labels import FINALIZER
from edgekeeper.controllers.composition.revision import spec_hash
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, Transport
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.definitions.scene import DefinitionScene, config_map, definition, scenery


async def change(scene: DefinitionScene, value: str) -> None:
    """Change what the definition's resource says."""
    await scene.edit(resources=[config_map(a=value)])


@virtual_time
async def test_first_revision_is_a_snapshot_that_says_whether_it_is_valid() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        owner = await scene.get()
        (revision,) = await scene.revisions()
        assert revision["metadata"]["name"] == "web-apps-r00001"
        assert revision["metadata"]["labels"] == {
            "kro.run/owned": "true",
            "kro.run/kro-version": "v0.9.3",
            "kro.run/resource-graph-definition-name": "web-apps",
            REVISION_HASH_LABEL: spec_hash(read_definition(owner)),
        }
        (reference,) = revision["metadata"]["ownerReferences"]
        assert (reference["uid"], reference["controller"]) == (owner["metadata"]["uid"], True)
        assert revision["spec"] == {
            "revision": 1,
            "snapshot": {"name": "web-apps", "generation": 1, "spec": owner["spec"]},
        }
        assert revision["status"]["topologicalOrder"] == ["config"]
        found = {one["type"]: (one["status"], one["reason"]) for one in revision["status"]["conditions"]}
        assert found == {"Ready": ("True", "Verified"), "GraphVerified": ("True", "Verified")}


@each_server
async def test_only_the_newest_revisions_are_kept_and_numbers_go_on() -> None:
    async with scenery() as scene, scene.operating(rgd_max_graph_revisions=2):
        await scene.create(definition())
        for value in "bcde":
            await change(scene, value)
        assert await scene.numbers() == [4, 5]
        assert (await scene.status())["lastIssuedRevision"] == 5
        served = scene.graphs.find("web-apps")
        assert served is not None
        assert served.revision == 5


@each_server
async def test_each_change_past_the_limit_deletes_the_oldest_revision() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        for value in "vwxy":
            await change(scene, value)
        assert await scene.numbers() == [1, 2, 3, 4, 5]
        await change(scene, "z")
        assert await scene.numbers() == [2, 3, 4, 5, 6]


@virtual_time
async def test_limit_of_zero_keeps_all_revisions() -> None:
    async with scenery() as scene, scene.operating(rgd_max_graph_revisions=0):
        await scene.create(definition())
        for value in "bcdefg":
            await change(scene, value)
        assert await scene.numbers() == [1, 2, 3, 4, 5, 6, 7]


@virtual_time
async def test_watermark_survives_the_loss_of_all_revisions() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await change(scene, "b")
        for revision in await scene.revisions():
            await scene.user.delete(REVISION, Key("", revision["metadata"]["name"]))
        await scene.settle()
        assert await scene.numbers() == [3]
        assert (await scene.status())["lastIssuedRevision"] == 3


@each_server
async def test_unchanged_definition_gets_no_further_revision_by_restarts() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
        for _ in range(3):
            async with scene.operating():
                await scene.settle()
        assert await scene.numbers() == [1]


@each_server
async def test_restarts_and_changes_in_turn_issue_one_revision_for_each_change() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
        for value in "bc":
            await change(scene, value)  # while nobody runs
            async with scene.operating():
                await scene.settle()
            async with scene.operating():
                await scene.settle()
        assert await scene.numbers() == [1, 2, 3]
        async with scene.operating():
            await change(scene, "d")
        assert await scene.numbers() == [1, 2, 3, 4]


@each_server
async def test_rapid_changes_issue_ascending_revisions_and_the_last_one_is_the_last_spec() -> None:
    async with scenery() as scene, scene.operating(rgd_max_graph_revisions=0):
        await scene.create(definition())
        for number in range(20):
            patch = {"spec": {"resources": [config_map(a=str(number))]}}
            await scene.user.merge_patch(DEFINITION_KIND, Key("", "web-apps"), patch)
            await asyncio.sleep(0.01)
        await scene.settle()
        revisions = await scene.revisions()
        numbers = [one["spec"]["revision"] for one in revisions]
        assert numbers == list(range(1, len(numbers) + 1))
        texts = [one["metadata"]["labels"][REVISION_HASH_LABEL] for one in revisions]
        assert all(text != following for text, following in itertools.pairwise(texts))
        last = revisions[-1]["spec"]["snapshot"]["spec"]["resources"][0]["template"]["data"]
        assert last == {"a": "19"}
        assert (await scene.status())["lastIssuedRevision"] == numbers[-1]


class _SlowWatch:
    """Delivers what happens to revisions half a minute late."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        return await self._inner.send(request, deadline)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        async with self._inner.stream(request) as stream:
            is_slow = request.path.endswith("/graphrevisions")
            chunks = _delayed(stream.chunks) if is_slow else stream.chunks
            yield ApiStream(stream.status, stream.headers, chunks)

    async def close(self) -> None:
        await self._inner.close()


async def _delayed(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        await asyncio.sleep(30)
        yield chunk


@virtual_time
async def test_revision_that_the_watch_has_not_shown_yet_is_not_issued_again() -> None:
    async with scenery() as scene:
        scene.connect = lambda token: _SlowWatch(scene.cluster.connect(token))
        async with scene.operating():
            await scene.create(definition())
            await scene.settle(20)
            assert await scene.numbers() == [1]
            await scene.settle(200)
            assert await scene.numbers() == [1]
            assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_change_that_says_the_same_issues_none() -> None:
    async with scenery() as scene, scene.operating():
        one, other = config_map("one", "${schema.spec.name}-1"), config_map("other", "${schema.spec.name}-2")
        await scene.create(definition("web-apps", one, other))
        await scene.edit(resources=[other, one])
        assert await scene.numbers() == [1]
        assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_return_to_an_earlier_spec_is_a_revision_of_its_own() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await change(scene, "2")
        await change(scene, "1")
        revisions = await scene.revisions()
        hashes = [one["metadata"]["labels"][REVISION_HASH_LABEL] for one in revisions]
        assert len(revisions) == 3
        assert hashes[0] == hashes[2] != hashes[1]


@each_server
async def test_spec_of_a_revision_cannot_be_changed() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        with pytest.raises(InvalidError, match="immutable"):
            await scene.user.merge_patch(REVISION, Key("", "web-apps-r00001"), {"spec": {"revision": 7}})
        assert await scene.numbers() == [1]


@virtual_time
async def test_last_valid_revision_stays_in_force_while_the_definition_is_invalid() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        before = scene.graphs.find("web-apps")
        await change(scene, "${unknown.spec}")
        status, reason, message = await scene.condition("GraphAccepted")
        assert (status, reason) == ("False", "InvalidResourceGraph")
        assert "references unknown identifiers: [unknown]" in message
        assert message.startswith("spec.resources[0].template.data.a: ")
        conditions = await scene.conditions()
        assert conditions["Ready"] == ("False", "InvalidResourceGraph")
        assert conditions["ControllerReady"] == ("True", "Running")
        assert (await scene.status())["state"] == "Inactive"
        assert await scene.numbers() == [1]
        assert scene.graphs.find("web-apps") is before
        assert before is not None
        assert before.graph is not None


@virtual_time
async def test_last_valid_revision_is_compiled_and_served_after_a_restart_too() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
            await change(scene, "${unknown.spec}")
        async with scene.operating():
            await scene.settle()
            served = scene.graphs.find("web-apps")
            assert served is not None
            assert served.graph is not None
            assert served.revision == 1
            assert (await scene.status())["state"] == "Inactive"
        assert await scene.numbers() == [1]


@each_server
async def test_definition_recovers_from_an_invalid_edit_with_the_latest_valid_one() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await change(scene, "${unknown.spec}")
        await change(scene, "${schema.spec.missing}")
        assert "undefined field 'missing'" in (await scene.condition("GraphAccepted"))[2]
        await change(scene, "new")
        assert (await scene.status())["state"] == "Active"
        assert await scene.numbers() == [1, 2]
        served = scene.graphs.find("web-apps")
        assert served is not None
        assert served.graph is not None
        assert served.graph.nodes["config"].node.template["data"] == {"a": "new"}


@virtual_time
async def test_definition_that_is_never_valid_gets_no_revision_and_no_crd() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition("web-apps", config_map(a="${unknown.spec}")))
        assert await scene.numbers() == []
        assert not await scene.is_there(CUSTOM_RESOURCE_DEFINITION, "webapps.kro.run")
        assert (await scene.status())["state"] == "Inactive"
        assert scene.graphs.find("web-apps") is None


@virtual_time
async def test_served_graph_follows_a_change() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        told: list[str] = []
        scene.graphs.subscribe(told.append)
        await change(scene, "new")
        served = scene.graphs.find("web-apps")
        assert served is not None
        assert served.graph is not None
        assert served.revision == 2
        assert served.graph.nodes["config"].node.template["data"] == {"a": "new"}
        assert told == ["web-apps"], "instances are told once"


@virtual_time
async def test_revisions_that_a_deleted_definition_left_are_adopted_by_the_next() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await change(scene, "c")
        await scene.delete(propagation="Orphan")
        assert await scene.numbers() == [1, 2]
        await scene.create(definition())
        owner = await scene.get()
        assert await scene.numbers() == [1, 2, 3]
        for revision in await scene.revisions():
            (reference,) = revision["metadata"]["ownerReferences"]
            assert reference["uid"] == owner["metadata"]["uid"]
        assert owner["status"]["state"] == "Active"


@virtual_time
async def test_recreated_definition_that_says_the_same_as_the_newest_orphan_issues_none() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await scene.delete(propagation="Orphan")
        await scene.create(definition())
        assert await scene.numbers() == [1]
        assert (await scene.status())["lastIssuedRevision"] == 1


@virtual_time
async def test_revisions_go_with_their_definition() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await scene.delete()
        assert await scene.numbers() == []


@virtual_time
async def test_revision_with_the_finalizer_of_kro_can_be_deleted() -> None:
    async with scenery() as scene, scene.operating(rgd_max_graph_revisions=1):
        await scene.create(definition())
        patch = {"metadata": {"finalizers": [FINALIZER]}}
        await scene.user.merge_patch(REVISION, Key("", "web-apps-r00001"), patch)
        await change(scene, "c")
        assert await scene.numbers() == [2]
        assert (await scene.status())["state"] == "Active"
