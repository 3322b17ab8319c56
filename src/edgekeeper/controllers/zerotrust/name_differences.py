"""In which fields the tunnel rules and DNS records of hostnames differ from what is wanted, for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from edgekeeper.cloud.cloudflare.record_plan import RecordPlan
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.controllers.zerotrust.tunnel_rule_documents import documents
from edgekeeper.core.delta import ABSENT, Difference, compare
from edgekeeper.core.json import JsonObject
from edgekeeper.core.paths import field_path


def rule_differences(
    present: Mapping[tuple[str, str], Sequence[JsonObject]], tunnel: str, changes: Iterable[HostnameChange]
) -> Iterator[Difference]:
    """The differences between the rules of a tunnel and those that hostnames are to have: `tunnel[host][0].service`."""
    for change in changes:
        rules = list(present.get((tunnel, change.hostname), ()))
        for one in compare(list(documents(change.rules)), rules):
            yield replace(one, path=f"tunnel[{change.hostname}]{one.path}")


def record_differences(plans: Iterable[RecordPlan]) -> Iterator[Difference]:
    """What planned changes of records do: `dns[CNAME host].content`."""
    for plan in plans:
        for record in plan.deletes:
            yield Difference(_path(record.type, record.name), record.content, ABSENT)
        for record, fields in plan.patches:
            for name, value in fields.items():
                if getattr(record, name) != value:
                    before = getattr(record, name)
                    path = field_path(_path(record.type, record.name), name)
                    yield Difference(path, ABSENT if before is None else before, value)
        for fields in plan.posts:
            yield Difference(_path(fields["type"], fields["name"]), ABSENT, fields["content"])


def _path(type_: str, name: str) -> str:
    return f"dns[{type_} {name}]"
