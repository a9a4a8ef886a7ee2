"""Benchmarks: groups of pictures of one scene, where they come from, and how they are stored."""

from signpost_kit.benchmark.groups import Benchmark, Group, Span, Trap

__all__ = ["Benchmark", "Group", "Span", "Trap"]
