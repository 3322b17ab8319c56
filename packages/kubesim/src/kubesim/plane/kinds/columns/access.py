"""Columns of role bindings. Roles themselves show only when they were created."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig, dig_list
from kubesim.plane.kinds.columns.cell import AGE, NAME, WIDE, Cell, of
from kubesim.plane.resource import Column


def _role(binding: JsonObject) -> str:
    return f"{dig(binding, 'roleRef', 'kind')}/{dig(binding, 'roleRef', 'name')}"


def _subjects(kind: str) -> Cell:
    def cell(binding: JsonObject) -> str:
        subjects = [one for one in dig_list(binding, "subjects") if dig(one, "kind") == kind]
        return ", ".join(_subject(one) for one in subjects)

    return cell


def _subject(subject: JsonObject) -> str:
    name = dig(subject, "name") or ""
    return f"{dig(subject, 'namespace') or ''}/{name}" if subject["kind"] == "ServiceAccount" else name


_BINDING = (
    NAME,
    of("Role", _role),
    AGE,
    of("Users", _subjects("User"), priority=WIDE),
    of("Groups", _subjects("Group"), priority=WIDE),
    of("ServiceAccounts", _subjects("ServiceAccount"), priority=WIDE),
)

COLUMNS: dict[str, tuple[Column, ...]] = {"RoleBinding": _BINDING, "ClusterRoleBinding": _BINDING}
