"""The editor as the stage calls it: variants and their records, several servers, kills, and the check beforehand."""

from __future__ import annotations

import functools
import json
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

sys.path.insert(0, str(Path(__file__).parent / "comfy_server"))

from comfy_fixtures import QUICK, benchmark_of, editing_for
from comfy_stand_in import MODELS, ComfyServer

from signpost_kit.benchmark import Benchmark
from signpost_kit.editing.checks import CheckSettings
from signpost_kit.editing.comfyui import pool as pool_module
from signpost_kit.editing.comfyui.check import check_comfyui
from signpost_kit.editing.comfyui.edit import make_variants, workers
from signpost_kit.editing.comfyui.editor import Journal
from signpost_kit.editing.comfyui.pool import ServerPool
from signpost_kit.editing.comfyui.progress import describe
from signpost_kit.errors import ConfigError, DataError, ModelError
from signpost_kit.fonts import load_font
from signpost_kit.frames import EDITED_VARIANTS
from signpost_kit.images import load_rgb
from signpost_kit.profile_sections import Editing

CHILD = Path(__file__).parent / "comfy_server" / "comfy_kill_child.py"


def opened(editing: Editing, told: list[str] | None = None, **limits) -> ServerPool:
    tell = told.append if told is not None else (lambda line: None)
    return ServerPool(editing, limits=replace(QUICK, **limits), progress=False, tell=tell)


def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_all_variants_come_from_the_original_with_their_records(tmp_path):
    benchmark = benchmark_of(tmp_path)
    (group,) = benchmark.groups
    with ComfyServer() as server:
        editing = editing_for(server)
        with opened(editing) as pool:
            made = make_variants(benchmark, group, editing=editing, pool=pool)
        loaded = {job.graph["1"]["inputs"]["image"] for job in server.ran}
        assert len(loaded) == 1 and len(server.ran) == 4
        sent = load_rgb(server.folder / "input" / loaded.pop())
        assert np.array_equal(sent, load_rgb(tmp_path / group.images["Original"]))
        prefixes = {job.graph["14"]["inputs"]["filename_prefix"] for job in server.ran}
        assert len(prefixes) == 4 and not any("g1" in prefix for prefix in prefixes)
    assert list(made.images) == ["Original", *EDITED_VARIANTS]
    seeds = set()
    for variant in EDITED_VARIANTS:
        record = made.generation[variant]
        assert (record["editor"], record["variant"], record["status"], record["base_seed"]) == (
            "comfyui",
            variant,
            "ok",
            42,
        )
        assert record["server"] == server.url.removeprefix("http://") and record["seconds"] > 0
        assert record["workflow_hash"] == pool.workflow_hash and len(record["prompt_hash"]) == 32
        assert "KYOTO" in record["prompt"] and "awning at the bottom right" in record["prompt"]
        picture = load_rgb(benchmark.image_path(made, variant))
        assert picture.shape == (360, 640, 3)  # the Original's size; the server's was 1368 x 768
        assert record["returned_size"] == [1368, 768] and record["changed_pixels"] > 1000
        seeds.add(record["seed"])
    assert len(seeds) == 1
    assert 'become "Żółw"' in made.generation["Random"]["prompt"]
    texts = [(s["text"], s.get("new_text"), s["status"]) for s in made.generation["Random"]["spans"]]
    assert texts == [("KYOTO", "Żółw", "ok"), ("Tea", "", "blank")]
    json.dumps(made.generation)


