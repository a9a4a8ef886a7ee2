"""The examples in the docstrings of the statistics run, and importing them costs no scientific library."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys

import pytest

MODULES = {
    "stats.paired": 5,
    "stats.slopes": 3,
    "stats.agreement": 4,
    "stats.ranks": 3,
    "stats.concordance": 3,
    "stats.planning": 1,
    "metrics.verification": 4,
    "metrics.claims": 3,
    "metrics.checklist": 2,
    "metrics.echoes": 4,
    "metrics.hints": 3,
}


@pytest.mark.parametrize(("name", "at_least"), MODULES.items())
def test_examples(name, at_least):
    result = doctest.testmod(importlib.import_module(f"signpost_kit.{name}"))
    assert result.failed == 0
    assert result.attempted >= at_least


def test_importing_statistics_is_cheap():
    heavy = ("scipy", "statsmodels", "pandas", "sklearn", "matplotlib")
    code = f"import sys, signpost_kit.stats; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_metrics_brings_pandas_alone():
    heavy = ("scipy", "statsmodels", "sklearn", "matplotlib")
    code = f"import sys, signpost_kit.metrics; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
