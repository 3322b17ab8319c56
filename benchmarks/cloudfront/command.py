"""The command `edgekeeper` as an installation has it.

    python -m benchmarks.cloudfront.command run …

httpx is hidden: it is a development package here, which aiobotocore would load where it finds it, and which an
installation of the operator does not have.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.modules["httpx"] = None  # type: ignore[assignment]  # that is how a module is hidden

    from edgekeeper.cli.main import main

    main()