def test_another_seed_is_another_edit_and_the_same_one_is_not_made_again(tmp_path):
    benchmark = benchmark_of(tmp_path, ["a/b", "c"])
    with ComfyServer() as server:
        editing = editing_for(server)
        with opened(editing) as pool:
            edit = functools.partial(make_variants, editing=editing, pool=pool)
            first = edit(benchmark, benchmark.groups[0], variants=("Random",))
            again = edit(benchmark, benchmark.groups[0], variants=("Random",))
            assert again == first and len(server.ran) == 1
            other = edit(benchmark, first, seed=43, variants=("Random",))
            assert other.generation["Random"]["seed"] != first.generation["Random"]["seed"]
            assert other.images == first.images and len(server.ran) == 2
            # A picture that was damaged, or lies there without a note, is made again.
            path = benchmark.image_path(other, "Random")
            path.write_bytes(path.read_bytes()[:-50])
            edit(benchmark, other, seed=43, variants=("Random",))
            for note in (tmp_path / "edits").iterdir():
                note.write_text('{"key": ')
            edit(benchmark, other, seed=43, variants=("Random",))
            assert len(server.ran) == 4
            assert load_rgb(path).shape == (360, 640, 3)


def test_an_edit_that_does_not_pass_is_made_with_another_seed(tmp_path):
    benchmark = benchmark_of(tmp_path)
    group = replace(benchmark.groups[0], spans=benchmark.groups[0].spans[:1])
    seeds: list[int] = []

    def painter(image: Image.Image, prompt: str, seed: int) -> Image.Image:
        seeds.append(seed)
        if len(seeds) == 1:
            return image  # the model did nothing
        out, scale = image.copy(), image.width / 640
        draw = ImageDraw.Draw(out)
        draw.rectangle([round(v * scale) for v in (40, 40, 240, 100)], fill=(20, 60, 160))
        new = prompt.partition('become "')[2].partition('"')[0]
        draw.text((140 * scale, 70 * scale), new, fill="white", anchor="mm", font=load_font(new, round(36 * scale)))
        return out

    with ComfyServer(painter=painter) as server:
        editing = editing_for(server)
        with opened(editing) as pool:
            make = functools.partial(
                make_variants,
                benchmark,
                editing=editing,
                pool=pool,
                variants=("Adversarial",),
                checks=CheckSettings(),
            )
            made = make(group)
            record = made.generation["Adversarial"]
            assert record["checks"]["passed"] and record["checks"]["attempts"] == 2
            assert len(set(seeds)) == 2 and record["seed"] == seeds[1]
            assert np.array_equal(
                load_rgb(benchmark.image_path(made, "Adversarial"))[60:80, 60:70],
                np.full((20, 10, 3), (20, 60, 160)),
            )
            assert not list((tmp_path / "edits").glob("*.png"))  # notes stay, second copies of pictures do not


def test_another_groups_notes_are_left_alone(tmp_path):
    one, other = Journal(tmp_path, "g1"), Journal(tmp_path, "g1.Blank")
    for journal in (one, other):
        journal.note("Blank", "k" * 32, b"picture", {"a": 1})
    one.settle()
    assert one.find("Blank", "k" * 32) is None
    assert other.find("Blank", "k" * 32) == (b"picture", {"a": 1})
    assert other.find("Blank", "k" * 31 + "x") is None


def test_a_variant_that_fails_has_a_reason_and_no_picture(tmp_path):
    benchmark = benchmark_of(tmp_path)
    (group,) = benchmark.groups
    group = replace(group, images=group.images | {"Blank": "images/Blank/old.png"})
    with ComfyServer() as server:
        server.faults.append("node_error")
        editing = editing_for(server)
        with opened(editing) as pool:
            made = make_variants(benchmark, group, editing=editing, pool=pool)
            bare = replace(group, spans=(replace(group.spans[0], replacements={}),))
            unsaid = make_variants(benchmark, bare, editing=editing, pool=pool, variants=("Similar",))
            empty = make_variants(benchmark, replace(group, spans=()), editing=editing, pool=pool)
            with pytest.raises(ConfigError, match="'Blnk'"):
                make_variants(benchmark, group, editing=editing, pool=pool, variants=("Blnk",))
            with pytest.raises(DataError):
                make_variants(benchmark, replace(group, images={}), editing=editing, pool=pool)
    assert "Blank" not in made.images and set(made.images) == {"Original", "Similar", "Random", "Adversarial"}
    record = made.generation["Blank"]
    assert record["status"] == "failed" and "node 12 (KSampler) failed: RuntimeError" in record["reason"]
    assert record["prompt"] and not (tmp_path / "images" / "Blank").exists()
    assert unsaid.generation["Similar"]["reason"] == "'KYOTO': there is no similar text"
    assert {r["reason"] for r in empty.generation.values()} == {"the group has no spans"}


