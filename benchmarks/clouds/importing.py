"""What loading the production cloud code adds to an operator: seconds and memory, each in an interpreter of its own.

httpx is hidden: it is a development package here, which aiobotocore would load where it finds it, and which an
installation of the operator does not have.
"""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

_PROGRAM = """
import sys, time
from pathlib import Path
sys.modules["httpx"] = None
def resident():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith("VmRSS"))
import edgekeeper.runtime.manager, edgekeeper.runtime.server, edgekeeper.kube.http
before, began = resident(), time.process_time()
import edgekeeper.cloud.aws.clients, edgekeeper.cloud.aws.dns.zones, edgekeeper.cloud.aws.mirrors
import edgekeeper.cloud.aws.lambda_policy, edgekeeper.cloud.aws.apigateway, edgekeeper.cloud.cloudflare.accounts
seconds = time.process_time() - began
print(seconds, (resident() - before) / 1024)
"""


class Loading(NamedTuple):
    """What it adds."""

    seconds: float
    megabytes: float


def measure_loading() -> Loading:
    finished = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    return Loading(*map(float, finished.stdout.split()))
