"""New and changed DaemonSets and CustomResourceDefinitions."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.defaults.workloads import TEMPLATE_GENERATION, count_template


def create_daemon_set(tree: JsonObject) -> None:
    count_template(tree, "1")


def update_daemon_set(new: JsonObject, old: JsonObject) -> None:
    """The generation of the template alone is counted in an annotation, a field of an API long gone."""
    counted = dig_object(old, "metadata", "annotations").get(TEMPLATE_GENERATION, "1")
    if dig(new, "spec", "template") != dig(old, "spec", "template") and counted.isdigit():
        counted = str(int(counted) + 1)
    count_template(new, counted)


def store_version(definition: JsonObject) -> None:
    """A new definition has objects, if any, in the version that it stores from now on."""
    versions = dig_list(definition, "spec", "versions")
    stored = [dig(one, "name") for one in versions if dig(one, "storage")]
    definition["status"]["storedVersions"] = stored[:1] or None
