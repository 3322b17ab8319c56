"""What holds for every test: generated cases repeat from run to run, and no verdict depends on the machine's speed.

`EDGEKEEPER_FUZZ=1` draws fresh cases on every run, to look for what nobody has thought of yet.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "edgekeeper",
    deadline=None,
    derandomize=os.environ.get("EDGEKEEPER_FUZZ") != "1",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("edgekeeper")
