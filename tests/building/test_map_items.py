"""map_items: the same outcomes, in order, wherever the calls are made; errors, laziness, deaths, interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from signpost_kit.errors import ConfigError, DataError, MissingExtraError, ModelError, StorageError
from signpost_kit.mapping import Outcome, check_compute, check_scheduler, item_name, map_items
from signpost_kit.profile_sections import Compute

HERE = Path(__file__).parent
if str(HERE) not in sys.path:  # worker processes get the path too
    sys.path.insert(0, str(HERE))

import mapped_work as work  # noqa: E402

LOCAL = ["serial", "threads", "processes"]
quiet = partial(map_items, progress=False, workers=2)


def wait_for(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not get on"
        time.sleep(0.002)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("scheduler", LOCAL)
def test_every_scheduler_gives_what_a_plain_loop_gives_in_its_order(scheduler):
    got = list(quiet(work.busy_square, range(60), scheduler=scheduler))
    wanted = [Outcome(n, n, error=f"{n} is not wanted") if n % 7 == 3 else Outcome(n, n, n * n) for n in range(60)]
    assert got == wanted
    assert [outcome.ok for outcome in got] == [n % 7 != 3 for n in range(60)]


@pytest.mark.parametrize("scheduler", LOCAL)
def test_no_item_and_one_item(scheduler):
    assert list(quiet(work.square, [], scheduler=scheduler)) == []
    assert list(quiet(work.square, iter([5]), scheduler=scheduler)) == [Outcome(0, 5, 25)]


KINDS = [ConfigError, MissingExtraError, ModelError, StorageError, ValueError]


@pytest.mark.parametrize(
    ("scheduler", "kind"),
    [(s, k) for s in ("serial", "threads") for k in KINDS]
    + [("processes", StorageError), ("processes", ValueError)],
)
def test_any_error_but_a_data_error_ends_the_call_after_the_items_before(scheduler, kind):
    items = ["a", "b", kind.__name__, *"cdefghij"]
    seen = []
    with pytest.raises(kind, match=f"because of {kind.__name__}") as caught:
        for outcome in quiet(work.raises, items, scheduler=scheduler):
            seen.append(outcome.value)
    assert seen == ["a", "b"]
    if kind is ValueError and sys.version_info >= (3, 11):
        assert "while working on ValueError" in caught.value.__notes__
    if scheduler == "processes":
        assert "mapped_work.py" in str(caught.value.__cause__), "where it was raised, in the worker, is lost"


def test_after_an_error_nothing_new_begins():
    began = []

    def function(number: int) -> int:
        began.append(number)
        if number == 1:
            raise ConfigError("no key")
        time.sleep(1.2 if number == 0 else 0.15)
        return number

    seen = []
    with pytest.raises(ConfigError, match="no key"):
        for outcome in quiet(function, range(16), scheduler="threads"):
            seen.append(outcome.value)
    assert seen == [0]
    assert len(began) < 7, "the other thread went on while the first item was under way"


def test_an_error_of_the_items_themselves_comes_after_the_items_before():
    def items():
        yield 1
        yield 2
        raise DataError("line 3 is torn")

    seen = []
    with pytest.raises(DataError, match="line 3 is torn"):
        for outcome in quiet(work.square, items(), scheduler="threads"):
            seen.append(outcome.value)
    assert seen == [1, 4]


@pytest.mark.parametrize("scheduler", LOCAL)
def test_items_are_taken_only_as_others_are_finished(scheduler):
    taken = []

    def items():
        for number in range(10_000):
            taken.append(number)
            yield number * 7

    outcomes = quiet(work.square, items(), scheduler=scheduler, window=6)
    assert taken == [], "something was taken before anything was asked for"
    for number, outcome in zip(range(100), outcomes, strict=False):
        assert outcome.index == number
        assert len(taken) <= number + 6
    outcomes.close()
    assert len(taken) <= 106


def test_one_slow_item_does_not_stop_the_others():
    release, others = threading.Event(), []

    def function(number: int) -> int:
        if number == 0:
            assert release.wait(30)
        else:
            others.append(number)
            if len(others) == 15:  # the whole window but the slow one: 8 per worker
                release.set()
        return number

    assert [o.value for o in quiet(function, range(30), scheduler="threads")] == list(range(30))


def test_workers_work_at_the_same_time():
    barrier = threading.Barrier(3, timeout=30)
    function = lambda number: barrier.wait() >= 0 and number  # noqa: E731
    assert [o.value for o in map_items(function, range(3), workers=3, progress=False)] == [0, 1, 2]


def test_leaving_the_loop_early_cancels_what_waits():
    started = []

    def function(number: int) -> int:
        started.append(number)
        time.sleep(0.01)
        return number

    for outcome in quiet(function, range(1000), scheduler="threads"):
        if outcome.index == 2:
            break
    assert len(started) < 3 + 16 + 2
    assert not [t for t in threading.enumerate() if t.name.startswith("signpost")]


def test_calls_under_way_can_be_told_to_stop():
    stop, stops = threading.Event(), []

    def function(number: int) -> int:
        if number == 1:
            raise ConfigError("no server")
        assert number == 0 or stop.wait(30), "it was waited for"
        return number

    def on_stop() -> None:
        stops.append(1)
        stop.set()

    with pytest.raises(ConfigError, match="no server"):
        list(quiet(function, range(4), scheduler="threads", on_stop=on_stop))
    for outcome in quiet(function, [0, 0, 0], scheduler="serial", on_stop=on_stop):
        if outcome.index == 1:
            break
    assert len(stops) == 2
    for items in ([], [0], [0] * 30):
        list(quiet(function, items, scheduler="threads", on_stop=on_stop))
    assert len(stops) == 2, "it ended as it should"


@pytest.mark.parametrize("scheduler", ["processes", "tcp://127.0.0.1:1"])
def test_what_cannot_be_sent_is_said_before_anything_starts(scheduler):
    with pytest.raises(ConfigError, match=r"cannot send .*<lambda>.*top of a module.*'threads'"):
        map_items(lambda item: item, [1], scheduler=scheduler)
    with pytest.raises(ConfigError, match="top of a module"):
        map_items(partial(work.dies, threading.Lock()), [1], scheduler=scheduler)  # type: ignore[arg-type]


def test_items_and_values_that_cannot_be_sent():
    with pytest.raises(ConfigError, match=r"the item .*lambda.* cannot be sent"):
        list(quiet(work.square, [lambda: 0], scheduler="processes"))
    with pytest.raises(ConfigError, match="returned a function, which cannot be sent back"):
        list(quiet(work.returns_odd, [1], scheduler="processes"))


def test_an_exception_that_no_pickle_brings_back_is_still_told():
    with pytest.raises(RuntimeError, match="TwoArguments: one") as caught:
        list(quiet(work.raises_odd, [1], scheduler="processes"))
    assert "raises_odd" in str(caught.value.__cause__)


def test_a_worker_cannot_have_workers():
    with pytest.raises(ConfigError, match="cannot have workers of its own"):
        list(quiet(work.maps_again, [4], scheduler="processes"))


def test_processes_are_others_and_use_one_thread_each():
    outcomes = list(quiet(work.threads_of_libraries, range(4), scheduler="processes"))
    for outcome in outcomes:
        cv2_threads, pools, process = outcome.value
        assert cv2_threads == 1 and set(pools) <= {1} and pools
        assert process != str(os.getpid())


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX")
def test_an_item_whose_worker_is_killed_is_tried_once_more_and_then_named(tmp_path):
    log = tmp_path / "calls"
    items = ["a", "once", "b", "always", *"cdefgh"]
    outcomes = list(quiet(partial(work.dies, str(log)), items, scheduler="processes"))
    assert [o.item for o in outcomes] == items
    assert [o.value for o in outcomes] == ["A", "ONCE", "B", None, *"CDEFGH"]
    assert "died twice" in outcomes[3].error and "SIGKILL" in outcomes[3].error
    assert all(o.ok for o in outcomes if o.item != "always")
    calls = lines(log)
    assert calls.count("once") == calls.count("always") == 2
    assert all(calls.count(name) == 1 for name in "abcdefgh")


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX")
def test_when_every_worker_dies_the_call_ends(tmp_path):
    function = partial(work.dies, str(tmp_path / "calls"))
    with pytest.raises(ConfigError, match=r"worker processes died one after the other.*compute\.workers"):
        list(quiet(function, ["always"] * 50, scheduler="processes"))
    assert len(lines(tmp_path / "calls")) < 12


def test_no_worker_outlives_the_call_and_none_leaves_half_a_file(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED.format(here=str(HERE), folder=str(tmp_path))],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: len(lines(tmp_path / "began")) == 2)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all of them
    said = child.communicate(timeout=20)[1]
    assert child.returncode == 130
    assert said == "", "workers do not heed the keyboard; the parent ends them"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["began"]


_INTERRUPTED = """
import sys; sys.path.insert(0, {here!r})
from functools import partial
import mapped_work as work
from signpost_kit.mapping import map_items
try:
    list(map_items(partial(work.leaves_a_file, {folder!r}), "ab", scheduler="processes", workers=2, progress=False))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("mode", ["serial", "threads", "processes"])
