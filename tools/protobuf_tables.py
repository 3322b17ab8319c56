"""Extract the wire format of the built-in kinds from the published Kubernetes modules.

Reads `generated.proto` (field numbers and types) and the Go types beside it (JSON names, embedding, whether a zero is
written), and writes one table with a message per line. Only messages that a request or an answer can contain are kept.

    python tools/protobuf_tables.py ~/go/pkg/mod/k8s.io

A field is `[name, type]` or `[name, type, flag]`. Types are `string`, `bool`, `int`, `double`, `bytes` or the name of a
message, behind `[]` for a list and `{}` for a map from strings. The flag `zero` marks values that count even when they
are zero (pointers, and what JSON always shows), `inline` messages whose fields belong to the message around them.

The modules also publish one object of each kind with every field set, in JSON and in protobuf. Those of the kinds we
serve are copied for the unit tests.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import re
from pathlib import Path

from kubesim.plane.kinds.catalogue import ROWS

RELEASE = "0.36.3"
ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "packages/kubesim/src/kubesim/plane/data/protobuf.json"
SAMPLES = ROOT / "packages/kubesim/tests/plane/protobuf_published.jsonl.gz"
SAMPLE_FOLDERS = ("api@v{}/testdata/HEAD", "apiextensions-apiserver@v{}/pkg/apis/testdata/HEAD")
META = "apimachinery.pkg.apis.meta.v1"
INT_OR_STRING = "apimachinery.pkg.util.intstr.IntOrString"
EXTENSIONS = "apiextensions_apiserver.pkg.apis.apiextensions.v1"

EXTRA_KINDS = {
    "authentication.k8s.io/v1 TokenRequest": "api.authentication.v1.TokenRequest",
    "autoscaling/v1 Scale": "api.autoscaling.v1.Scale",
    "meta.k8s.io/v1 PartialObjectMetadata": f"{META}.PartialObjectMetadata",
    "meta.k8s.io/v1 PartialObjectMetadataList": f"{META}.PartialObjectMetadataList",
    "meta.k8s.io/v1beta1 PartialObjectMetadata": f"{META}.PartialObjectMetadata",
    "meta.k8s.io/v1beta1 PartialObjectMetadataList": f"{META}beta1.PartialObjectMetadataList",
    "policy/v1 Eviction": "api.policy.v1.Eviction",
    "v1 Binding": "api.core.v1.Binding",
    "v1 DeleteOptions": f"{META}.DeleteOptions",
    "v1 Status": f"{META}.Status",
}
"""Bodies of requests and answers that are no objects of their own."""

OPAQUE = {
    "apimachinery.pkg.api.resource.Quantity",
    "apimachinery.pkg.runtime.RawExtension",
    INT_OR_STRING,
    f"{META}.FieldsV1",
    f"{META}.MicroTime",
    f"{META}.Time",
    f"{EXTENSIONS}.JSON",
}
"""Messages whose JSON form is not an object; the codec knows them by name."""

SCALARS = {
    "string": "string",
    "bool": "bool",
    "int32": "int",
    "int64": "int",
    "double": "double",
    "bytes": "bytes",
}
MAY_BE_ZERO = {*SCALARS.values(), INT_OR_STRING, f"{EXTENSIONS}.JSON", f"{EXTENSIONS}.JSONSchemaPropsOrBool"}
PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
PROTO_FIELD = re.compile(
    r"^  (?:(?:optional|(repeated)) ([\w.]+)|map<string, ([\w.]+)>) (\w+) = (\d+);", re.MULTILINE
)
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
GO_FIELD = re.compile(r"^\t(?:\w+ +)?([\w.*\[\]]+) +`([^`]*)`", re.MULTILINE)
JSON_TAG = re.compile(r'json:"([^"]*)"')
PROTOBUF_TAG = re.compile(r'protobuf:"\w+,(\d+)')

Message = dict[int, list[str]]
GoFields = dict[int, tuple[str, str]]
"""By protobuf number: the JSON tag and the Go type."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "modules",
        type=Path,
        help="directory that holds api@VERSION, apimachinery@VERSION and apiextensions-apiserver@VERSION",
    )
    modules: Path = parser.parse_args().modules
    messages = read_messages(modules)
    kinds = known_kinds(messages)
    reachable = reach(messages, set(kinds.values()))
    OUTPUT.write_text(rendered(kinds, {name: messages[name] for name in sorted(reachable)}))
    SAMPLES.write_bytes(gzip.compress(published_samples(modules), mtime=0))
    print(f"{len(kinds)} kinds, {len(reachable)} messages, {OUTPUT.stat().st_size} bytes")


