"""A run killed with SIGKILL in every construction stage goes on where it was: no finished picture is done again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from signpost_kit.benchmark import Benchmark
from signpost_kit.frames import EDITED_VARIANTS

HERE = Path(__file__).parent
if str(HERE / "geocoder_server") not in sys.path:
    sys.path.insert(0, str(HERE / "geocoder_server"))

from geocoder_stand_in import GeocoderServer, Step  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX"),
]
SCENES = 8
AT_ONCE = max(2, os.cpu_count() or 1)  # pictures under way at a kill
WRITERS = 2  # questions under way to the offline model at a kill


class Killed:
    """A run's folder, its log, and what must not happen twice."""

    def __init__(self, folder: Path, project: Path, *sets: str) -> None:
        folder.mkdir(exist_ok=True)
        self.dir, self.log = folder / "run", folder / "log"
        self.images = self.dir / "benchmark" / "images"
        self._project, self._sets = project, sets
        self._environment = {**os.environ, "SIGNPOST_CACHE": str(folder / "cache")}

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(HERE / "kill_stages_child.py"), str(self.dir), str(self.log), *self._sets]
        return subprocess.Popen(command, cwd=self._project, env=self._environment, stderr=subprocess.PIPE)

    def kill_when(self, condition: Callable[[], bool], pause: float) -> None:
        """Start it, and kill it a moment after the condition holds."""
        assert not condition(), "this moment has passed already"
        child = self.start()
        end = time.monotonic() + 90
        while not condition():
            assert child.poll() is None, (child.communicate()[1] or b"").decode()
            assert time.monotonic() < end, "it does not get on"
            time.sleep(0.001)
        time.sleep(pause)
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=30)
        assert child.returncode == -signal.SIGKILL, "it was done before it was killed"

    def finish(self) -> None:
        child = self.start()
        error = (child.communicate(timeout=120)[1] or b"").decode()
        assert child.returncode == 0, error

    def told(self, word: str) -> list[str]:
        """What was told with this word, whole lines only."""
        lines = self.log.read_text().split("\n")[:-1] if self.log.exists() else []
        return [line.split()[1] for line in lines if line.split()[0] == word]

    def done(self, stage: str) -> bool:
        return (self.dir / "stages" / f"{stage}.json").is_file()

    def painted(self) -> dict[str, int]:
        """Picture of an edited variant -> when it was written."""
        return {
            str(path.relative_to(self.images)): path.stat().st_mtime_ns
            for variant in EDITED_VARIANTS
            for path in sorted((self.images / variant).glob("[!.]*.png"))
        }

    def scenes_painted(self) -> list[str]:
        """Scenes whose four pictures are there."""
        counts = Counter(Path(name).name for name in self.painted())
        return [name for name, count in counts.items() if count == len(EDITED_VARIANTS)]


def contents(run: Killed) -> dict[str, bytes]:
    """All pictures and the groups, byte by byte."""
    root = run.dir / "benchmark"
    files = [*sorted(root.rglob("*.png")), root / "groups.jsonl"]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def test_a_run_killed_in_every_stage(tmp_path, project):
    rng = random.Random(4)
    with GeocoderServer() as server:
        server._server.handle_error = lambda *_: None  # a killed client is no error
        server.steps["*"] = [Step(delay_s=0.03) for _ in range(500)]
        sets = [
            f"source.n={SCENES}", "replacements.kind=generate", "replacements.model=writer",
            "targets.geocoder=nominatim", "targets.contact=tests@signpost.test", f"targets.url={server.url}",
            "targets.interval_s=0", "editing.attempts=1",
        ]  # fmt: skip
        run = Killed(tmp_path, project, *sets)

        run.kill_when(lambda: len(list(run.images.rglob("Original/[!.]*.png"))) >= 4, 0)
        for goal in (2, 5):  # screening
            run.kill_when(lambda goal=goal: len(set(run.told("was-read"))) >= goal, rng.uniform(0.0, 0.1))
            assert not run.done("screening")
        screened = set(run.told("was-read"))
        for goal in (4,):  # replacements; the taxonomy before them keeps nothing
            run.kill_when(lambda goal=goal: len(run.told("was-asked")) >= goal, rng.uniform(0.0, 0.01))
            assert run.done("screening") and not run.done("replacements")
        for goal in (4,):  # targets
            run.kill_when(lambda goal=goal: len(server.seen) >= goal, rng.uniform(0.0, 0.05))
            assert run.done("replacements") and not run.done("targets")
        times: list[dict[str, int]] = []
        for goal in (2, 5):  # synthesis
            run.kill_when(lambda goal=goal: len(run.scenes_painted()) >= goal, rng.uniform(0.0, 0.05))
            assert run.done("targets") and not run.done("synthesis")
            times.append(run.painted())
        run.finish()
        queries = Counter(server.queries)

        whole = Killed(tmp_path / "whole", project, *sets)
        whole.finish()
    # What was told may have been killed just before it was kept; nothing else is done twice.
    read, asked = Counter(run.told("was-read")), Counter(run.told("was-asked"))
    assert len(screened) >= 5 and sum(read[picture] - 1 for picture in screened) <= 2 * AT_ONCE
    assert len(asked) >= SCENES and sum(asked.values()) - len(asked) <= WRITERS
    assert len(queries) >= 4 and sum(queries.values()) - len(queries) <= 1, "an answer was asked for again"
    last, finished = run.painted(), 0
    for before in times:
        scenes = {Path(name).name for name in before}
        redone = {Path(name).name for name, when in before.items() if last[name] != when}
        assert len(redone) <= AT_ONCE, "finished scenes were painted again"
        finished = len(scenes - redone)
    assert finished >= 5 - AT_ONCE
    assert contents(run) == contents(whole), "a killed run ends otherwise than one that was left alone"
    assert not [path for path in run.dir.rglob(".*.png") if path.is_file()], "a half-written picture stays"
    found = Benchmark.read(run.dir / "benchmark")
    assert len(found) >= 1 and all(set(group.images) >= set(EDITED_VARIANTS) for group in found.groups)
