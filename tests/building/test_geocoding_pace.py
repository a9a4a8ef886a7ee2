"""One request a second, whichever process asks: counted by the server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "geocoder_server"))

from geocoder_stand_in import GeocoderServer, Step

from signpost_kit.errors import StorageError
from signpost_kit.geocoding.base import GeocodingStopped
from signpost_kit.geocoding.cache import GeocodeCache
from signpost_kit.geocoding.pace import Pace

CHILD = Path(__file__).parent / "geocoder_server" / "geocoding_child.py"


class Clock:
    """Time that passes only by waiting."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def _pace(folder: Path, clock: Clock, interval: float = 1.0) -> Pace:
    return Pace(folder / "pace.json", interval, clock=clock, sleep=clock.sleep)


def _ask(pace: Pace, clock: Clock, takes: float = 0.0) -> float:
    """When the request went out."""
    sent: list[float] = []

    def send() -> None:
        sent.append(clock.now)
        clock.now += takes

    with pace.turn() as turn:
        turn.request(send)
    return sent[0]


def test_the_pause_counts_from_the_reply(tmp_path):
    clock = Clock()
    first = _ask(_pace(tmp_path, clock), clock, takes=0.7)
    second = _ask(_pace(tmp_path, clock), clock)  # another object, as in another process
    assert 1.7 <= second - first < 1.9
    assert not clock.waits[:-1], "the first request had nothing to wait for"


def test_a_second_request_in_the_same_turn_waits_too(tmp_path):
    clock, sent = Clock(), []
    with _pace(tmp_path, clock).turn() as turn:
        turn.request(lambda: sent.append(clock.now))
        turn.request(lambda: sent.append(clock.now))
    assert 1.0 <= sent[1] - sent[0] < 1.2


def test_whoever_died_while_asking_costs_a_full_pause(tmp_path):
    clock = Clock()
    pace = _pace(tmp_path, clock)
    pace.note(open=True)
    clock.now += 30  # the request may have reached the server just now
    died = clock.now
    assert _ask(pace, clock) - died >= 1.0
    (tmp_path / "pace.json").write_text('{"last": 18000', encoding="utf-8")
    cut = clock.now
    assert _ask(pace, clock) - cut >= 1.0


def test_a_failed_request_counts_like_any_other(tmp_path):
    clock = Clock()
    pace = _pace(tmp_path, clock)
    with pytest.raises(ValueError, match="broken"), pace.turn() as turn:
        turn.request(lambda: (_ for _ in ()).throw(ValueError("broken")))
    failed = clock.now
    assert _ask(pace, clock) - failed >= 1.0


def test_a_pause_that_the_server_wants_holds_for_everybody(tmp_path):
    clock = Clock()
    with _pace(tmp_path, clock).turn() as turn:
        turn.hold_off(42)
    told = clock.now
    assert 42 <= _ask(_pace(tmp_path, clock), clock) - told < 43
    with _pace(tmp_path, clock).turn() as turn:
        turn.hold_off(7200)
    with pytest.raises(GeocodingStopped, match="pause of 120 minutes: run again after 20"):
        _ask(_pace(tmp_path, clock), clock)


def test_a_clock_set_back_does_not_mean_waiting_for_hours(tmp_path):
    clock = Clock()
    pace = _pace(tmp_path, clock)
    _ask(pace, clock)
    clock.now -= 36_000
    before = clock.now
    assert _ask(pace, clock) - before < 1.1
    state = json.loads((tmp_path / "pace.json").read_text(encoding="utf-8"))
    (tmp_path / "pace.json").write_text(json.dumps(state | {"until": clock.now + 1e9}), encoding="utf-8")
    before = clock.now
    assert _ask(pace, clock) - before < 2.2


def test_the_lock_is_free_again_after_an_error_and_never_held_while_waiting(tmp_path):
    clock = Clock()
    pace = _pace(tmp_path, clock)
    with pytest.raises(KeyboardInterrupt), pace.turn():
        raise KeyboardInterrupt
    _ask(pace, clock)
    other, sent = _pace(tmp_path, clock), []

    def sleep(left: float) -> None:
        clock.sleep(left)
        if not sent:
            sent.append(_ask(other, clock))  # another gets in while this one waits

    pace.sleep = sleep
    assert _ask(pace, clock) - sent[0] >= 1.0


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot write"), Pace(tmp_path / "file" / "pace.json", 1.0).turn():
        pass


def _children(server, tmp_path, interval, ranges):
    go = tmp_path / "go"
    ready = [tmp_path / f"ready-{number}-{time.monotonic_ns()}" for number in range(len(ranges))]
    settings = [server.url, str(tmp_path / "answers.sqlite"), str(interval)]
    children = [
        subprocess.Popen(
            [sys.executable, str(CHILD), *settings, str(first), str(last), str(file), str(go)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for (first, last), file in zip(ranges, ready, strict=True)
    ]
    end = time.monotonic() + 60
    while not all(file.exists() for file in ready) and time.monotonic() < end:
        time.sleep(0.002)
    go.touch()  # both are ready: a busy machine must not let one finish before the other begins
    return children


def test_two_processes_never_exceed_one_request_a_second(tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "cache"))
    with GeocoderServer(steps={"*": [Step(delay_s=0.15)] * 3}) as server:
        children = _children(server, tmp_path, 1.0, [(0, 3), (10, 13)])
        for child in children:
            out, error = child.communicate(timeout=60)
            assert child.returncode == 0 and len(out.splitlines()) == 3, error
    assert len(server.seen) == 6
    assert min(server.gaps) >= 1.0, server.gaps
    assert max(seen.at_once for seen in server.seen) == 1
    # They took turns: neither waited until the other had finished.
    tens = [int(query.split()[1]) >= 10 for query in server.queries]
    assert sum(a != b for a, b in pairwise(tens)) >= 2, server.queries


def test_two_processes_with_the_same_texts_ask_each_once(tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "cache"))
    with GeocoderServer(steps={"*": [Step(delay_s=0.02)] * 40}) as server:
        children = _children(server, tmp_path, 0.05, [(0, 20), (0, 20)])
        for child in children:
            out, error = child.communicate(timeout=60)
            assert child.returncode == 0 and len(out.splitlines()) == 20, error
    assert Counter(server.queries).most_common(1)[0][1] == 1 and len(server.seen) == 20
    assert min(server.gaps) >= 0.05
    with GeocodeCache(tmp_path / "answers.sqlite") as cache:
        assert len(cache) == 20


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_kill_in_the_middle_resumes_without_asking_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SIGNPOST_CACHE", str(tmp_path / "cache"))
    with GeocoderServer(steps={"place 7": [Step(delay_s=5)]}) as server:
        (child,) = _children(server, tmp_path, 0.02, [(0, 12)])
        end = time.monotonic() + 30
        while "Place 7" not in server.queries and time.monotonic() < end:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)  # while the request for 7 is under way
        child.communicate(timeout=10)
        (child,) = _children(server, tmp_path, 0.02, [(0, 12)])
        out, error = child.communicate(timeout=60)
        assert child.returncode == 0, error
    assert [line.split()[0] for line in out.splitlines()] == [str(n) for n in range(12)]
    counts = Counter(server.queries)
    assert counts.pop("Place 7") == 2 and set(counts.values()) == {1}
