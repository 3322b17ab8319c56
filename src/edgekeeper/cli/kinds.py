"""The kinds of the operator, and the selection of those that a process runs.

Commands, flags, definitions and controllers are derived from `MODULES`: a new kind is added here only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from edgekeeper.api.definition import CustomKind
from edgekeeper.controllers.bridge.modules import BRIDGE_MODULES
from edgekeeper.controllers.cloudfront.module import TenantModule
from edgekeeper.controllers.composition.module import DefinitionModule, RevisionModule
from edgekeeper.controllers.zerotrust.modules import ZERO_TRUST_MODULES
from edgekeeper.lifecycle.module import Cloud, ImportableModule, KindModule, PlannableModule

MODULES: Final[tuple[KindModule, ...]] = (
    TenantModule(),
    *BRIDGE_MODULES,
    *ZERO_TRUST_MODULES,
    DefinitionModule(),
    RevisionModule(),
)
DEFINITIONS: Final[tuple[CustomKind, ...]] = tuple(
    dict.fromkeys(module.definition for module in MODULES if module.definition is not None)
)

ALL: Final = "*"


def roles(modules: Sequence[KindModule] = MODULES) -> tuple[str, ...]:
    """The roles of the kinds, without duplicates."""
    return tuple(dict.fromkeys(str(module.role) for module in modules))


def choose_role(text: str, modules: Sequence[KindModule] = MODULES) -> str:
    """The role of a given name, normalised; empty for all roles. Raise ValueError if it does not exist."""
    role = text.strip().lower().replace("_", "-")
    if role and role not in roles(modules):
        raise ValueError(f"there is no role {text!r}: choose one of {', '.join(roles(modules))}")
    return role


def choose_controllers(text: str, modules: Sequence[KindModule] = MODULES) -> frozenset[str]:
    """The controllers that a list such as `a,b,-c` selects: those named, or all if none is, except those with a minus.

    Raise ValueError if a controller does not exist, or none is left.
    """
    names = [module.name for module in modules]
    parts = [part.strip().lower() for part in text.split(",") if part.strip()]
    excluded = {part.removeprefix("-") for part in parts if part.startswith("-")}
    included = {part for part in parts if not part.startswith("-")}
    unknown = sorted((included | excluded) - {ALL, *names})
    if unknown:
        raise ValueError(f"there is no controller {unknown[0]!r}: choose from {', '.join(names)}")
    chosen = set(names) if not included or ALL in included else included
    if not chosen - excluded:
        raise ValueError(f"{text!r} leaves no controller: choose from {', '.join(names)}")
    return frozenset(chosen - excluded)


def chosen_modules(
    controllers: frozenset[str] | None, role: str, modules: Sequence[KindModule] = MODULES
) -> tuple[KindModule, ...]:
    """The kinds that a process runs. None selects all controllers, an empty role all roles."""
    return tuple(
        module
        for module in modules
        if (controllers is None or module.name in controllers) and role in ("", module.role)
    )


def uses(cloud: Cloud, modules: Sequence[KindModule]) -> bool:
    """Whether any of these kinds uses a cloud."""
    return any(cloud in module.clouds for module in modules)


def module_of(target: str, modules: Sequence[KindModule] = MODULES) -> PlannableModule | None:
    """The kind with a given name, plural, short name or qualified name, such as `dt`; None if there is none.

    Kinds without previews are left out.
    """
    found = (module for module in plannable(modules) if target.lower() in _spellings(module))
    return next(found, None)


def plannable(modules: Sequence[KindModule]) -> list[PlannableModule]:
    """Those of these kinds that have previews."""
    return [module for module in modules if isinstance(module, PlannableModule)]


def importable(modules: Sequence[KindModule]) -> list[ImportableModule]:
    """Those of these kinds that can be imported."""
    return [module for module in modules if isinstance(module, ImportableModule)]


def _spellings(module: KindModule) -> Iterator[str]:
    kind = module.kind
    yield from (kind.kind.lower(), kind.plural, kind.qualified_plural)
    if module.definition is not None:
        yield from module.definition.short_names