def published_samples(modules: Path) -> bytes:
    """Return one line per built-in kind: the object, and its protobuf body in base64."""
    folders = [modules / folder.format(RELEASE) for folder in SAMPLE_FOLDERS]
    lines = []
    for row in ROWS:
        name = f"{row.group or 'core'}.{row.version}.{row.kind}"
        folder = next(folder for folder in folders if (folder / f"{name}.pb").exists())
        body = base64.b64encode((folder / f"{name}.pb").read_bytes()).decode()
        lines.append(json.dumps({"object": json.loads((folder / f"{name}.json").read_text()), "body": body}))
    return "\n".join(lines).encode()


def read_messages(modules: Path) -> dict[str, Message]:
    found: dict[str, Message] = {}
    for module in ("api", "apimachinery", "apiextensions-apiserver"):
        for proto in sorted((modules / f"{module}@v{RELEASE}").rglob("generated.proto")):
            found |= read_package(proto)
    return found


def read_package(proto: Path) -> dict[str, Message]:
    text = proto.read_text()
    declared = PACKAGE.search(text)
    if declared is None:
        raise SystemExit(f"{proto} declares no package")
    package = declared[1]
    structs = read_structs(proto.parent)
    return {
        short(f"{package}.{name}"): read_message(body, package, structs.get(name, {}))
        for name, body in MESSAGE.findall(text)
    }


def read_structs(directory: Path) -> dict[str, GoFields]:
    structs: dict[str, GoFields] = {}
    for source in sorted(directory.glob("*.go")):
        for name, body in STRUCT.findall(source.read_text()):
            fields: GoFields = {}
            for go_type, tags in GO_FIELD.findall(body):
                number, tag = PROTOBUF_TAG.search(tags), JSON_TAG.search(tags)
                if number and tag:
                    fields[int(number[1])] = (tag[1], go_type)
            structs.setdefault(name, fields)
    return structs


def read_message(body: str, package: str, go_fields: GoFields) -> Message:
    message: Message = {}
    for repeated, single, mapped, proto_name, number in PROTO_FIELD.findall(body):
        tag, go_type = go_fields.get(int(number), (proto_name, ""))
        json_name, *options = tag.split(",")
        prefix = "[]" if repeated else ("{}" if mapped else "")
        field = [json_name or proto_name, prefix + resolve(single or mapped, package)]
        if "inline" in options:
            field.append("inline")
        elif field[1] in MAY_BE_ZERO and (go_type.startswith("*") or "omitempty" not in options):
            field.append("zero")
        message[int(number)] = field
    return message


def resolve(proto_type: str, package: str) -> str:
    if proto_type in SCALARS:
        return SCALARS[proto_type]
    return short(proto_type[1:] if proto_type.startswith(".") else f"{package}.{proto_type}")


def short(name: str) -> str:
    return name.removeprefix("k8s.io.")


def known_kinds(messages: dict[str, Message]) -> dict[str, str]:
    kinds = dict(EXTRA_KINDS)
    for row in ROWS:
        api_version = f"{row.group}/{row.version}" if row.group else row.version
        name = row.definition.removeprefix("io.k8s.").replace("-", "_")
        for suffix in ("", "List"):
            if name + suffix in messages:
                kinds[f"{api_version} {row.kind}{suffix}"] = name + suffix
    return dict(sorted(kinds.items()))


def reach(messages: dict[str, Message], roots: set[str]) -> set[str]:
    found: set[str] = set()
    pending = sorted(roots)
    while pending:
        name = pending.pop()
        if name in found or name in OPAQUE or name in SCALARS.values():
            continue
        found.add(name)
        pending += [field[1].removeprefix("[]").removeprefix("{}") for field in messages[name].values()]
    return found


def rendered(kinds: dict[str, str], messages: dict[str, Message]) -> str:
    def lines(table: dict[str, str] | dict[str, Message]) -> str:
        return ",\n".join(
            f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}" for name, value in table.items()
        )

    return f'{{"kinds":{{\n{lines(kinds)}\n}},"messages":{{\n{lines(messages)}\n}}}}\n'


if __name__ == "__main__":
    main()
