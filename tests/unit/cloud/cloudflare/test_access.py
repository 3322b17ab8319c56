"""Access through the adapter: protected in one call, found again, and never left without a policy by accident."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.errors import Conflict, Retry, Stall
from kubesim.cloudflare.faults import Fault
from tests.unit.cloud.cloudflare.world import World, both_ways, in_virtual_time

APPS = "POST /accounts/{account}/access/apps"
MAIL: dict[str, Any] = {"email": {"email": "a@example.com"}}


def _policy(**more: Any) -> dict[str, Any]:
    return {"name": "people", "decision": "allow", "include": [MAIL], **more}


def _settings(domain: str = "app.example.com", **more: Any) -> dict[str, Any]:
    return {"name": f"cfzt:{domain}", "domain": domain, "session_duration": "8h", **more}


@both_ways
async def test_application_is_protected_in_one_call(world: World) -> None:
    access = world.account.access
    policy = await access.create_policy(_policy())
    before = world.count()
    made = await access.create_application(_settings(), [{"id": policy.id, "precedence": 1}])
    assert world.count() - before == 1
    assert len(made.aud) == 64
    (attached,) = made.policies
    assert (attached.id, attached.decision, attached.reusable) == (policy.id, "allow", True)
    assert made.document["session_duration"] == "8h"


@both_ways
async def test_application_takes_inline_policies(world: World) -> None:
    made = await world.account.access.create_application(_settings(), [_policy()])
    (attached,) = made.policies
    assert attached.include == (MAIL,)
    assert not attached.reusable


@both_ways
async def test_application_is_found_by_its_id(world: World) -> None:
    access = world.account.access
    await access.create_application(_settings("app.example.com.evil.net"), [_policy()])
    made = await access.create_application(_settings(), [_policy()])
    assert await access.application(made.id) == made
    assert await access.application("gone") is None


@both_ways
async def test_applications_of_an_account_are_listed_whole(world: World) -> None:
    access = world.account.access
    policy = await access.create_policy(_policy())
    for number in range(30):
        settings = {"type": "self_hosted", **_settings(f"app-{number}.example.com"), "policies": [policy.id]}
        world.cloud.act("POST", f"/accounts/{world.owner.id}/access/apps", settings)
    before = world.count()
    listed = {id_: item async for page in access.application_pages() for id_, item in page.items()}
    assert len(listed) == 30
    assert world.count() - before == 1


@both_ways
async def test_application_that_exists_is_a_conflict_to_look_at(world: World) -> None:
    access = world.account.access
    await access.create_application(_settings(), [_policy()])
    with pytest.raises(Conflict, match="application_already_exists"):
        await access.create_application(_settings(), [_policy()])


@both_ways
async def test_application_is_replaced_with_its_policies(world: World) -> None:
    access = world.account.access
    first, second = await access.create_policy(_policy()), await access.create_policy(_policy(name="others"))
    made = await access.create_application(_settings(), [first.id])
    changed = await access.put_application(made.id, _settings(session_duration="1h"), [second.id, first.id])
    assert [policy.id for policy in changed.policies] == [second.id, first.id]
    assert changed.aud == made.aud
    assert changed.document["session_duration"] == "1h"


@both_ways
async def test_application_that_is_gone_conflicts_on_replace_and_satisfies_delete(world: World) -> None:
    access = world.account.access
    made = await access.create_application(_settings(), [_policy()])
    await access.delete_application(made.id)
    await access.delete_application(made.id)
    with pytest.raises(Conflict):
        await access.put_application(made.id, _settings(), [_policy()])


@both_ways
async def test_application_without_a_policy_is_refused_before_any_call(world: World) -> None:
    access = world.account.access
    with pytest.raises(Stall) as caught:
        await access.create_application(_settings(), [])
    assert caught.value.reason == "NoPolicy"
    with pytest.raises(Stall):
        await access.create_application(_settings(), [_policy(include=[])])
    with pytest.raises(Stall):
        await access.put_application("id", _settings(), [])
    with pytest.raises(Stall):
        await access.create_policy(_policy(include=[]))
    assert not world.count()


@both_ways
async def test_application_settings_never_carry_a_null(world: World) -> None:
    made = await world.account.access.create_application(_settings(logo_url=None), [_policy()])
    assert "logo_url" not in made.document


@both_ways
async def test_application_create_is_not_repeated_after_a_lost_answer_but_found(world: World) -> None:
    access = world.account.access
    world.cloud.faults.add(Fault("lost", method="POST"))
    with pytest.raises(Retry):
        await access.create_application(_settings(), [_policy()])
    assert world.count(APPS) == 1
    (page,) = [page async for page in access.application_pages()]
    assert [made.domain for made in page.values()] == ["app.example.com"]


@both_ways
async def test_policy_lives_from_creation_to_deletion(world: World) -> None:
    access = world.account.access
    made = await access.create_policy(_policy(session_duration="2h"))
    changed = await access.put_policy(made.id, _policy(decision="non_identity"))
    assert (changed.id, changed.decision) == (made.id, "non_identity")
    assert await access.policy(made.id) == changed
    listed = {id_: item async for page in access.policy_pages() for id_, item in page.items()}
    assert listed == {made.id: changed}
    await access.delete_policy(made.id)
    await access.delete_policy(made.id)
    assert await access.policy(made.id) is None
    with pytest.raises(Conflict):
        await access.put_policy(made.id, _policy())


@both_ways
async def test_groups_are_listed_by_id_so_that_names_can_be_resolved(world: World) -> None:
    body = {"name": "engineers", "include": [MAIL]}
    group = world.cloud.act("POST", f"/accounts/{world.owner.id}/access/groups", body)
    listed = {
        id_: item.name async for page in world.account.access.group_pages() for id_, item in page.items()
    }
    assert listed == {group["id"]: "engineers"}


@both_ways
async def test_policy_for_a_group_that_does_not_exist_stalls(world: World) -> None:
    with pytest.raises(Stall) as caught:
        await world.account.access.create_policy(_policy(include=[{"group": {"id": "engineers"}}]))
    assert caught.value.reason == "GroupNotFound"


@both_ways
async def test_tag_is_made_once(world: World) -> None:
    access = world.account.access
    await access.ensure_tag("cfzt")
    await access.ensure_tag("cfzt")
    assert world.count("POST /accounts/{account}/access/tags") == 1
    made = await access.create_application(_settings(tags=["cfzt"]), [_policy()])
    assert made.tags == ("cfzt",)


@both_ways
async def test_team_is_read_from_the_organisation(world: World) -> None:
    assert (await world.account.access.organization()).team == "acme"


@both_ways
async def test_access_that_was_never_switched_on_stalls(world: World) -> None:
    world.owner.access_enabled = False
    with pytest.raises(Stall) as caught:
        await world.account.access.organization()
    assert caught.value.reason == "AccessNotEnabled"


@both_ways
async def test_full_account_stalls_with_the_quota(world: World) -> None:
    world.owner.quotas.applications = 0
    with pytest.raises(Stall) as caught:
        await world.account.access.create_application(_settings(), [_policy()])
    assert caught.value.reason == "QuotaExceeded"
    assert caught.value.after.total_seconds() == 1800


@in_virtual_time
async def test_application_that_is_not_as_expected_is_an_error_and_not_an_absence(world: World) -> None:
    made = await world.account.access.create_application(_settings(), [_policy()])
    world.owner.applications[made.id]["aud"] = 5
    with pytest.raises(Retry, match="unexpected form"):
        [page async for page in world.account.access.application_pages()]


@both_ways
async def test_policy_of_an_application_is_changed_in_place(world: World) -> None:
    access = world.account.access
    made = await access.create_application(_settings(), [_policy()])
    (before,) = made.policies
    other = {"email": {"email": "b@example.com"}}
    changed = await access.put_application_policy(made, before.id, _policy(include=[other], precedence=1))
    assert [policy.id for policy in changed.policies] == [before.id]
    live = await access.application(made.id)
    assert live is not None
    assert live.policies == changed.policies
    assert live.policies[0].include == (other,)


@both_ways
async def test_policies_are_added_to_an_application_and_removed(world: World) -> None:
    access = world.account.access
    made = await access.create_application(_settings(), [_policy()])
    added = await access.create_application_policy(made, _policy(name="others", precedence=2))
    assert [policy.name for policy in added.policies] == ["people", "others"]
    live = await access.application(made.id)
    assert live is not None
    assert live.policies == added.policies
    left = await access.delete_application_policy(added, added.policies[0].id)
    live = await access.application(made.id)
    assert live is not None
    assert (
        [policy.name for policy in live.policies] == [policy.name for policy in left.policies] == ["others"]
    )


@both_ways
async def test_policy_of_an_application_that_is_gone_is_a_conflict(world: World) -> None:
    access = world.account.access
    made = await access.create_application(_settings(), [_policy()])
    with pytest.raises(Conflict, match="no policy"):
        await access.put_application_policy(made, "00000000-0000-4000-a000-000000000000", _policy())


@both_ways
async def test_applications_are_found_by_every_address_that_they_protect(world: World) -> None:
    account = world.account
    destinations = [{"type": "public", "uri": uri} for uri in ("app.example.com", "b.example.com")]
    made = await account.access.create_application(_settings(destinations=destinations), [_policy()])
    await account.applications.refresh()
    assert account.applications_by_uri.find("b.example.com") == [made]
    await account.access.delete_application(made.id)
    assert account.applications_by_uri.find("b.example.com") == []
    assert account.applications_by_uri.find("app.example.com") == []


@both_ways
async def test_identity_providers_are_listed(world: World) -> None:
    path = f"/accounts/{world.owner.id}/access/identity_providers"
    made = world.cloud.act("POST", path, {"name": "Okta", "type": "okta", "config": {}})
    pages = [page async for page in world.account.access.identity_provider_pages()]
    assert {id_: provider.type for page in pages for id_, provider in page.items()} == {made["id"]: "okta"}


@both_ways
async def test_tag_and_organisation_are_asked_for_once(world: World) -> None:
    account = world.account
    for _ in range(3):
        await account.ensure_tag("edgekeeper-1")
        assert (await account.organization()).team == "acme"
    assert world.count() == 3  # the tags are listed, one is made, the organisation is read


@both_ways
async def test_refusal_to_show_the_organisation_is_remembered(world: World) -> None:
    token = world.cloud.world.tokens[world.secret["token"]]
    token.permissions = frozenset()
    for _ in range(3):
        with pytest.raises(Stall):
            await world.account.organization()
    assert world.count() == 1