def test_two_servers_share_the_work(tmp_path):
    benchmark = benchmark_of(tmp_path, ["a", "b"])
    with ComfyServer(step_s=0.05) as one, ComfyServer(step_s=0.05) as two:
        editing = editing_for(one, two, one)  # named twice, it still is one
        assert workers(editing) == 2
        with opened(editing) as pool:
            for group in benchmark.groups:
                assert len(make_variants(benchmark, group, editing=editing, pool=pool).images) == 5
        assert len(one.ran) + len(two.ran) == 8 and min(len(one.ran), len(two.ran)) >= 2


def test_a_server_that_dies_is_left_out_and_comes_back(tmp_path):
    benchmark = benchmark_of(tmp_path, ["a", "b", "c"])
    told: list[str] = []
    with ComfyServer(step_s=0.02) as one, ComfyServer(step_s=0.02) as two:
        one.faults.append("crash")
        editing = editing_for(one, two)
        with opened(editing, told) as pool:
            made = [make_variants(benchmark, g, editing=editing, pool=pool) for g in benchmark.groups[:2]]
            assert all(len(group.images) == 5 for group in made)
            servers = Counter(r["server"] for group in made for r in group.generation.values())
            assert servers == {two.url.removeprefix("http://"): 8}
            assert sum(r["resubmitted"] for g in made for r in g.generation.values()) == 1
            name = one.url.removeprefix("http://")
            assert len(told) == 1 and name in told[0] and "left out" in told[0]
            one.start()
            two.stop()
            last = make_variants(benchmark, benchmark.groups[2], editing=editing, pool=pool)
            assert {r["server"] for r in last.generation.values()} == {name}
            assert any(name in line and "again" in line for line in told[1:])


def test_when_all_is_finished_no_server_is_needed(tmp_path):
    benchmark = benchmark_of(tmp_path)
    with ComfyServer() as server:
        editing = editing_for(server)
        with opened(editing) as pool:
            made = make_variants(benchmark, benchmark.groups[0], editing=editing, pool=pool)
    with opened(editing) as pool:
        assert make_variants(benchmark, benchmark.groups[0], editing=editing, pool=pool) == made
    with opened(editing) as pool, pytest.raises(ModelError, match="no ComfyUI server answers"):
        make_variants(benchmark, benchmark.groups[0], editing=editing, pool=pool, seed=9)


def test_no_server_left_ends_the_run_and_keeps_what_is_finished(tmp_path):
    benchmark = benchmark_of(tmp_path)
    with ComfyServer() as server:
        server.faults.extend(["", "", "crash"])
        editing = editing_for(server)
        with opened(editing, revive_s=0.5) as pool, pytest.raises(ModelError, match="finished pictures are kept"):
            make_variants(benchmark, benchmark.groups[0], editing=editing, pool=pool)
        assert len(list((tmp_path / "edits").glob("*.json"))) == 2
        server.start()
        with opened(editing) as pool:
            made = make_variants(benchmark, benchmark.groups[0], editing=editing, pool=pool)
        assert len(made.images) == 5 and len(server.made) == 4  # the two finished ones were not made again


def test_an_edit_that_brings_servers_down_fails_alone(tmp_path):
    benchmark = benchmark_of(tmp_path)
    with ExitStack() as stack:
        servers = [stack.enter_context(ComfyServer(step_s=0.05)) for _ in range(3)]
        for server in servers:
            server.faults.append("crash")
        editing = editing_for(*servers)
        with opened(editing, revive_s=5) as pool:
            made = make_variants(benchmark, benchmark.groups[0], editing=editing, pool=pool, variants=("Blank",))
        assert "3 times a server went away during this edit" in made.generation["Blank"]["reason"]


