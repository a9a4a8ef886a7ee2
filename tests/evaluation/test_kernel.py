"""evaluate in a real Jupyter kernel: it works there, and interrupting the kernel leaves a resumable run."""

from __future__ import annotations

import time

import pytest

from signpost_kit.evaluation import ReplyStore

SETUP = """
from signpost_kit.benchmark import Benchmark
from signpost_kit.evaluation import Parsed, evaluate, register_task
from signpost_kit.models.scripted import HANG, ScriptedProvider
register_task("told", lambda text, prompt: Parsed("ok", "", 1.0, 2.0, 1, "told"))
benchmark = Benchmark.read({root!r})
def ask(script):
    model = ScriptedProvider(script=script, concurrency=2)
    summary = evaluate(benchmark, {{"m": model}}, "told", store={store!r}, prompt="Where?")
    print("SUMMARY", summary.ok, summary.reused, len(model.history))
"""


@pytest.fixture
def kernel():
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
def test_an_interrupted_kernel_leaves_a_resumable_run(toy, tmp_path, kernel):
    manager, client = kernel
    store = tmp_path / "r.sqlite"
    setup = SETUP.format(root=str(toy(4).root), store=str(store))
    assert client.execute_interactive(setup, timeout=60)["content"]["status"] == "ok"

    client.execute("ask(lambda r: HANG if r.group_id > 'g001' else 'here')", stop_on_error=False)
    end = time.monotonic() + 30
    while not store.exists() or len(answered(store)) < 10:
        assert time.monotonic() < end, "the run does not get on"
        time.sleep(0.05)
    start = time.monotonic()
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=20)["content"]
    assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt")
    assert "10 of 20 questions are answered and kept" in reply["evalue"]
    assert time.monotonic() - start < 5

    shown = []
    done = client.execute_interactive("ask(lambda r: 'there')", timeout=60, output_hook=shown.append)
    assert done["content"]["status"] == "ok"
    assert any("SUMMARY 20 10 10" in m["content"].get("text", "") for m in shown)


def answered(path) -> set[str]:
    with ReplyStore(path, create=False) as store:
        return store.done_keys()
