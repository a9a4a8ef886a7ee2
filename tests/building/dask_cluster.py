"""A real Dask scheduler and worker as processes on loopback, for the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(HERE), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", *arguments], stdout=log, stderr=log, cwd=folder, env=environment
        )


def start_scheduler(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    process = start(
        folder, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show",
        "--scheduler-file", str(file),
    )  # fmt: skip
    end = time.monotonic() + 60
    while True:
        try:
            return process, json.loads(file.read_text())["address"]
        except (OSError, ValueError, KeyError):
            assert process.poll() is None and time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.05)


def start_worker(folder: Path, address: str) -> subprocess.Popen[bytes]:
    return start(
        folder, "distributed.cli.dask_worker", address, "--nthreads", "2", "--no-dashboard",
        "--host", "127.0.0.1", "--local-directory", str(folder),
    )  # fmt: skip


def stop(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The address of a scheduler with one worker of two threads."""
    scheduler, address = start_scheduler(folder)
    worker = start_worker(folder, address)
    try:
        yield address
    finally:
        stop(worker, scheduler)