def test_closing_the_pool_takes_jobs_back(tmp_path):
    benchmark = benchmark_of(tmp_path)
    with ComfyServer() as server:
        server.faults.extend(["hang"] * 4)
        editing = editing_for(server, per_server=2)
        assert workers(editing) == 2
        pool = opened(editing).open()
        failure: list[BaseException] = []

        def work() -> None:
            try:
                make_variants(benchmark, benchmark.groups[0], editing=editing, pool=pool)
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        end = time.monotonic() + 10
        while not (server.worker.running and server.worker.pending) and time.monotonic() < end:
            time.sleep(0.01)
        assert len(server.worker.pending) == 1  # two at a time, no more
        assert server.count("POST", "/upload/image") == 1  # and the picture went up once
        pool.close()
        thread.join(10)
        assert not thread.is_alive() and failure
        while server.worker.running and time.monotonic() < end:
            time.sleep(0.01)
        assert server.worker.running is None and not server.worker.pending and not server.made
        assert not (tmp_path / "images" / "Blank").exists()


def test_a_pool_of_the_process_for_other_schedulers(tmp_path):
    benchmark = benchmark_of(tmp_path)
    with ComfyServer() as server:
        editing = editing_for(server)
        work = pickle.loads(pickle.dumps(functools.partial(make_variants, benchmark, editing=editing)))
        try:
            assert len(work(benchmark.groups[0]).images) == 5
            assert len(work(benchmark.groups[0], seed=5).images) == 5
            assert server.count("GET", "/object_info") == 1
        finally:
            pool_module._shared.popitem()[1].close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are a matter of POSIX")
@pytest.mark.parametrize("per_server", [1, 4])
@pytest.mark.parametrize("threaded", [False, True])
def test_an_interrupt_stops_the_servers_job_too(tmp_path, per_server, threaded):
    benchmark = benchmark_of(tmp_path)
    before = signal.getsignal(signal.SIGINT)
    with ComfyServer() as server:
        server.faults.extend(["hang"] * 4)
        editing = editing_for(server, per_server=per_server)
        threading.Timer(0.6, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt), opened(editing) as pool, ThreadPoolExecutor(1) as threads:
            work = functools.partial(make_variants, benchmark, benchmark.groups[0], editing=editing, pool=pool)
            threads.submit(work).result() if threaded else work()
        assert time.monotonic() - began < 10  # a hanging job has 20 s
        end = time.monotonic() + 5
        while server.worker.running and time.monotonic() < end:
            time.sleep(0.01)
        assert server.worker.running is None and not server.worker.pending and not server.made
    assert signal.getsignal(signal.SIGINT) is before


def test_a_server_that_answers_but_takes_no_jobs_does_not_hold_a_run_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(pool_module, "_ASLEEP_S", (0.01,))
    benchmark = benchmark_of(tmp_path)
    with ComfyServer() as server:
        server.broken["/prompt"] = 503
        editing = editing_for(server)
        with opened(editing) as pool:
            made = make_variants(benchmark, benchmark.groups[0], editing=editing, pool=pool, variants=("Blank",))
            assert "5 times a server went away" in made.generation["Blank"]["reason"]
            assert "status 503" in made.generation["Blank"]["reason"]
            server.broken.clear()
            assert len(make_variants(benchmark, made, editing=editing, pool=pool).images) == 5


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX")
def test_killed_in_the_middle_it_goes_on_where_it_was(tmp_path):
    benchmark = benchmark_of(tmp_path / "b", ["a", "b", "c"])
    benchmark.write()
    rng = random.Random(3)
    with ComfyServer(step_s=0.02) as server:
        finished: dict[str, float] = {}
        for wanted in (1, 4, 8, None):
            child = subprocess.Popen(
                [sys.executable, str(CHILD), str(benchmark.root), server.url], stderr=subprocess.PIPE
            )
            if wanted is not None:
                end = time.monotonic() + 60
                while len(notes(benchmark)) < wanted and child.poll() is None:
                    assert time.monotonic() < end
                    time.sleep(0.002)
                time.sleep(rng.uniform(0, 0.15))
                child.send_signal(signal.SIGKILL)
            error = child.communicate(timeout=60)[1].decode()
            assert child.returncode == (-signal.SIGKILL if wanted is not None else 0), error
            for name, changed in finished.items():
                assert notes(benchmark)[name] == changed, f"{name} was made again"
            finished = notes(benchmark)
            for path in (tmp_path / "b" / "images").rglob("*.png"):
                if not path.name.startswith("."):
                    assert load_rgb(path).shape == (360, 640, 3)  # nothing is half written
        assert len(finished) == 12
        done = Benchmark.read(benchmark.root)
        assert all(len(group.images) == 5 for group in done.groups)
        assert len(server.ran) <= 12 + 3 * 2  # only what was under way, or not noted yet, at a kill


