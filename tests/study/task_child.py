"""The cross-task stage of one run, with two models that tell what they are asked; killed by test_task_stages.py.

python task_child.py PROFILE RUN_DIR ASKED
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from signpost_kit.benchmark import Group
from signpost_kit.benchmark.groups import write_benchmark
from signpost_kit.frames import VARIANTS
from signpost_kit.models import register
from signpost_kit.models.scripted import Delayed, ScriptedProvider
from signpost_kit.run import open_run
from signpost_kit.stages.tasks import cross_task

REPLIES = {
    "consistency": '{"consistent": false}',
    "country": '{"final_country": "Peru", "trusted_source": "Textual"}',
    "language": '{"text_found": true, "languages": ["Thai"]}',
}


def pictures(folder: Path) -> None:
    """Two data sets of six scenes, five small pictures each, no two alike."""
    names = [(dataset, f"{dataset}-{i}") for dataset in ("streets", "snaps") for i in range(6)]
    groups = []
    for number, (dataset, name) in enumerate(names):
        images = {variant: f"images/{variant}/{name}.png" for variant in VARIANTS}
        for place, relative in enumerate(images.values()):
            (folder / relative).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((24, 32, 3), 5 * number + place, np.uint8)).save(folder / relative)
        groups.append(Group(name, dataset, 10.0, 20.0, images=images))
    write_benchmark(folder, groups, name="small")


def main(profile: str, run_dir: str, asked: str) -> None:
    """Ask, and add a line to ASKED for every call before it is answered."""
    log = os.open(asked, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def script(request):
        os.write(
            log, (json.dumps([request.task, request.model, request.group_id, request.variant]) + "\n").encode()
        )
        return Delayed(0.01, REPLIES[request.task])

    for name in ("one", "two"):
        register(f"study-{name}", lambda name=name: ScriptedProvider(name, script, concurrency=2))
    run = open_run(profile, run_dir)
    if not run.dir.exists():
        pictures(run.dir / "benchmark")
    cross_task(run)


if __name__ == "__main__":
    main(*sys.argv[1:])
