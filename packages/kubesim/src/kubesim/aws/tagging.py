"""Tags, which every service has in its own spelling and with the same rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from unicodedata import category

from kubesim.aws.errors import AwsError
from kubesim.aws.world import World

_PUNCTUATION = frozenset("_.:/=+-@")
_CATEGORIES = frozenset("LNZ")
"""Letters, numbers and separators, as in the pattern of the service models, which Python's `re` cannot read."""

Tags = dict[str, str]


def from_list(
    world: World,
    items: Iterable[Mapping[str, str]] | None,
    before: Mapping[str, str] | None = None,
    code: str = "InvalidTagging",
) -> Tags:
    """Tags out of a list of Key and Value, on top of those that are there."""
    given = {item["Key"]: item.get("Value", "") for item in items or ()}
    for key, value in given.items():
        if key.lower().startswith("aws:"):
            raise AwsError(code, "Tag keys that begin with aws: are reserved.")
        if not all(one in _PUNCTUATION or category(one)[0] in _CATEGORIES for one in key + value):
            raise AwsError(code, f"The tag {key} contains characters that are not allowed.")
    tags = {**(before or {}), **given}
    if len(tags) > world.quotas.tags_per_resource:
        raise AwsError(code, f"A resource may have at most {world.quotas.tags_per_resource} tags.")
    return tags
