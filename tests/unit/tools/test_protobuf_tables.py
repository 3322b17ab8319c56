"""The table of protobuf messages: what is read from the published modules, and what the checked-in one contains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubesim.plane.kinds.catalogue import ROWS
from tools.protobuf_tables import OPAQUE, OUTPUT, SCALARS, reach, read_package, rendered

PROTO = """\
package k8s.io.api.test.v1;

// Widget does things.
message Widget {
  // Standard object's metadata; not = 9;
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;

  optional WidgetSpec spec = 2;
}

message WidgetSpec {
  optional int32 replicas = 1;

  optional int32 seconds = 2;

  optional string name = 3;

  repeated Part parts = 4;

  map<string, bytes> data = 5;

  optional Source source = 16;
}

message Part {
  repeated int64 sizes = 1;
}

message Source {
  optional bool on = 1;
}
"""
GO = """\
type WidgetSpec struct {
\t// Replicas is counted.
\tReplicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
\tSeconds int32 `json:"seconds,omitempty" protobuf:"varint,2,opt,name=seconds"`
\tName string `json:"name" protobuf:"bytes,3,opt,name=name"`
\tParts []Part `json:"parts" protobuf:"bytes,4,rep,name=parts"`
\tData map[string][]byte `json:"data,omitempty" protobuf:"bytes,5,rep,name=data"`
\tSource `json:",inline" protobuf:"bytes,16,opt,name=source"`
}

type Source struct {
\tOn bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=on"`
}
"""
WIDGETS = {
    "api.test.v1.Widget": {
        1: ["metadata", "apimachinery.pkg.apis.meta.v1.ObjectMeta"],
        2: ["spec", "api.test.v1.WidgetSpec"],
    },
    "api.test.v1.WidgetSpec": {
        1: ["replicas", "int", "zero"],
        2: ["seconds", "int"],
        3: ["name", "string", "zero"],
        4: ["parts", "[]api.test.v1.Part"],
        5: ["data", "{}bytes"],
        16: ["source", "api.test.v1.Source", "inline"],
    },
    "api.test.v1.Part": {1: ["sizes", "[]int"]},
    "api.test.v1.Source": {1: ["enabled", "bool"]},
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    proto = tmp_path / "generated.proto"
    proto.write_text(PROTO)
    (tmp_path / "types.go").write_text(GO)
    return proto


def test_package_gives_numbers_types_json_names_and_flags(package: Path) -> None:
    assert read_package(package) == WIDGETS


def test_reach_stops_at_scalars_and_at_what_the_decoder_knows_by_name() -> None:
    assert reach(WIDGETS, {"api.test.v1.WidgetSpec"}) == WIDGETS.keys() - {"api.test.v1.Widget"}
    assert reach({"a": {1: ["time", "apimachinery.pkg.apis.meta.v1.Time"]}}, {"a"}) == {"a"}


def test_rendered_table_has_one_message_per_line() -> None:
    text = rendered({"test/v1 Widget": "api.test.v1.Widget"}, WIDGETS)
    assert json.loads(text)["messages"]["api.test.v1.Part"] == {"1": ["sizes", "[]int"]}
    assert sum(line.startswith('"api.test.v1.') for line in text.splitlines()) == len(WIDGETS)


def test_table_covers_every_built_in_kind_and_has_no_loose_ends() -> None:
    table = json.loads(OUTPUT.read_text())
    covered = {kind.rpartition(" ")[2] for kind in table["kinds"]}
    assert {row.kind for row in ROWS} <= covered
    assert {f"{row.kind}List" for row in ROWS if "list" in row.verbs} <= covered
    known = {*table["messages"], *OPAQUE, *SCALARS.values()}
    named = {
        field[1].removeprefix("[]").removeprefix("{}")
        for fields in table["messages"].values()
        for field in fields.values()
    }
    assert named | set(table["kinds"].values()) <= known
