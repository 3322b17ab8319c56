"""How to detect a running cloudflare-zero-trust-operator, which these kinds replace (`lifecycle.predecessor`).

Its Deployments may have the same names and labels as ours, so only the image tells.
"""

from __future__ import annotations

from typing import Final

from edgekeeper.lifecycle.predecessor import PreviousOperator

_REPOSITORY: Final = "cloudflare-zero-trust-operator"


def is_its_image(image: str) -> bool:
    """Whether an image is that of the operator, from whatever registry and with whatever tag or digest."""
    path = image.partition("@")[0].rpartition("/")[2]
    return path.partition(":")[0] == _REPOSITORY


CLOUDFLARE_ZERO_TRUST_OPERATOR: Final = PreviousOperator(
    "cloudflare-zero-trust-operator", is_its_image=is_its_image
)
