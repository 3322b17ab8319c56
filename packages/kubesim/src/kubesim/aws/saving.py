"""The simulated cloud over a restart: everything that it has, as one JSON file.

    keep(cloud, directory / "aws.json")     # continues where the file ends, and writes it with every change

*Guarantees*
 - A change is in the file before its caller has the answer. Whoever remembers an effect finds it again, however the
   process ends: as with AWS itself, a caller that dies may not have heard of its last effect, and nothing else is lost.
 - The file is replaced as a whole, so that it always holds one moment.
 - Time goes on while nobody runs: what was being deployed is deployed.
 - No id is given twice.

*Caveats*
 - What belongs to a run is not kept: durations, quotas, request limits, planned faults, denied actions, the journal, and
   what a reader behind the times still saw.
 - The cost of a change grows with what there is: some 5 ms with a thousand tenants.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal

import msgspec

from kubesim.aws.account import SavedAccount
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.cloudtime import SavedTime
from kubesim.aws.identity import SavedIdentities

FORMAT: Final = 1


class UnreadableStateError(OSError):
    """The file is not one that we can continue from."""

    def __init__(self, path: Path, why: Exception) -> None:
        super().__init__(
            f"cannot read the simulated AWS from {path}: {why}; move the file away to begin with a new one"
        )


class SavedCloud(msgspec.Struct):
    """All of it."""

    format: Literal[1]
    time: SavedTime
    restarts: int
    identities: SavedIdentities
    names_elsewhere: dict[str, str]
    served_tokens: list[str]
    accounts: dict[str, SavedAccount]


def save(cloud: AwsCloud) -> bytes:
    """What the cloud has at this moment."""
    world = cloud.world
    return msgspec.json.encode(
        SavedCloud(
            FORMAT,
            cloud.time.save(),
            world.ids.restarts,
            world.identities.save(),
            world.dns.elsewhere,
            sorted(world.served_tokens),
            {number: account.save() for number, account in cloud.accounts.items()},
        )
    )


def restore(cloud: AwsCloud, data: bytes) -> None:
    """Let a new cloud have what another one had. Raise ValueError where `data` is not what `save` returned."""
    saved = msgspec.json.decode(data, type=SavedCloud)
    world = cloud.world
    cloud.time.restore(saved.time)
    world.ids.restart(saved.restarts + 1)
    world.identities.restore(saved.identities)
    world.dns.elsewhere.update(saved.names_elsewhere)
    world.served_tokens.update(saved.served_tokens)
    for number, account in saved.accounts.items():
        cloud.account(number).restore(account)
    world.dns.changed()  # so that certificates which wait are looked at


def keep(cloud: AwsCloud, path: Path) -> bool:
    """Continue from a file, and write it with every change from now on. Return whether there was one."""
    try:
        restore(cloud, path.read_bytes())
    except FileNotFoundError:
        found = False
    except (OSError, ValueError) as error:
        raise UnreadableStateError(path, error) from error
    else:
        found = True
    cloud.on_change = lambda: _replace(path, save(cloud))
    return found


def _replace(path: Path, data: bytes) -> None:
    """All at once: whoever reads the file finds the old state or the new one. It holds keys, so only its owner may."""
    fresh = path.with_name(f".{path.name}.new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    fresh.replace(path)
