"""Shared fixtures: a cache of the session's own, and the real data where it is present."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
SHARED_DATA = PROJECT.parent / "shared" / "data"

# Test processes share the cores: let each numerical library use one thread.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ["MPLBACKEND"] = "Agg"


def pytest_configure(config: pytest.Config) -> None:
    """Tests never read or write the user's cache. Workers inherit the folder, so it is filled once."""
    if not hasattr(config, "workerinput"):
        config.stash[_CACHE] = tempfile.mkdtemp(prefix="signpost-test-cache-")
        os.environ["SIGNPOST_CACHE"] = config.stash[_CACHE]
    # A test run that was started in the background ignores Ctrl-C, and so would every child that a test interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the session's cache."""
    if _CACHE in config.stash:
        shutil.rmtree(config.stash[_CACHE], ignore_errors=True)


_CACHE = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's root."""
    return PROJECT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real photos, replies and lists that are not part of the project; tests without them are skipped."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data is absent: {SHARED_DATA}")
    return SHARED_DATA
