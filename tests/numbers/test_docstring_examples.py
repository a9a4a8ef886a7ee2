"""The examples in the docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = {
    "geo": 2,
    "metrics.mcrs": 2,
    "parsing.coordinates": 2,
    "parsing.structured": 2,
    "stats.intervals": 2,
}


@pytest.mark.parametrize(("name", "at_least"), MODULES.items())
def test_examples(name, at_least):
    result = doctest.testmod(importlib.import_module(f"signpost_kit.{name}"))
    assert result.failed == 0
    assert result.attempted >= at_least
