"""Jobs on a stand-in that behaves, and fails, as real servers were measured to."""

from __future__ import annotations

import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "comfy_server"))

from comfy_fixtures import QUICK, drawn, editing_for
from comfy_stand_in import ComfyServer

from signpost_kit.editing.comfyui.faults import Cancelled, EditFailed, ExecutionFailed
from signpost_kit.editing.comfyui.graph import Recipe, build_graph
from signpost_kit.editing.comfyui.jobs import Edit
from signpost_kit.editing.comfyui.pool import ServerPool
from signpost_kit.editing.comfyui.server import Picture
from signpost_kit.errors import ConfigError
from signpost_kit.files import hash_bytes
from signpost_kit.images import encode_png

TEXT = '- the words "KYOTO", at the top left, become "OSAKA"'


def picture(width: int = 320, height: int = 200, *, noise: bool = False) -> Picture:
    pixels = drawn(width, height)
    if noise:
        pixels = np.random.default_rng(1).integers(0, 256, pixels.shape, dtype=np.uint8)
    png = encode_png(pixels)
    return Picture(png, hash_bytes(png), width, height)


def edit(seed: int = 1, prompt: str = TEXT) -> Edit:
    return Edit(picture(), prompt, seed)


def pool_for(*servers, limits=QUICK, tell=None, **settings) -> ServerPool:
    return ServerPool(
        editing_for(*servers, **settings), limits=limits, progress=False, tell=tell or (lambda line: None)
    )


