"""Extract the CustomResourceDefinitions of the Gateway API from its published sources.

Keeps the facts (fields, types, defaults, limits, validation rules, printer columns) and leaves the prose behind.

    python tools/gateway_crds.py ~/go/pkg/mod/sigs.k8s.io
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

RELEASE = "1.4.0"
PLURALS = ("gatewayclasses", "gateways", "httproutes", "referencegrants")
OUTPUT = Path(__file__).resolve().parent.parent / "packages/kubesim/src/kubesim/plane/data/gateway.json"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", type=Path, help="the sigs.k8s.io directory of the Go module cache")
    modules: Path = parser.parse_args().modules
    directory = modules / f"gateway-api@v{RELEASE}/config/crd/standard"
    kinds = [read_kind(directory / f"gateway.networking.k8s.io_{plural}.yaml") for plural in PLURALS]
    OUTPUT.write_text(render(kinds))
    print(f"{len(kinds)} kinds, {OUTPUT.stat().st_size // 1024} KiB, written to {OUTPUT}")


def read_kind(path: Path) -> dict[str, Any]:
    """Reduce one definition to its facts. Its versions share one schema, which is kept once."""
    spec = yaml.safe_load(path.read_text())["spec"]
    versions = [version for version in spec["versions"] if version["served"]]
    schemas = [facts(version["schema"]["openAPIV3Schema"]) for version in versions]
    if any(schema != schemas[0] for schema in schemas):
        raise SystemExit(f"{path.name}: the versions no longer share one schema")
    return {
        "names": spec["names"],
        "scope": spec["scope"],
        "versions": [version["name"] for version in versions],
        "stored": next(version["name"] for version in versions if version["storage"]),
        "status": "status" in versions[0].get("subresources", {}),
        "columns": versions[0]["additionalPrinterColumns"],
        "schema": schemas[0],
    }


def facts(schema: Any) -> Any:
    """Drop the descriptions of a schema and of everything in it."""
    if isinstance(schema, list):
        return [facts(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "description"}
    return {
        # The names of properties are data, even where one of them is `description`.
        key: {name: facts(child) for name, child in value.items()} if key == "properties" else facts(value)
        for key, value in kept.items()
    }


def render(kinds: list[dict[str, Any]]) -> str:
    """One kind per line, so that the difference between two releases can be read."""
    lines = ",\n".join(json.dumps(kind, sort_keys=True, separators=(",", ":")) for kind in kinds)
    return f'{{"release":"v{RELEASE}","kinds":[\n{lines}\n]}}\n'


if __name__ == "__main__":
    main()
