"""How long a start takes: of the server alone, and of the command that people type."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import msgspec

PATIENCE_SECONDS = 60.0


def measure_cold_start() -> float:
    command = [sys.executable, "-m", "benchmarks.plane.cold_start"]
    finished = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(finished.stdout, type=dict[str, float])["seconds"]


def measure_up() -> float:
    """Seconds from starting the process `edgekeeper up` to its first successful `/readyz`."""
    port = _free_port()
    with tempfile.TemporaryDirectory() as directory:
        kubeconfig = Path(directory) / "kubeconfig"
        command = [
            sys.executable,
            "-m",
            "edgekeeper.cli",
            "up",
            f"--port={port}",
            f"--kubeconfig={kubeconfig}",
        ]
        started = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                asyncio.run(_until_ready(f"https://127.0.0.1:{port}/readyz"))
                return time.perf_counter() - started
            finally:
                process.send_signal(signal.SIGTERM)


async def _until_ready(url: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), aiohttp.ClientSession() as session:
        while True:
            try:
                # Whether it answers is the question here; who it is, others verify.
                async with session.get(url, ssl=False) as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.005)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
