"""Edits of several groups on one server, to be killed by test_comfyui_edit.py.

python comfy_kill_child.py BENCHMARK URL
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from comfy_fixtures import QUICK, editing_for

from signpost_kit.benchmark import Benchmark
from signpost_kit.editing.comfyui.edit import make_variants
from signpost_kit.editing.comfyui.pool import ServerPool


def main(folder: str, url: str) -> None:
    benchmark = Benchmark.read(folder)
    editing = editing_for(url)
    with ServerPool(editing, limits=QUICK, progress=False) as pool:
        groups = [make_variants(benchmark, group, editing=editing, pool=pool) for group in benchmark.groups]
    benchmark.with_groups(groups).write()


if __name__ == "__main__":
    main(*sys.argv[1:])