def wait_for(condition, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come about"
        time.sleep(0.005)


@pytest.mark.parametrize("encoding", ["lists", "combo"])
def test_an_edit_from_upload_to_picture(encoding):
    with ComfyServer(encoding=encoding) as server, pool_for(server) as pool:
        done = pool.run(edit())
        (sent,) = (path.stem for path in server.folder.glob("input/*.png"))
    assert done.size == done.asked_size == (1296, 808)  # sqrt(1048576 / 64000) = 4.0477: 1295.3 x 809.5
    assert done.png.startswith(b"\x89PNG") and done.server == server.url.removeprefix("http://")
    (job,) = server.ran
    prompts = [body for method, path, _, body in server.requests if path == "/prompt"]
    assert prompts[0]["client_id"] and prompts[0]["prompt_id"] == job.prompt_id == job.prompt_id.lower()
    assert job.prompt_id in done.file  # the prefix is the job's own
    assert not any("origin" in headers for _, _, headers, _ in server.requests)
    # Metadata of the picture goes nowhere: the name says nothing of where it comes from.
    assert sent == f"signpost_{picture().hash}"


@pytest.mark.parametrize("late", [0.0, 0.15])
@pytest.mark.parametrize("how", ["told", "silent", "dropping"])
def test_the_history_is_the_result_whatever_the_socket_says(late, how):
    options = {"told": {}, "silent": {"silent_socket": True}, "dropping": {"drop_socket_after": 3}}[how]
    with ComfyServer(history_late_s=late, step_s=0.002, **options) as server, pool_for(server) as pool:
        for seed in range(3):
            assert pool.run(edit(seed)).size == (1296, 808)
    assert len(server.made) == 3


def test_no_race_with_the_history_in_many_jobs():
    """On real servers 5 to 50 percent of reads at `executed` or `execution_success` came too early."""
    late = random.Random(8)
    small = {"painter": lambda image, prompt, seed: image.resize((64, 40)), "step_s": 0.0}
    with ComfyServer(history_late_s=lambda: late.choice([0, 0, 0.004, 0.02]), **small) as server:
        with pool_for(server, per_server=3) as pool, ThreadPoolExecutor(3) as threads:
            done = list(threads.map(pool.run, [edit(seed) for seed in range(60)]))
        assert len(server.ran) == len({result.file for result in done}) == 60
        assert not any(result.resubmitted for result in done)


def test_the_socket_tells_at_once_and_big_previews_do_not_end_it():
    slow = replace(QUICK, poll_s=30.0)
    with ComfyServer(preview_bytes=2_000_000, history_late_s=0.05) as server, pool_for(server, limits=slow) as pool:
        listener = pool.open()._members[0].server.listener
        assert listener.connected.wait(5)
        began = time.monotonic()
        for seed in range(3):
            pool.run(edit(seed))
        assert time.monotonic() - began < 15  # one missed hint would cost 30 s
        assert listener.connected.is_set() and len(server.sockets) == 1


def test_the_server_renames_and_its_name_is_used():
    with ComfyServer() as server, pool_for(server) as pool:
        taken = server.folder / "input" / f"signpost_{picture().hash}.png"
        taken.write_bytes(encode_png(drawn(64, 64)))
        pool.run(edit())
        loaded = server.ran[0].graph["1"]["inputs"]["image"]
        assert loaded == f"{taken.stem} (1).png"
        pool.run(edit(2))
        assert server.count("POST", "/upload/image") == 1  # a picture is sent once
        for path in (server.folder / "input").iterdir():
            path.unlink()
        pool.run(edit(3))  # and again when the server has lost it
        assert server.count("POST", "/upload/image") == 2


def test_the_same_edit_again_takes_the_answered_name():
    with ComfyServer() as server, pool_for(server) as pool:
        first, second = pool.run(edit()), pool.run(edit())
        assert first.file != second.file and first.png[:8] == second.png[:8]
        assert len(server.made) == 1  # the second came from the server's cache
        # Had the prefix been the same, the old file would be named; that is taken as well.
        server.worker.cache = {
            mark: {"filename": first.file.rpartition("/")[2], "subfolder": "signpost", "type": "output"}
            if isinstance(value, dict)
            else value
            for mark, value in server.worker.cache.items()
        }
        job = server.ran[0]
        given = pool._members[0].server.client.submit(job.graph, "11111111-2222-4333-8444-555555555555")
        wait_for(lambda: given in server.worker.history)
        assert server.worker.history[given]["outputs"]["14"]["images"][0]["filename"] in first.file


def test_a_node_that_fails_is_named():
    with ComfyServer() as server, pool_for(server) as pool:
        server.faults.append("node_error")
        with pytest.raises(ExecutionFailed) as caught:
            pool.run(edit())
        error = caught.value
        assert (error.node_type, error.exception_type) == ("KSampler", "RuntimeError")
        assert "mat1 and mat2" in str(error) and f"node {error.node_id}" in str(error)
        pool.run(edit())  # the next one is not concerned


@pytest.mark.parametrize(("fault", "well"), [("oom", True), ("oom_always", False)])
def test_out_of_memory_frees_and_tries_once_more(fault, well):
    with ComfyServer() as server, pool_for(server) as pool:
        server.faults.extend([fault, fault])
        if well:
            assert pool.run(edit()).freed_memory
        else:
            with pytest.raises(EditFailed, match="memory was freed"):
                pool.run(edit())
        assert (server.worker.freed, len(server.ran)) == (1, 2)
        (body,) = [body for _, path, _, body in server.requests if path == "/free"]
        assert body == {"unload_models": True, "free_memory": True}


def test_refusals_of_the_graph():
    with ComfyServer(step_s=0.2) as server, pool_for(server) as pool:
        server.faults.append("refuse")
        with pytest.raises(ConfigError, match=r"node 12 \(KSampler\): Return type mismatch: model, X"):
            pool.run(edit())
        server.faults.append("node_errors_200")
        with pytest.raises(ConfigError, match=r"node 14 \(SaveImage\): Required input is missing: images"):
            pool.run(edit())
        (job,) = server.ran  # it was queued in spite of its errors, and was taken back
        wait_for(lambda: server.worker.running is None)
        assert not server.made
        assert job.prompt_id in {i for _, p, _, b in server.requests if p == "/queue" and b for i in b["delete"]}


def test_interrupts_always_carry_the_id_and_leave_others_alone():
    with ComfyServer(step_s=0.05) as server, pool_for(server) as pool:
        other = pool.open()._members[0].server.client
        server.faults.append("hang")
        job = edit(9)
        upload = pool._members[0].server.upload(job.picture, (1296, 808))
        graph = build_graph(
            Recipe(), image=upload.path, size=(64, 64), prompt="x", seed=3, filename_prefix="signpost/other"
        )
        other.submit(graph, "someone-elses")
        wait_for(lambda: server.worker.running is not None)
        stop = threading.Event()
        threading.Timer(0.3, stop.set).start()
        with pytest.raises(Cancelled):  # it waits behind the other job, and is taken out of the queue
            pool.run(edit(), stopped=stop.is_set)
        assert server.worker.running.prompt_id == "someone-elses" and not server.worker.pending
        assert server.count("POST", "/interrupt") == 0
        other.stop("someone-elses")
        wait_for(lambda: server.worker.running is None)
        bodies = [body for _, path, _, body in server.requests if path == "/interrupt"]
        assert bodies == [{"prompt_id": "someone-elses"}]


def test_an_edit_that_takes_too_long_is_interrupted():
    with ComfyServer() as server, pool_for(server, limits=replace(QUICK, timeout_s=0.4)) as pool:
        server.faults.append("hang")
        with pytest.raises(EditFailed, match=r"longer than 0 s.*node 12.*step 4 of 4.*timeout_s"):
            pool.run(edit())
        wait_for(lambda: server.worker.running is None)
        pool.run(edit())


@pytest.mark.parametrize("fault", ["interrupted", "forgotten", "no_picture", "status_500", "swallow"])
@pytest.mark.parametrize("silent", [False, True])
def test_what_went_astray_is_submitted_again(fault, silent):
    with ComfyServer(silent_socket=silent) as server, pool_for(server) as pool:
        server.faults.append(fault)
        done = pool.run(edit())
        assert done.size == (1296, 808)
        ids = [job.prompt_id for job in server.ran]
        assert len(set(ids)) == len(ids)
        if fault == "swallow":  # the answer was lost, the job was not: it is not run twice
            assert len(ids) == 1 and done.resubmitted == 0
        elif fault == "forgotten" and not silent:
            assert len(ids) == 1  # the socket told where the picture is
        else:
            assert done.resubmitted == 1


def test_a_job_that_is_lost_each_time_fails_alone():
    with ComfyServer() as server, pool_for(server) as pool:
        server.faults.extend(["interrupted"] * 4)
        with pytest.raises(EditFailed, match="4 times"):
            pool.run(edit())
        assert len(server.ran) == 4
        pool.run(edit())


def test_a_restart_loses_jobs_and_they_are_submitted_again():
    patient = replace(QUICK, patience_s=5.0)
    with ComfyServer() as server, pool_for(server, limits=patient) as pool:
        server.faults.append("hang")
        threading.Thread(target=lambda: (wait_for(lambda: server.worker.running), server.restart())).start()
        done = pool.run(edit())
        assert done.resubmitted == 1 and len(server.ran) == 2
        assert server.count("POST", "/upload/image") == 1


def test_what_is_no_picture_fails_alone():
    with ComfyServer() as server, pool_for(server) as pool:
        server.faults.append("not_a_picture")
        with pytest.raises(EditFailed, match="no picture"):
            pool.run(edit())
        bad = Picture(b"GIF89a is not enough", "0" * 32, 320, 200)
        with pytest.raises(ExecutionFailed, match="LoadImage"):  # accepted when uploaded, fails when run
            pool.run(Edit(bad, TEXT, 1))
        with pytest.raises(EditFailed, match="long and narrow"):
            pool.run(Edit(replace(bad, width=1, height=60_000), TEXT, 1))


@pytest.mark.parametrize("says", [True, False])
def test_a_picture_above_the_servers_limit_is_scaled_here(says):
    large = picture(2000, 1500, noise=True)
    assert len(large.png) > 8_000_000
    with ComfyServer(max_upload_size=6_000_000, says_limit=says) as server, pool_for(server) as pool:
        done = pool.run(Edit(large, TEXT, 1))
        assert done.size == (1184, 888)
        assert server.count("POST", "/upload/image") == (1 if says else 2)
    with ComfyServer(max_upload_size=50_000, says_limit=says) as server, pool_for(server) as pool:
        words = "takes 50,000 bytes" if says else "does not say"
        with pytest.raises(EditFailed, match=f"{words}.*--max-upload-size"):
            pool.run(Edit(large, TEXT, 1))


def test_a_server_gets_no_more_jobs_at_once_than_it_may():
    with ComfyServer(step_s=0.03) as server, pool_for(server, per_server=2) as pool:
        most = 0
        with ThreadPoolExecutor(5) as threads:
            futures = [threads.submit(pool.run, edit(seed)) for seed in range(5)]
            while not all(future.done() for future in futures):
                with server.worker.lock:
                    most = max(most, len(server.worker.pending) + (server.worker.running is not None))
                time.sleep(0.002)
        assert most == 2 and {future.result().size for future in futures} == {(1296, 808)}


def test_a_proxy_of_the_environment_is_not_for_this_machine(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "WS_PROXY", "ws_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ComfyServer() as server, pool_for(server) as pool:
        assert pool.open()._members[0].server.listener.connected.wait(5)
        pool.run(edit())


def test_servers_that_choose_the_ids_themselves():
    with ComfyServer(own_ids=True) as server, pool_for(server) as pool:
        assert pool.run(edit()).prompt_id == server.ran[0].prompt_id
        assert server.ran[0].prompt_id != server.requests[-1][3]


def test_unknown_ids_and_interrupts_as_the_server_answers_them():
    """The stand-in itself, against what was measured."""
    with ComfyServer() as server, httpx.Client(base_url=server.url, trust_env=False) as http:
        assert http.get("/history/unknown").json() == {}
        assert http.get("/queue").json() == {"queue_running": [], "queue_pending": []}
        assert http.get("/queue", headers={"Origin": "http://evil.org"}).status_code == 403
        for number, wanted in enumerate(["a.png", "a.png", "a (1).png"]):
            data = b"same" if number < 2 else b"other"
            assert http.post("/upload/image", files={"image": ("a.png", data)}).json()["name"] == wanted
        for value, wanted in (("yes", "a (2).png"), ("1", "a.png"), ("true", "a.png")):
            answer = http.post("/upload/image", files={"image": ("a.png", b"new")}, data={"overwrite": value})
            assert answer.json()["name"] == wanted
