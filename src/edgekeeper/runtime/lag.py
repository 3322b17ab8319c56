"""Is the event loop free? A timer that keeps asking, and writes down by how much it was late.

Everything here shares one loop. Whoever keeps it busy, with a large JSON document or a forgotten blocking call, delays
every pass, every lease renewal and every probe; the histogram shows it before anything else suffers.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import NoReturn

from edgekeeper.runtime.tallies import Histogram

INTERVAL = timedelta(seconds=1)


async def measure_lag(lag: Histogram, interval: timedelta = INTERVAL) -> NoReturn:
    """Observe the loop's lag until cancelled."""
    loop = asyncio.get_running_loop()
    seconds = interval.total_seconds()
    while True:
        due = loop.time() + seconds
        await asyncio.sleep(seconds)
        lag.observe(max(0.0, loop.time() - due))
