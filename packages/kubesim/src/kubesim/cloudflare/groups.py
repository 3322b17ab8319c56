"""Access groups, which policies name by id, and tags, which applications name by name."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.access import (
    PAGES,
    check_room,
    enabled,
    invalid,
    not_found,
    required_name,
    rules,
)
from kubesim.cloudflare.filters import matches
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.state import Account
from kubesim.cloudflare.wire import Refusal, Result, paged


def list_groups(call: Call) -> Result:
    groups = enabled(call).groups.values()
    return paged([group for group in groups if matches(group, call.query, ("name",))], call.query, PAGES)


def get_group(call: Call) -> Result:
    return Result(_group(enabled(call), call))


def create_group(call: Call) -> Result:
    account, make = enabled(call), call.world.make
    name = required_name(call.payload)
    include = rules(account, call.payload, "include")
    if not include:
        raise invalid("include rules are required")
    check_room(len(account.groups), account.quotas.groups, "groups")
    id_, now = make.uuid(), make.time()
    account.groups[id_] = {
        "id": id_,
        "name": name,
        "include": include,
        "exclude": rules(account, call.payload, "exclude"),
        "require": rules(account, call.payload, "require"),
        "is_default": None,
        "created_at": now,
        "updated_at": now,
    }
    return Result(account.groups[id_])


def delete_group(call: Call) -> Result:
    account = enabled(call)
    group = _group(account, call)
    del account.groups[group["id"]]
    return Result({"id": group["id"]})


def list_tags(call: Call) -> Result:
    account = enabled(call)
    return paged([_shown(account, tag) for tag in account.tags.values()], call.query, PAGES)


def get_tag(call: Call) -> Result:
    account = enabled(call)
    return Result(_shown(account, _tag(account, call)))


def create_tag(call: Call) -> Result:
    account = enabled(call)
    name = required_name(call.payload)
    if name in account.tags:
        raise invalid("tag already exists")
    now = call.world.make.time()
    account.tags[name] = {"name": name, "created_at": now, "updated_at": now}
    return Result(_shown(account, account.tags[name]))


def delete_tag(call: Call) -> Result:
    account = enabled(call)
    tag = _tag(account, call)
    if _shown(account, tag)["app_count"]:
        raise invalid("tag is in use by an application")
    del account.tags[tag["name"]]
    return Result({"name": tag["name"]})


def _group(account: Account, call: Call) -> JsonObject:
    found = account.groups.get(call.ids["group"])
    if found is None:
        raise Refusal(404, 12152, "access.api.error.not_found: group not found")
    return found


def _tag(account: Account, call: Call) -> JsonObject:
    found = account.tags.get(call.ids["tag"])
    if found is None:
        raise not_found("tag")
    return found


def _shown(account: Account, tag: JsonObject) -> JsonObject:
    uses = sum(tag["name"] in application["tags"] for application in account.applications.values())
    return {**tag, "app_count": uses}
