"""Many pictures: the same lines from threads and from processes, engines made once, nothing read twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from signpost_kit.errors import ConfigError
from signpost_kit.files import cache_dir
from signpost_kit.fonts import load_font
from signpost_kit.ocr import TextLine, read_each, read_many
from signpost_kit.ocr import reading as reading_module

WORDS = ("LONDON", "Berlin", "Calle Mayor", "EXIT", "Nairobi Road")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "cache"))


def _signs(folder: Path, n: int) -> list[Path]:
    paths = []
    for number in range(n):
        image = Image.new("RGB", (420, 200), (225, 228 - number % 90, 215))
        word = WORDS[number % len(WORDS)]
        ImageDraw.Draw(image).text((30, 70), word, font=load_font(word, 48, 600), fill=(20, 30, 90))
        paths.append(folder / f"{number:03d}.png")
        image.save(paths[-1])
    return paths


class _Engine:
    made = 0

    def __init__(self) -> None:
        self.calls = 0

    def read(self, image: np.ndarray) -> tuple[TextLine, ...]:
        self.calls += 1
        return (TextLine(f"mean {int(image.mean())}", ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0)), 0.5),)


def test_processes_read_what_threads_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = _signs(tmp_path, 6)
    threads = read_many(paths, workers=2)
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "another"))
    processes = read_many(paths, workers=2, scheduler="processes")
    assert processes == threads and list(processes) == paths
    assert [lines[0].text for lines in threads.values()] == [WORDS[i % len(WORDS)] for i in range(6)]
    assert len(list(cache_dir("ocr").rglob("*.json"))) == 6  # kept by the workers themselves


def test_outcomes_come_in_order_with_reasons_and_lazily(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _Engine()
    monkeypatch.setattr(reading_module, "get_engine", lambda name, settings: engine)
    paths = _signs(tmp_path, 40)
    paths[1].write_bytes(b"no picture")
    readings = read_each(iter(paths), scheduler="serial", progress=False)
    assert engine.calls == 0  # nothing before the first is asked for
    first, second = next(readings), next(readings)
    assert first.path == paths[0] and not first.error and first.lines
    assert second.path == paths[1] and "001.png" in second.error and second.lines == ()
    assert engine.calls <= 2
    assert [reading.path for reading in readings] == paths[2:]


def test_an_engine_is_made_once_per_worker_and_only_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from signpost_kit.ocr import engines

    made: list[_Engine] = []

    def make(settings: object) -> _Engine:
        made.append(_Engine())
        return made[-1]

    monkeypatch.setitem(engines.ENGINES, "rapidocr", (make, ("rapidocr",)))
    monkeypatch.setattr(engines, "_local", type(engines._local)())
    paths = _signs(tmp_path, 12)
    read_many(paths, workers=2)
    assert 1 <= len(made) <= 2 and sum(engine.calls for engine in made) == 12
    read_many(paths, workers=2)  # all of it is kept
    assert 1 <= len(made) <= 2 and sum(engine.calls for engine in made) == 12


_CHILD = """
import sys
from pathlib import Path
from signpost_kit.ocr import read_each
if __name__ == "__main__":
    for reading in read_each(sorted(Path(sys.argv[1]).glob("*.png")), scheduler=sys.argv[2], workers=1, progress=False):
        print(reading.path.name, flush=True)
"""


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_a_kill_loses_only_what_was_under_way(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = _signs(tmp_path, 40)
    script = tmp_path / "child.py"
    script.write_text(_CHILD)
    child = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path), scheduler],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "SIGNPOST_CACHE": str(tmp_path / "cache")},
        start_new_session=True,
    )
    assert child.stdout is not None
    for _ in range(4):
        assert child.stdout.readline()
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    kept = _kept_by_now()
    assert 4 <= kept < 40
    engine = _Engine()
    monkeypatch.setattr(reading_module, "get_engine", lambda name, settings: engine)
    found = read_many(paths)
    assert len(found) == 40 and engine.calls == 40 - kept
    assert sum(lines[0].text in WORDS for lines in found.values()) == kept


def _kept_by_now() -> int:
    """Files in the cache once a worker process that outlived its parent for a moment is gone too."""
    count, deadline = -1, time.monotonic() + 20
    while time.monotonic() < deadline:
        now = len(list(cache_dir("ocr").rglob("*.json")))
        if now == count:
            return now
        count = now
        time.sleep(1.0)
    return count


def test_what_is_wrong_is_said_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'rapidocr'"):
        read_each([tmp_path / "a.png"], engine="rapidorc")
    with pytest.raises(ConfigError, match="unknown scheduler 'proceses'"):
        read_each([tmp_path / "a.png"], scheduler="proceses")
    with pytest.raises(ConfigError, match="workers"):
        read_each([tmp_path / "a.png"], workers=0)
    assert list(read_each([], progress=False)) == []


def test_sessions_are_lean_and_rapidocr_itself_stays_as_it_was() -> None:
    """What keeps two processes below 480 MB each: no memory pattern per shape, and freed memory is used again."""
    from rapidocr.inference_engine.onnxruntime.main import OrtInferSession

    from signpost_kit.ocr import OcrSettings
    from signpost_kit.ocr.rapid import RapidOcr

    usual = OrtInferSession._init_sess_opts
    engine = RapidOcr(OcrSettings())
    assert OrtInferSession._init_sess_opts is usual
    for part in (engine._engine.text_det, engine._engine.text_rec, engine._engine.text_cls):
        options = part.session.session.get_session_options()
        assert not options.enable_mem_pattern and options.enable_cpu_mem_arena
        assert options.intra_op_num_threads == 1
