"""Access applications by the addresses that they protect, kept up to date by the mirror of applications."""

from __future__ import annotations

from edgekeeper.cloud.cloudflare.models import Application
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.core.json import dig, dig_list


def uris_of(application: Application) -> frozenset[str]:
    """The addresses that an application protects: hostnames, some with a path."""
    destinations = dig_list(application.document, "destinations")
    public = {dig(item, "uri") for item in destinations if dig(item, "type") == "public"}
    return frozenset(uri for uri in (application.domain, *public) if isinstance(uri, str) and uri)


class ApplicationIndex:
    """Finds applications by address without looking at all of them."""

    def __init__(self, mirror: Mirror[str, Application]) -> None:
        self._mirror = mirror
        self._ids: dict[str, set[str]] = {}
        mirror.subscribe(self._follow)
        for id_, application in mirror.items() if mirror.synced else ():
            self._follow(id_, None, application)

    def find(self, uri: str) -> list[Application]:
        """The applications that protect exactly this address. Raise NotSyncedError where they are not known yet."""
        self._mirror.get("")  # raises where absence is not known
        found = (self._mirror.get(id_) for id_ in sorted(self._ids.get(uri, ())))
        return [application for application in found if application is not None]

    def _follow(self, id_: str, old: Application | None, new: Application | None) -> None:
        for uri in uris_of(old) if old is not None else ():
            ids = self._ids.get(uri, set())
            ids.discard(id_)
            if not ids:
                self._ids.pop(uri, None)
        for uri in uris_of(new) if new is not None else ():
            self._ids.setdefault(uri, set()).add(id_)
