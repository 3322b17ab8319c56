"""Small definitions, and by other means than theirs what their instances consist of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import Kind

GROUP: Final = "kro.run"
SHOP: Final = Kind(GROUP, "v1alpha1", "Shop", "shops")
MALL: Final = Kind(GROUP, "v1alpha1", "Mall", "malls")
LODGER: Final = Kind(GROUP, "v1alpha1", "Lodger", "lodgers")
INSTANCES: Final = (SHOP, MALL, LODGER)
REFERENCE: Final = "house-rules"
"""The ConfigMap that lodgers refer to."""

_SHOP: Final = """
schema:
  apiVersion: v1alpha1
  kind: Shop
  spec: {text: string | default=a, values: "[]string | default=[]", extra: boolean | default=false}
  status: {base: "${base.metadata.name}"}
resources:
- id: base
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${schema.metadata.name}-base"}
    data: {text: "${schema.spec.text}", edition: EDITION}
- id: members
  forEach: [{value: "${schema.spec.values}"}]
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${schema.metadata.name}-${value}"}
    data: {text: "${base.data.text}", edition: EDITION}
- id: extra
  includeWhen: ["${schema.spec.extra}"]
  template:
    apiVersion: v1
    kind: Secret
    metadata: {name: "${schema.metadata.name}-extra"}
    stringData: {text: "${base.data.text}"}
"""
_MALL: Final = """
schema:
  apiVersion: v1alpha1
  kind: Mall
  spec: {text: string | default=a}
  status: {shop: "${shop.status.base}"}
resources:
- id: shop
  readyWhen: ['${shop.status.state == "ACTIVE"}']
  template:
    apiVersion: kro.run/v1alpha1
    kind: Shop
    metadata: {name: "${schema.metadata.name}-shop"}
    spec: {text: "${schema.spec.text}"}
- id: sign
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${schema.metadata.name}-sign"}
    data: {shop: "${shop.status.base}"}
"""
_LODGER: Final = """
schema:
  apiVersion: v1alpha1
  kind: Lodger
  spec: {}
resources:
- id: rules
  externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: house-rules}}
- id: copy
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${schema.metadata.name}-copy"}
    data: {text: "${rules.data.text}"}
"""


def shops(edition: str = "first", *, orphaned: bool = False, extra: bool = True) -> JsonObject:
    """The definition of shops, in an edition that their children show."""
    spec = yaml.safe_load(_SHOP.replace("EDITION", edition))
    if orphaned:
        spec["resources"][0]["deletionPolicy"] = "Orphan"
    if not extra:
        del spec["resources"][2]
    return _definition("shops", spec)


def malls() -> JsonObject:
    """Malls consist of a shop, which is an instance itself."""
    return _definition("malls", yaml.safe_load(_MALL))


def lodgers() -> JsonObject:
    """Lodgers refer to a ConfigMap of somebody else."""
    return _definition("lodgers", yaml.safe_load(_LODGER))


def _definition(name: str, spec: JsonObject) -> JsonObject:
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": name},
        "spec": spec,
    }


def instance(kind: Kind, name: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def rendered(instance: JsonObject, definition: JsonObject, others: Mapping[str, JsonObject]) -> JsonObject:
    """The data of all children of an instance, by kind and name. `others` has the objects of the cluster."""
    name, spec = instance["metadata"]["name"], dig_object(instance, "spec")
    match instance["kind"]:
        case "Shop":
            return _children_of_shop(name, spec, definition)
        case "Mall":
            shop = f"{name}-shop"
            return {
                f"Shop {shop}": {"text": spec["text"]},
                f"ConfigMap {name}-sign": {"shop": f"{shop}-base"},
            }
        case _:
            rules = others[f"ConfigMap {REFERENCE}"]
            return {f"ConfigMap {name}-copy": {"text": dig(rules, "data", "text")}}


def _children_of_shop(name: str, spec: JsonObject, definition: JsonObject) -> JsonObject:
    resources = {one["id"]: one for one in dig_list(definition, "spec", "resources")}
    edition = dig(resources["base"], "template", "data", "edition")
    data = {"text": spec["text"], "edition": edition}
    found: JsonObject = {f"ConfigMap {name}-{part}": data for part in ("base", *spec["values"])}
    if spec["extra"] and "extra" in resources:
        found[f"Secret {name}-extra"] = {"text": spec["text"]}
    return found