@pytest.mark.skipif(sys.platform == "win32", reason="signals are a matter of POSIX")
def test_an_interrupt_ends_the_call_and_leaves_what_is_finished(tmp_path, mode):
    child = subprocess.Popen([sys.executable, str(HERE / "mapped_work.py"), mode, str(tmp_path)])
    wait_for(lambda: len(lines(tmp_path / "yielded")) >= 8)
    child.send_signal(signal.SIGINT)
    assert child.wait(30) == 130
    told = lines(tmp_path / "yielded")
    assert told[-1] == "interrupted"
    began = [line for line in lines(tmp_path / "calls") if line.startswith("begin")]
    assert len(told) - 1 <= len(began) < 40
    finished = {line.split()[1] for line in lines(tmp_path / "calls") if line.startswith("end")}
    check_resumed(tmp_path, mode, at_least=finished if mode == "threads" else {t.split()[0] for t in told[:-1]})


@pytest.mark.parametrize("mode", ["serial", "threads", "processes"])
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX")
def test_after_a_kill_only_what_is_missing_is_done(tmp_path, mode):
    child = subprocess.Popen([sys.executable, str(HERE / "mapped_work.py"), mode, str(tmp_path)])
    wait_for(lambda: len(lines(tmp_path / "yielded")) >= 11)
    child.kill()
    child.wait(30)
    check_resumed(tmp_path, mode, at_least={line.split()[0] for line in lines(tmp_path / "yielded")})


