"""Names of external objects, made from a template that administrators choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from edgekeeper.core.json import JsonObject

_FIELDS: Final = ("name", "namespace", "cluster")


@dataclass(frozen=True, slots=True)
class NameTemplate:
    """The names of the external objects of a kind."""

    template: str
    """May contain `{name}`, `{namespace}` and `{cluster}`."""
    cluster: str

    def name_of(self, obj: JsonObject) -> str:
        """The name of an object's external object."""
        metadata = obj["metadata"]
        return self.template.format(
            name=metadata["name"], namespace=metadata.get("namespace", ""), cluster=self.cluster
        )


def parse_template(text: str, noun: str) -> str:
    """Check a template and return it. Raise ValueError if it is not valid. `noun` is the plural of what has the names."""
    try:
        text.format(**dict.fromkeys(_FIELDS, "x"))
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"{text!r} may contain {{name}}, {{namespace}} and {{cluster}} only: {error}"
        ) from error
    if "{name}" not in text:
        raise ValueError(f"{text!r} lacks {{name}}: all {noun} would have the same name")
    return text
