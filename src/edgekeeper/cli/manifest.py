"""Reads manifests from YAML or JSON files and directories. Files may have several documents, and Lists.

Errors name the file and the number of the document. All files are read before anything is applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from edgekeeper.cli.failure import CommandError
from edgekeeper.core.json import JsonObject, dig

SUFFIXES = (".json", ".yaml", ".yml")
TIMESTAMP_TAG = "tag:yaml.org,2002:timestamp"
DEEPEST = 500
"""How many levels a document may have. libyaml reads each by a call within a call, without a limit of its own."""
MOST_MERGED = 10_000
KUBERNETES_FORM = "a manifest needs apiVersion, kind and metadata.name"


class ManifestLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # chosen at run time
    """Reads YAML as Kubernetes does: an unquoted date stays a string, because JSON has no dates.

    Mappings that merge others again and again (`<<`) may have `MOST_MERGED` entries, however few bytes they are written in.
    """

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        if len(node.value) > MOST_MERGED:
            raise yaml.YAMLError(f"a mapping with << has more than {MOST_MERGED} entries")


ManifestLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != TIMESTAMP_TAG]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class Manifest:
    """An object of a file."""

    body: JsonObject
    source: Path

    @property
    def api_version(self) -> str:
        return str(self.body["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"].get("namespace") or "")

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"


def load_manifests(paths: Sequence[Path]) -> list[Manifest]:
    """Read the manifests of files and directories, in the given order; files of a directory sorted by name."""
    return [manifest for path in paths for file in _files(path) for manifest in _read(file)]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())
    if not files:
        raise CommandError(
            f"{path} contains no manifests", f"put files ending in {', '.join(SUFFIXES)} there"
        )
    return files


def _read(file: Path) -> Iterator[Manifest]:
    for number, document in enumerate(read_documents(file), start=1):
        if document is not None:
            yield from _objects(document, file, number)


def read_documents(file: Path) -> list[Any]:
    """The documents of a YAML or JSON file; None for an empty document."""
    try:
        text = file.read_bytes()
        _check_depth(text)
        # A loader derived from yaml.SafeLoader builds plain data only.
        return list(yaml.load_all(text, ManifestLoader))
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise CommandError(f"{file} is not valid YAML: {reason}") from error


def _check_depth(text: bytes) -> None:
    """Raise YAMLError if a document is nested too deeply to be read."""
    depth = 0
    for event in yaml.parse(text, ManifestLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise yaml.YAMLError(f"line {event.start_mark.line + 1}: more than {DEEPEST} levels are nested")


def _objects(document: Any, file: Path, number: int) -> Iterator[Manifest]:
    if dig(document, "kind") == "List" and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _objects(item, file, number)
        return
    for path in (("apiVersion",), ("kind",), ("metadata", "name")):
        value = dig(document, *path)
        if not isinstance(value, str) or not value:
            raise CommandError(f"{file}: document {number} has no {'.'.join(path)}", KUBERNETES_FORM)
    namespace = dig(document, "metadata", "namespace")
    if not isinstance(namespace, str | None):
        raise CommandError(
            f"{file}: document {number} has a metadata.namespace that is not a string", "put it in quotes"
        )
    yield Manifest(document, file)