def check_resumed(folder: Path, mode: str, at_least: set[str]) -> None:
    """The second run does not call what the first had finished, calls the rest once, and yields all 40 in order."""
    wait_for(lambda: quiet_since(folder / "calls"))  # workers of a killed parent finish their item and leave
    for name in ("calls", "yielded"):
        (folder / name).rename(folder / f"first-{name}")
    first = [line.split()[1] for line in lines(folder / "first-calls") if line.startswith("begin")]
    subprocess.run([sys.executable, str(HERE / "mapped_work.py"), mode, str(folder)], check=True, timeout=60)
    second = [line.split()[1] for line in lines(folder / "calls") if line.startswith("begin")]
    assert not set(second) & at_least, "finished work was done again"
    assert len(second) == len(set(second)) < 40
    assert set(first) | set(second) == {str(n) for n in range(40)}
    assert len(set(first) & set(second)) <= 3, "more than what was under way was done twice"
    assert lines(folder / "yielded") == [f"{n} {2 * n}" for n in range(40)]


def quiet_since(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > 0.2


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from signpost_kit.errors import ConfigError\nfrom signpost_kit.mapping import map_items\n"
        "try:\n    list(map_items(abs, [1], scheduler='processes', progress=False))\n"
        "except ConfigError as error:\n    print(error)\n    raise SystemExit(7)\n"
    )
    done = subprocess.run([sys.executable, str(script)], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 7
    assert "if __name__ == " in done.stdout


def test_a_notebook_uses_processes_and_is_told_about_its_own_functions(tmp_path):
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook

    cells = [
        "import math\nfrom signpost_kit.mapping import map_items",
        "[o.value for o in map_items(math.sqrt, [4, 9], scheduler='processes', workers=1, progress=False)]",
        "from signpost_kit.errors import ConfigError\ndef mine(item): return item\n"
        "try:\n    map_items(mine, [1], scheduler='processes')\nexcept ConfigError as error:\n    print(error)",
    ]
    book = new_notebook(cells=[new_code_cell(source) for source in cells])
    NotebookClient(
        book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert book.cells[1].outputs[0]["data"]["text/plain"] == "[2.0, 3.0]"
    assert "which this notebook defines" in book.cells[2].outputs[0]["text"]


@pytest.mark.parametrize("scheduler", ["thread", "dask", "127.0.0.1:8786", ""])
def test_unknown_schedulers(scheduler):
    with pytest.raises(ConfigError, match=r"serial, threads, processes.*tcp://host:port"):
        check_scheduler(scheduler)


def test_bounds_of_the_options():
    with pytest.raises(ConfigError, match="workers must be at least 1, got 0"):
        map_items(work.square, [1], workers=0)
    with pytest.raises(ConfigError, match="window must be at least 1, got 0"):
        map_items(work.square, [1], window=0)
    check_compute(Compute())
    check_compute(Compute(scheduler="processes", workers=3))


def test_the_bar_tells_total_failures_and_what_was_kept(capsys):
    list(map_items(work.square, range(20), describe="squaring", unit="number"))
    shown = capsys.readouterr().err
    assert "squaring" in shown and "20/20" in shown and "number/s" in shown and "failed=3" in shown
    list(map_items(work.square, (n for n in range(4)), total=4))
    assert "4/4" in capsys.readouterr().err
    list(map_items(work.square, range(20), progress=False))
    assert capsys.readouterr().err == ""


def test_names_of_items():
    from signpost_kit.benchmark import Group

    assert item_name(Group("g1", "d", 0, 0)) == "g1"
    assert item_name(Group("g1", "d", 0, 0, source_id="IMG/1.jpg")) == "IMG/1.jpg"
    assert item_name(Path("a") / "b.png") == str(Path("a") / "b.png")
    assert item_name({"x": 1}) == "{'x': 1}"
    assert len(item_name("x" * 50)) == 50 and len(item_name(list(range(1000)))) <= 120


def test_outcomes_are_plain():
    assert (
        json.dumps(Outcome(0, "a", 1).__dict__)
        == '{"index": 0, "item": "a", "value": 1, "error": "", "kept": false}'
    )
