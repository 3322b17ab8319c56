"""The files of the page, read once when the process starts. They have no data in them, so everybody may load them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file."""

    content: bytes
    type: str
    etag: str


def load_assets() -> dict[str, Asset]:
    """All files by the path that they are served at. The page itself is at `/`."""
    found: dict[str, Asset] = {}
    for file in files("edgekeeper.web").joinpath("static").iterdir():
        suffix = file.name.rpartition(".")[2]
        if suffix in _TYPES:
            content = file.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            path = "/" if file.name == "index.html" else f"/{file.name}"
            found[path] = Asset(content, _TYPES[suffix], etag)
    return found
