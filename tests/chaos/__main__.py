"""Play the sequences of many seeds: `python -m tests.chaos --seeds 200 --start 0`.

--kind tenants        which kind; `gizmos` is the toy
--workers 2           processes
--shrink/--no-shrink  reduce what fails to the shortest sequence that still does
--show SEED           print the sequence of a seed, and play it alone
"""

from __future__ import annotations

from tests.chaos.command import main

if __name__ == "__main__":
    raise SystemExit(main())
