"""Record how a real API server treats built-in objects, as the measure for the embedded one.

    python tools/record_builtin.py https://127.0.0.1:6443 --token TOKEN

`accepted.json` holds objects with what the server makes of them: the object as created, and the table row it is shown
as, after its status was set. `refused.json` holds objects, as changes to a sound one, with the server's refusal. The
tool sends what is in the files again and rewrites the answers. It needs a server of its own that authorises everything
and runs no controllers, as the conformance suite starts one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp

from kubesim.plane.kinds.catalogue import ROWS, Row

FOLDER = Path(__file__).resolve().parent.parent / "packages/kubesim/tests/plane/builtin"
NAMESPACE = "recorded"
VOLATILE = ("resourceVersion", "managedFields", "selfLink")
AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Server:
    """The real server, spoken to in JSON."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session = session
        self._address = address

    async def send(self, method: str, path: str, body: Any = None, accept: str = "application/json") -> Any:
        headers = {"Accept": accept}
        async with self._session.request(
            method, self._address + path, json=body, headers=headers
        ) as response:
            return await response.json()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("server", help="address of the real API server")
    parser.add_argument("--token", required=True, help="bearer token of a user who may do everything")
    arguments = parser.parse_args()
    asyncio.run(record_all(arguments.server, arguments.token))


async def record_all(address: str, token: str) -> None:
    connector = aiohttp.TCPConnector(ssl=False)
    async with aiohttp.ClientSession(
        connector=connector, headers={"Authorization": f"Bearer {token}"}
    ) as session:
        server = Server(session, address)
        await server.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for name, record_entry in (("accepted.json", record_accepted), ("refused.json", record_refused)):
            entries = json.loads((FOLDER / name).read_text())
            write(name, [await record_entry(server, entry) for entry in entries])


async def record_accepted(server: Server, entry: dict[str, Any]) -> dict[str, Any]:
    sent = entry["sent"]
    row = row_of(sent)
    created = accepted(await server.send("POST", collection(row), sent))
    path = f"{collection(row)}/{created['metadata']['name']}"
    final = created
    if "status" in entry:
        final = accepted(await server.send("PUT", f"{path}/status", created | {"status": entry["status"]}))
    table = await server.send("GET", path, accept=AS_TABLE)
    answer = {
        "sent": sent,
        "created": stable(created),
        "columns": [
            [one[key] for key in ("name", "type", "format", "priority")] for one in table["columnDefinitions"]
        ],
        "cells": table["rows"][0]["cells"],
        "now": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    await server.send("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
    return answer | ({"status": entry["status"], "final": stable(final)} if "status" in entry else {})


def accepted(answer: dict[str, Any]) -> dict[str, Any]:
    if answer["kind"] == "Status":
        raise SystemExit(f"refused: {answer['message']}")
    return answer


async def record_refused(server: Server, entry: dict[str, Any]) -> dict[str, Any]:
    """Refusals of creations are recorded without storing anything; those of updates need something to update."""
    sent = entry["sent"]
    row = row_of(sent)
    if "changed" not in entry:
        answer = await server.send("POST", f"{collection(row)}?dryRun=All", sent)
    else:
        live = await server.send("POST", collection(row), sent)
        path = f"{collection(row)}/{sent['metadata']['name']}"
        answer = await server.send("PUT", path, merged(live, entry["changed"]))
        entry["live"] = stable(live)
        await server.send("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
    if answer["kind"] != "Status":
        raise SystemExit(f"accepted: {json.dumps(sent)}")
    return entry | {"message": answer["message"]}


def merged(tree: Any, change: Any) -> Any:
    """Apply a JSON merge patch."""
    if not isinstance(change, dict):
        return change
    result = deepcopy(tree) if isinstance(tree, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def row_of(tree: dict[str, Any]) -> Row:
    group, _, version = tree["apiVersion"].rpartition("/")
    wanted = (group, version, tree["kind"])
    return next(row for row in ROWS if (row.group, row.version, row.kind) == wanted)


def collection(row: Row) -> str:
    root = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
    return f"{root}/namespaces/{NAMESPACE}/{row.plural}" if row.namespaced else f"{root}/{row.plural}"


def stable(tree: dict[str, Any]) -> dict[str, Any]:
    """Leave out what differs from one server to the next and says nothing about the kind."""
    kept = deepcopy(tree)
    for key in VOLATILE:
        kept["metadata"].pop(key, None)
    return kept


def write(name: str, entries: list[dict[str, Any]]) -> None:
    """One entry per line, so that a changed answer can be read in a diff."""
    lines = ",\n".join(json.dumps(entry, sort_keys=True, separators=(",", ":")) for entry in entries)
    (FOLDER / name).write_text(f"[\n{lines}\n]\n")
    print(f"{name}: {len(entries)} entries")


if __name__ == "__main__":
    main()
