"""Shared fixtures: a cache of one's own per session, and the real data where it is present."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
SHARED_DATA = PROJECT.parent / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests never read or write the user's cache; worker processes inherit the variable."""
    os.environ.setdefault("SIGNPOST_CACHE", str(tmp_path_factory.mktemp("cache")))


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
