"""What a running `edgekeeper run` says about itself in its metrics."""

from __future__ import annotations

import re
import socket
import time
import urllib.request
from collections.abc import Iterable

LOOK_SECONDS = 0.5


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def await_passes(metrics: str, controllers: Iterable[str], count: int, patience: float) -> float:
    """When each of these controllers has had so many passes. Raise RuntimeError if one failed or it takes too long."""
    chosen = tuple(controllers)
    due = time.monotonic() + patience
    while time.monotonic() < due:
        time.sleep(LOOK_SECONDS)
        try:
            with urllib.request.urlopen(metrics) as answer:  # noqa: S310 - our own child
                text = answer.read().decode()
        except OSError:
            continue  # not listening yet
        if min(passes(text, controller) for controller in chosen) >= count:
            return time.monotonic()
    raise RuntimeError(f"{', '.join(chosen)}: not {count} passes within {patience:g} s")


def passes(text: str, controller: str) -> float:
    """The passes of a controller, from the text of all metrics. Raise RuntimeError if one of them failed."""
    name = re.escape(controller)
    pattern = rf'^controller_runtime_reconcile_total{{controller="{name}",result="([a-z_]+)"}} (\S+)$'
    by_result = {result: float(number) for result, number in re.findall(pattern, text, re.MULTILINE)}
    if by_result.get("error"):
        raise RuntimeError(f"{by_result['error']:g} passes of {controller} failed")
    return sum(by_result.values())
