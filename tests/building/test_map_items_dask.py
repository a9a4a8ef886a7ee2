"""map_items on a real Dask scheduler and worker, started here on loopback."""

from __future__ import annotations

import socket
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from signpost_kit.errors import ConfigError, MissingExtraError
from signpost_kit.mapping import Journal, check_compute, map_items
from signpost_kit.profile_sections import Compute

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

import mapped_work as work  # noqa: E402
from dask_cluster import running, start_scheduler, start_worker, stop  # noqa: E402

quiet = partial(map_items, progress=False)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with running(tmp_path_factory.mktemp("dask")) as address:
        yield address


def test_a_cluster_gives_what_a_plain_loop_gives_in_its_order(cluster):
    here = list(quiet(work.busy_square, range(60), scheduler="serial"))
    there = list(quiet(work.busy_square, range(60), scheduler=cluster))
    assert here == there and len(there) == 60
    assert list(quiet(work.square, [], scheduler=cluster)) == []


def test_errors_come_back_as_they_are(cluster):
    seen = []
    with pytest.raises(ConfigError, match="because of ConfigError") as caught:
        for outcome in quiet(work.raises, ["a", "b", "ConfigError", "c"], scheduler=cluster):
            seen.append(outcome.value)
    assert seen == ["a", "b"]
    assert "mapped_work.py" in str(caught.value.__cause__)


def test_items_are_taken_only_as_others_are_finished(cluster):
    taken = []

    def items():
        for number in range(10_000):
            taken.append(number)
            yield number * 7

    outcomes = quiet(work.square, items(), scheduler=cluster, window=6)
    for number, outcome in zip(range(40), outcomes, strict=False):
        assert outcome.value == (7 * number) ** 2
        assert len(taken) <= number + 6
    outcomes.close()


def test_finished_work_is_kept_and_nothing_stays_on_the_cluster(cluster, tmp_path):
    from distributed import Client

    function = partial(work.slow_double, str(tmp_path / "calls"), 0.01)
    with Journal(tmp_path / "j.sqlite", key=lambda n: (str(n), "")) as journal:
        for outcome in quiet(function, range(40), scheduler=cluster, journal=journal):
            if outcome.index == 9:
                break
        kept = len(journal)
        assert kept >= 10
        calls = [o.kept for o in quiet(function, range(40), scheduler=cluster, journal=journal)]
    assert sum(calls) >= kept and calls[:10] == [True] * 10
    with Client(cluster, set_as_default=False, timeout=5) as client:
        plugins = client.run(lambda dask_worker: [name for name in dask_worker.plugins if "signpost" in name])
        assert list(plugins.values()) == [[]]
        assert not client.run_on_scheduler(
            lambda dask_scheduler: [k for k in dask_scheduler.tasks if "signpost" in k]
        )


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX")
def test_an_item_that_kills_the_workers_is_named_and_the_others_are_done(cluster, tmp_path):
    items = ["a", "once", "b", "always", "c"]
    outcomes = list(quiet(partial(work.dies, str(tmp_path / "calls")), items, scheduler=cluster, window=1))
    assert [o.value for o in outcomes] == ["A", "ONCE", "B", None, "C"]
    assert "workers died each time" in outcomes[3].error


def test_checks_before_a_run(cluster, tmp_path, monkeypatch):
    check_compute(Compute(scheduler=cluster), tmp_path)
    with pytest.raises(ConfigError, match="does not see the folder"):
        check_compute(Compute(scheduler=cluster), tmp_path / "absent")
    monkeypatch.setattr("signpost_kit.__version__", "9.9.9")
    with pytest.raises(ConfigError, match=r"has signpost_kit .*, here 9\.9\.9: install the same there"):
        list(quiet(work.square, [1], scheduler=cluster))


def test_a_function_that_is_not_installed_there(cluster, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def work(item):\n    return item\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here  # type: ignore[import-not-found]

    with pytest.raises(ConfigError, match=r"cannot load the function .*only_here.*installed there"):
        list(quiet(only_here.work, [1], scheduler=cluster))


def test_no_scheduler_there():
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # taken, but nobody listens
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        start_s = time.monotonic()
        with pytest.raises(ConfigError, match=rf"no Dask scheduler answers at {address}.*dask scheduler"):
            list(quiet(work.square, [1], scheduler=address))
        assert time.monotonic() - start_s < 15
    with pytest.raises(ConfigError, match="no Dask scheduler answers"):
        list(quiet(work.square, [1], scheduler="tcp://nonsense"))


def test_a_scheduler_without_workers_and_one_that_goes_away(tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    monkeypatch.setattr("signpost_kit.mapping.cluster._WORKERS_S", 0.2)
    monkeypatch.setattr("signpost_kit.mapping.cluster._LOST_S", 2.0)
    scheduler, address = start_scheduler(tmp_path)
    try:
        with pytest.raises(ConfigError, match="has no worker: start `dask worker"):
            list(quiet(work.square, [1], scheduler=address))
        monkeypatch.setattr("signpost_kit.mapping.cluster._WORKERS_S", 60)
        worker = start_worker(tmp_path, address)
        function, yielded = partial(work.slow_double, str(tmp_path / "calls"), 0.02), []
        try:
            with pytest.raises(ConfigError, match="run again, finished work is kept"):
                for outcome in quiet(function, range(10_000), scheduler=address):
                    yielded.append(outcome)
                    if outcome.index == 5:
                        scheduler.kill()
            assert len(yielded) >= 6
        finally:
            stop(worker)
    finally:
        stop(scheduler)


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'signpost_kit\[dask\]'"):
        list(quiet(work.square, [1], scheduler="tcp://127.0.0.1:8786"))
