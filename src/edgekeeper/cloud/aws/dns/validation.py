"""Check the zones, roles and changes that objects name. They become part of request paths, and of calls to STS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from edgekeeper.api.shared import DnsChange, InventoryRecord
from edgekeeper.cloud.aws.roles import is_role_arn
from edgekeeper.core.aws_identifiers import HOSTED_ZONE_ID, is_form

_CHANGE: Final = re.compile(r"[A-Z0-9]{1,32}")


def zone_problems(path: str, zone: str) -> Iterator[str]:
    """A message, if the field at `path` is not the id of a hosted zone."""
    if not is_form(HOSTED_ZONE_ID, zone):
        yield f"{path} {zone!r} is not the id of a hosted zone: ids have capital letters and digits"


def role_problems(path: str, role: str) -> Iterator[str]:
    """A message, if the field at `path` is neither empty nor the ARN of a role."""
    if role and not is_role_arn(role):
        yield f"{path} {role!r} is not the ARN of a role: its form is arn:aws:iam::ACCOUNT:role/NAME"


def inventory_problems(inventory: Iterable[InventoryRecord]) -> list[str]:
    """Invalid zones and roles in an inventory: the operator never writes such entries, so somebody else did."""
    problems: list[str] = []
    for entry in inventory:
        path = f"status.inventory[{entry.type} {entry.name}]"
        problems += [*zone_problems(f"{path}.zone", entry.zone), *role_problems(f"{path}.role", entry.role)]
    return problems


def is_credible_change(change: DnsChange) -> bool:
    """Does a change in a status have valid ids? Others may write the status."""
    is_named = not change.id or bool(_CHANGE.fullmatch(change.id))
    return is_named and not [*zone_problems("", change.zone), *role_problems("", change.role)]
