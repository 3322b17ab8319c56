"""Kubernetes' protobuf bodies: objects as `application/vnd.kubernetes.protobuf`, to and from the JSON they mean.

A body is the magic `k8s\\0` and an envelope that names apiVersion and kind beside the message itself. client-go sends
and asks for protobuf wherever it speaks of built-in kinds, CustomResourceDefinitions included; custom resources have
no such form.

    tables      what the messages look like: field numbers, types, JSON names
    special     values that JSON does not write as objects: times, quantities, schemas or booleans, …
    decode      bytes to JSON
    encode      JSON to bytes

The field numbers come from `data/protobuf.json`, which `tools/protobuf_tables.py` extracts from the published modules.
"""

from kubesim.plane.protobuf.decode import decode_protobuf
from kubesim.plane.protobuf.encode import encode_protobuf, encode_watch_event

__all__ = ["decode_protobuf", "encode_protobuf", "encode_watch_event"]
