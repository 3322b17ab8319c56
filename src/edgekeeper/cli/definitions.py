"""ResourceGraphDefinitions in files, and the schemas that they are checked against.

definitions     of the files that are given
schemas         CustomResourceDefinitions in the same files, and in those of --schemas; OpenAPI documents of a server,
                as `kubectl get --raw /openapi/v3/apis/apps/v1` prints them; built-in kinds, if kubesim is installed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from edgekeeper.api.composition import GROUP, DefinitionSpec
from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.manifest import SUFFIXES, Manifest, load_manifests, read_documents
from edgekeeper.controllers.composition.family import Family
from edgekeeper.controllers.composition.graph import Compilation, Graph, Problem, read_definition
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.schemas import FirstOf, KindSchema, KnownSchemas, SchemaSource
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.openapi import SchemaDocument

DEFINITION = "ResourceGraphDefinition"


@dataclass(frozen=True)
class Examined:
    """A definition, and the result of compiling it."""

    manifest: Manifest
    compilation: Compilation


def is_definition(manifest: Manifest) -> bool:
    return manifest.kind == DEFINITION and manifest.api_version.partition("/")[0] == GROUP


def examine(paths: Sequence[Path], schemas: Sequence[Path]) -> tuple[list[Examined], int]:
    """Compile the definitions in files; also tell how many other objects there are."""
    manifests = load_manifests(paths)
    definitions = [manifest for manifest in manifests if is_definition(manifest)]
    if not definitions:
        places = ", ".join(map(str, paths))
        raise CommandError(f"there is no {DEFINITION} in {places}", f"its apiVersion is {GROUP}/v1alpha1")
    custom = [manifest.body for manifest in manifests if _is_custom(manifest.body)]
    source = schema_source(custom, schemas)
    return list(_compile_all(definitions, source)), len(manifests) - len(definitions) - len(custom)


def _compile_all(definitions: Iterable[Manifest], source: SchemaSource) -> Iterable[Examined]:
    read: list[tuple[Manifest, DefinitionSpec | Compilation]] = []
    for manifest in definitions:
        try:
            read.append((manifest, read_definition(manifest.body)))
        except RejectedError as error:
            unread = Compilation(problems=[Problem(error.path, error.message)])
            read.append((manifest, unread))
    family = Family([spec for _, spec in read if isinstance(spec, DefinitionSpec)], source)
    for manifest, spec in read:
        yield Examined(manifest, spec if isinstance(spec, Compilation) else family.compile(spec))


def graph_in(path: Path, schemas: Sequence[Path]) -> Graph:
    """The graph of the only definition in a file; raises CommandError if it is not valid."""
    examined, _ = examine([path], schemas)
    if len(examined) > 1:
        names = ", ".join(one.manifest.name for one in examined)
        raise CommandError(f"{path} holds several definitions ({names})", "give a file with one of them")
    compilation = examined[0].compilation
    if compilation.graph is None:
        first, *others = compilation.problems
        more = f" (and {len(others)} more)" if others else ""
        raise CommandError(
            f"{examined[0].manifest} is not valid: {first.path}: {first.message}{more}",
            f"edgekeeper validate {path}",
        )
    return compilation.graph


def schema_source(custom: Iterable[JsonObject], paths: Sequence[Path]) -> SchemaSource:
    """All schemas that are at hand; CustomResourceDefinitions come first, built-in kinds last."""
    known = KnownSchemas()
    for definition in custom:
        known.add_definition(definition)
    sources: list[SchemaSource] = [known]
    for path in paths:
        for file in _files(path):
            sources += _sources_in(file, known)
    return FirstOf((*sources, *_built_in()))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)


def _sources_in(file: Path, known: KnownSchemas) -> list[SchemaSource]:
    sources: list[SchemaSource] = []
    for document in _spread(read_documents(file)):
        if _is_custom(document):
            known.add_definition(document)
        elif schemas := dig_object(document, "components", "schemas"):
            sources.append(_Published(SchemaDocument(schemas), _scopes(document)))
        else:
            raise CommandError(
                f"{file} holds something else than schemas",
                "give CustomResourceDefinitions, or OpenAPI documents of a server",
            )
    return sources


def _spread(documents: Iterable[Any]) -> Iterable[Any]:
    for document in documents:
        if dig(document, "kind") == "List":
            yield from dig_list(document, "items")
        elif document is not None:
            yield document


def _is_custom(document: Any) -> bool:
    return bool(dig(document, "kind") == "CustomResourceDefinition")


class _Published:
    """Kinds of an OpenAPI document."""

    def __init__(self, document: SchemaDocument, scopes: dict[tuple[str, str], bool]) -> None:
        self._document = document
        self._scopes = scopes

    def find(self, api_version: str, kind: str) -> KindSchema | None:
        group, _, version = api_version.rpartition("/")
        schema = self._document.schema_of(Kind(group, version, kind, ""))
        return None if schema is None else KindSchema(schema, self._scopes.get((api_version, kind)))


def _scopes(document: JsonObject) -> dict[tuple[str, str], bool]:
    """Which kinds belong to namespaces, as far as the paths of a document tell: where one object is read."""
    found: dict[tuple[str, str], bool] = {}
    for path, operations in dig_object(document, "paths").items():
        kind = dig_object(operations, "get", "x-kubernetes-group-version-kind")
        if kind and path.endswith("/{name}") and "/watch/" not in path:
            group, version = kind.get("group"), kind.get("version")
            api_version = f"{group}/{version}" if group else str(version)
            found[api_version, str(kind.get("kind"))] = "/namespaces/{namespace}/" in path
    return found


def _built_in() -> list[SchemaSource]:
    """Schemas of built-in kinds come with the local kit, not with the operator."""
    if find_spec("kubesim") is None:
        return []
    from edgekeeper.cli.built_in import BuiltInSchemas  # noqa: PLC0415 # only where it is installed

    return [BuiltInSchemas()]
