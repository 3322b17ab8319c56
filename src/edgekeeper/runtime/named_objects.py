"""Single objects that others refer to, such as Secrets: each is watched by its name for as long as it is used.

    secrets = NamedObjects(services.informers, SECRET)
    controller.use(secrets)
    …
    secrets.use(request.key, [Key("shop", "token")])         # in a pass: what this object refers to, and nothing else
    token = secrets.get(Key("shop", "token"))                # NotSyncedError until it is known whether there is one

The only requests are list and watch by name, which a Role with `resourceNames` permits. The users of an object are
queued when it changes, and when its first list is complete.

Each name is a separate watch, so this is for a small number of objects. If the whole namespace is watched already, and
synced, that watch is used instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.informers import Informer, Informers
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Change


@dataclass(slots=True)
class _Used:
    informer: Informer
    stops: tuple[Callable[[], None], ...] = ()
    users: set[Key] = field(default_factory=set)


class NamedObjects:
    """The objects of one kind that the objects of a controller refer to."""

    def __init__(self, informers: Informers, kind: Kind, *, metadata_only: bool = False) -> None:
        self.kind = kind
        self._informers = informers
        self._metadata_only = metadata_only
        self._wake: Callable[[Key], None] | None = None
        self._used: dict[Key, _Used] = {}
        self._uses: dict[Key, frozenset[Key]] = {}

    def __len__(self) -> int:
        """How many objects are watched."""
        return len(self._used)

    def on_change(self, wake: Callable[[Key], None] | None) -> None:
        """Call `wake` with each user of an object that has changed."""
        self._wake = wake

    def use(self, user: Key, objects: Iterable[Key]) -> None:
        """Set the objects that `user` refers to. The watches of objects without a user end."""
        wanted, before = frozenset(objects), self._uses.get(user, frozenset())
        if wanted:
            self._uses[user] = wanted
        else:
            self._uses.pop(user, None)
        for key in wanted - before:
            self._watched(key).users.add(user)
        for key in before - wanted:
            self._leave(key, user)

    def forget(self, user: Key) -> None:
        """Drop all references of a user that no longer exists."""
        if user in self._uses:
            self.use(user, ())

    def close(self) -> None:
        """End all watches."""
        for user in list(self._uses):
            self.forget(user)

    def raw(self, key: Key) -> bytes | None:
        """The object as JSON, or None if it does not exist. Raise NotSyncedError if it is not listed yet.

        Raise ValueError for an object without a user, because it is not watched.
        """
        return self._informer(key).store.raw(key)

    def get(self, key: Key) -> JsonObject | None:
        """The same, decoded anew: the caller may change it."""
        return self._informer(key).store.get(key)

    def _informer(self, key: Key) -> Informer:
        used = self._used.get(key)
        if used is None:
            raise ValueError(f"{self.kind.kind} {key} is not in use: say so with `use` first")
        return used.informer

    def _watched(self, key: Key) -> _Used:
        used = self._used.get(key)
        if used is None:
            informer = self._informers.acquire_object(self.kind, key, metadata_only=self._metadata_only)
            used = self._used[key] = _Used(informer)

            def changed(change: Change) -> None:
                if change.key == key and not change.initial:
                    self._wake_users(key)

            used.stops = (
                informer.subscribe(changed),
                informer.subscribe_state(lambda: self._wake_users(key)),
            )
        return used

    def _leave(self, key: Key, user: Key) -> None:
        used = self._used[key]
        used.users.discard(user)
        if not used.users:
            del self._used[key]
            for stop in used.stops:
                stop()
            self._informers.release(used.informer)

    def _wake_users(self, key: Key) -> None:
        if self._wake is not None and key in self._used:
            for user in list(self._used[key].users):
                self._wake(user)
