"""Extract the schemas of the built-in kinds from the published Kubernetes sources.

Reads the OpenAPI v3 documents of one Kubernetes release and the Go types behind them, and writes the facts the
embedded API server needs: types, formats, defaults, list and map types, merge keys. Sentences are left behind.

    python tools/builtin_schemas.py ~/go/pkg/mod/k8s.io

The Go types contribute what OpenAPI does not carry: how the server writes a field that nobody set. It leaves it out
(`omitempty` on a scalar), or writes null (times, and lists and pointers that are not `omitempty`).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubesim.plane.kinds.catalogue import ROWS

RELEASE = "1.36.3"
OUTPUT = Path(__file__).resolve().parent.parent / "packages/kubesim/src/kubesim/plane/data/builtin.json"

KEPT = {
    "type",
    "format",
    "required",
    "enum",
    "default",
    "oneOf",
    "items",
    "properties",
    "additionalProperties",
    "$ref",
}
SCALARS = {"string", "integer", "boolean", "number"}
TIMES = {"metav1.Time", "metav1.MicroTime", "Time", "MicroTime"}
EXTRA_ROOTS = (
    "io.k8s.api.authentication.v1.TokenRequest",
    "io.k8s.api.autoscaling.v1.Scale",
    "io.k8s.api.core.v1.Binding",
    "io.k8s.api.policy.v1.Eviction",
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
    "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
)
"""Types of requests and answers that are no objects of their own, yet appear in the published API description."""

GO_PACKAGES = {
    "io.k8s.api.": "api@v0.{minor}/",
    "io.k8s.apimachinery.": "apimachinery@v0.{minor}/",
    "io.k8s.apiextensions-apiserver.": "apiextensions-apiserver@v0.{minor}/",
}
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r'^\t(?:(\w+) +)?([\w.*\[\]]+) +`[^`]*json:"([^"]*)"', re.MULTILINE)

Definitions = dict[str, dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", type=Path, help="the k8s.io directory of the Go module cache")
    modules: Path = parser.parse_args().modules
    published = read_documents(modules / f"kubernetes@v{RELEASE}/api/openapi-spec/v3")
    definitions = {name: trim(published[name]) for name in reachable(published, roots(published))}
    encoding = {
        name: facts
        for name in sorted(definitions)
        if (facts := unset_fields(modules, name, definitions[name]))
    }
    OUTPUT.write_text(render(definitions, encoding))
    print(f"{len(definitions)} definitions, {OUTPUT.stat().st_size // 1024} KiB, written to {OUTPUT}")


def read_documents(directory: Path) -> Definitions:
    """Merge the schemas of all documents; a type that several groups share is the same in each of them."""
    schemas: Definitions = {}
    for path in sorted(directory.glob("*.json")):
        for name, schema in json.loads(path.read_text()).get("components", {}).get("schemas", {}).items():
            schemas.setdefault(name, schema)
    return schemas


def roots(published: Definitions) -> Iterator[str]:
    """Yield the definitions of the kinds we serve and of their lists."""
    served = {(row.group, row.version, kind) for row in ROWS for kind in (row.kind, f"{row.kind}List")}
    for name, schema in published.items():
        kinds = schema.get("x-kubernetes-group-version-kind", [])
        if any((kind["group"], kind["version"], kind["kind"]) in served for kind in kinds[:1]):
            yield name
    yield from EXTRA_ROOTS


def reachable(published: Definitions, names: Iterator[str]) -> list[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(references(published[name]))
    return sorted(found)


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield definition_name(node["$ref"])
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def definition_name(reference: str) -> str:
    return reference.rpartition("/")[2]


def trim(schema: dict[str, Any]) -> dict[str, Any]:
    """Keep the facts of one schema, with references in the short form."""
    trimmed = {key: value for key, value in schema.items() if key in KEPT or key.startswith("x-kubernetes-")}
    for wrapper in schema.get("allOf", []):
        trimmed |= wrapper
    if "$ref" in trimmed:
        trimmed["$ref"] = f"#/definitions/{definition_name(trimmed['$ref'])}"
    if "properties" in trimmed:
        trimmed["properties"] = {name: trim(child) for name, child in trimmed["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(trimmed.get(key), dict):
            trimmed[key] = trim(trimmed[key])
    return trimmed


def unset_fields(modules: Path, name: str, definition: dict[str, Any]) -> dict[str, list[str]]:
    """Return which properties are omitted while they are zero, and which are written as null while they are unset."""
    package, _, type_name = name.rpartition(".")
    properties = definition.get("properties", {})
    facts: dict[str, list[str]] = {"omitted": [], "null": []}
    for field, go_type, options in sorted(go_fields(go_structs(modules, package), type_name)):
        omittable, pointer = "omitempty" in options, go_type.startswith("*")
        if "omitzero" in options or field not in properties or (pointer and omittable):
            continue
        if omittable and properties[field].get("type") in SCALARS and not go_type.startswith("["):
            facts["omitted"].append(field)
        elif pointer or go_type in TIMES or (not omittable and go_type.startswith(("[]", "map["))):
            facts["null"].append(field)
    return {fact: fields for fact, fields in facts.items() if fields}


def go_structs(modules: Path, package: str) -> dict[str, str]:
    prefix, location = next(entry for entry in GO_PACKAGES.items() if package.startswith(entry[0]))
    directory = (
        modules
        / location.format(minor=RELEASE.partition(".")[2])
        / package.removeprefix(prefix).replace(".", "/")
    )
    source = "\n".join(path.read_text() for path in sorted(directory.glob("*types*.go")))
    return dict(STRUCT.findall(source))


def go_fields(structs: dict[str, str], type_name: str) -> Iterator[tuple[str, str, str]]:
    """Yield JSON name, Go type and tag options of each field, those of embedded structs included."""
    for field, go_type, tag in FIELD.findall(structs.get(type_name, "")):
        json_name, _, options = tag.partition(",")
        if not field or options == "inline":
            yield from go_fields(structs, go_type.rpartition(".")[2])
        else:
            yield json_name, go_type, options


def render(definitions: Definitions, encoding: dict[str, dict[str, list[str]]]) -> str:
    """One definition per line, so that the difference between two releases can be read."""
    return f'{{"definitions":{{\n{lines(definitions)}\n}},"encoding":{{\n{lines(encoding)}\n}}}}\n'


def lines(entries: dict[str, Any]) -> str:
    return ",\n".join(
        f"{json.dumps(name)}:{json.dumps(value, sort_keys=True, separators=(',', ':'))}"
        for name, value in entries.items()
    )


if __name__ == "__main__":
    main()
