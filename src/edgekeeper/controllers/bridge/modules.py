"""The kinds of the bridge, as the process knows them."""

from __future__ import annotations

from typing import Final

from edgekeeper.controllers.bridge.domains.wiring import DomainModule
from edgekeeper.controllers.bridge.permissions.wiring import PermissionModule
from edgekeeper.lifecycle.module import KindModule

BRIDGE_MODULES: Final[tuple[KindModule, ...]] = (DomainModule(), PermissionModule())