def notes(benchmark: Benchmark) -> dict[str, float]:
    """Finished edits -> when they were noted."""
    return {path.name: path.stat().st_mtime_ns for path in benchmark.root.glob("edits/[!.]*.json")}


def test_the_check_before_a_run():
    check_comfyui(Editing())  # another editor: nothing to check
    with pytest.raises(ConfigError, match="needs a server"):
        check_comfyui(Editing(editor="comfyui"))
    with pytest.raises(ConfigError, match="allow_remote_http"):
        check_comfyui(editing_for("http://10.0.0.1:8188"))
    with pytest.raises(ConfigError, match="unknown part 'unit'"):
        check_comfyui(Editing.model_construct(editor="comfyui", servers=["http://127.0.0.1:1"], **_rest(unit="x")))
    away = closed_port()
    with pytest.raises(ModelError, match=away.removeprefix("http://")):
        check_comfyui(editing_for(away))
    with ComfyServer() as good, ComfyServer(models=MODELS | {"vae": []}, without_nodes=("CFGNorm",)) as bad:
        check_comfyui(editing_for(good, away))  # one that answers is enough
        assert not good.count("POST", "/") and not good.count("GET", "/ws")
        with pytest.raises(ConfigError) as caught:
            check_comfyui(editing_for(good, bad))
        said = str(caught.value)
        assert bad.url in said and good.url not in said
        assert "qwen_image_vae.safetensors is missing: put it into models/vae" in said and "CFGNorm" in said
        with pytest.raises(ConfigError, match="my_vae"):
            check_comfyui(editing_for(good, checkpoints={"vae": "my_vae.safetensors"}))
        with pytest.raises(ConfigError, match="models/vae"):
            ServerPool(editing_for(good, bad), progress=False).open()


def _rest(**checkpoints: str) -> dict[str, object]:
    return Editing().model_dump(exclude={"editor", "servers", "checkpoints"}) | {"checkpoints": checkpoints}


def test_something_else_that_answers_is_told_apart():
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = {"/a": 200, "/b": 401, "/c": 404, "/d": 301}[self.path[:2]]
            self.send_response(status)
            self.send_header("Location", "https://elsewhere.example.org/")
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"<h1>")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        thread = threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        for path, words in (("a", "is it a ComfyUI"), ("b", "login"), ("c", "is it a ComfyUI"), ("d", "elsewhere")):
            with pytest.raises(ConfigError, match=words):
                check_comfyui(editing_for(f"http://127.0.0.1:{other.server_port}/{path}"))
        other.shutdown()


def test_a_line_shows_what_each_server_does():
    assert describe("h", False, 1, (0, 0)) == "h: away"
    assert describe("h", True, 1, (2, 4)) == "h: step 2/4"
    assert describe("h", True, 1, (0, 0)) == "h: busy"
    assert describe("h", True, 0, (0, 0)) == "h: idle"
