"""New and changed namespaces, secrets and claims."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.defaults.core import namespace as label_namespace

NAMESPACE_FINALIZER = "kubernetes"


def create_namespace(tree: JsonObject) -> None:
    """A namespace holds itself back from deletion until the server has emptied it."""
    tree["status"] = {"phase": "Active"}
    finalizers = dig_list(tree, "spec", "finalizers")
    if NAMESPACE_FINALIZER not in finalizers:
        tree["spec"] = {**dig_object(tree, "spec"), "finalizers": [*finalizers, NAMESPACE_FINALIZER]}
    # A generated name was not known yet when defaults were filled in.
    label_namespace(tree)


def update_namespace(new: JsonObject, old: JsonObject) -> None:
    """Finalizers of a namespace change through their own endpoint only."""
    spec = {key: value for key, value in dig_object(new, "spec").items() if key != "finalizers"}
    if finalizers := dig_list(old, "spec", "finalizers"):
        spec["finalizers"] = list(finalizers)
    new["spec"] = spec


def merge_string_data(secret: JsonObject) -> None:
    """Plain text is a convenience of writing: it is stored as base64 like everything else."""
    plain = secret.pop("stringData", None)
    if isinstance(plain, dict) and plain:
        encoded = {key: encode_text(value) for key, value in plain.items()}
        secret["data"] = {**dig_object(secret, "data"), **encoded}


def encode_text(value: Any) -> str:
    return b64encode(str(value).encode()).decode()


def mirror_data_source(claim: JsonObject) -> None:
    """A claim names its source in an old and a new field; where one is given, both are shown."""
    spec = dig_object(claim, "spec")
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source and not reference:
        spec["dataSourceRef"] = dict(source)
    elif reference and not source and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def update_claim(new: JsonObject, _old: JsonObject) -> None:
    mirror_data_source(new)


def keep_secret_type(new: JsonObject, old: JsonObject) -> None:
    if not dig(new, "type"):
        new["type"] = old.get("type", "")


def clean_secret_references(account: JsonObject) -> None:
    """Only the name of a secret counts; anything else in the reference is dropped."""
    if dig_list(account, "secrets"):
        account["secrets"] = [{"name": dig(one, "name") or ""} for one in account["secrets"]]
