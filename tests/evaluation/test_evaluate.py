"""evaluate: each question once, one model's trouble never another's, resumable however it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import Counter

import pytest

from signpost_kit.errors import ConfigError, StorageError
from signpost_kit.evaluation import ReplyStore, evaluate, pools, progress
from signpost_kit.models import registry
from signpost_kit.models.base import Answer, ProviderError, Usage
from signpost_kit.models.scripted import HANG, ScriptedProvider

ASK = {"task": "toy", "prompt": "Where?", "progress": False}


def pair(request) -> str:
    return f"{int(request.group_id[1:])}, 20"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    """Pauses between attempts take no time (what they would be is tested in test_asking.py)."""
    real = pools.ask_with_retries

    async def impatient(*args, sleep, **options):
        return await real(*args, sleep=lambda seconds: asyncio.sleep(0), **options)

    monkeypatch.setattr(pools, "ask_with_retries", impatient)


def test_a_run_and_its_repetition(toy, store):
    model = ScriptedProvider(script=pair)
    summary = evaluate(toy(4), {"m": model}, store=store, **ASK)
    assert (summary.planned, summary.asked, summary.reused, summary.ok) == (20, 20, 0, 20)
    assert summary.complete and summary.failures == {} and model.closed == 1
    frame = store.predictions("toy")
    assert len(frame) == 20 and list(frame["lat"][:5]) == [0.0] * 5
    again = evaluate(toy(4), {"m": model}, store=store, **ASK)
    assert (again.asked, again.reused, again.ok) == (0, 20, 20) and len(model.history) == 20
    assert str(again).startswith("toy: 20 rows, 0 asked, 20 reused, 20 ok")


def test_a_larger_benchmark_asks_only_for_what_is_new(toy, store):
    model = ScriptedProvider(script=pair)
    evaluate(toy(2), {"m": model}, store=store, **ASK)
    summary = evaluate(toy(4), {"m": model, "n": model}, store=store, **ASK)
    assert (summary.asked, summary.reused) == (30, 10)
    assert max(Counter(r.key for r in model.history).values()) == 1


def test_what_failed_is_asked_again_only_when_named(toy, store):
    script = {"Original": "1, 2", "Blank": "I cannot tell", "Similar": Answer(None, "refused", "no"), "Random": " "}
    first = ScriptedProvider(script=lambda r: script.get(r.variant, ProviderError("reset", retryable=False)))
    summary = evaluate(toy(2), {"m": first}, store=store, **ASK)
    assert summary.ok == 2 and summary.failures == {"unparseable": 2, "refused": 2, "empty": 2, "error": 2}
    second = ScriptedProvider(script=pair)
    assert evaluate(toy(2), {"m": second}, store=store, **ASK).asked == 0
    summary = evaluate(toy(2), {"m": second}, store=store, retry=("error", "refused"), **ASK)
    assert {r.variant for r in second.history} == {"Similar", "Adversarial"}
    assert (summary.asked, summary.reused, summary.ok) == (4, 6, 6)
    assert summary.failures == {"unparseable": 2, "empty": 2}
    reasons = store.predictions("toy", extra=("reason", "text")).set_index("variant")
    assert reasons.loc["Blank", "reason"].iloc[0] == "no pair of numbers"
    assert reasons.loc["Blank", "text"].iloc[0] == "I cannot tell"


def test_one_picture_in_two_groups_is_asked_once(toy, store):
    model = ScriptedProvider(script=["1, 2"] * 10, concurrency=1)
    summary = evaluate(toy(3, same=(0, 2)), {"m": model}, store=store, **ASK)
    assert (summary.planned, summary.asked, summary.questions, len(store)) == (15, 15, 10, 10)
    assert len(store.predictions("toy")) == 15
    more = evaluate(toy(4, same=(0, 2, 3)), {"m": model}, store=store, **ASK)
    assert (more.asked, more.reused, len(model.history)) == (0, 20, 10)


def test_samples_are_asked_each(toy, store):
    model = ScriptedProvider(script=lambda r: f"{r.sample_index}, 0")
    evaluate(toy(1), {"m": model}, store=store, samples=3, **ASK)
    assert [set(store.predictions("toy", k)["lat"]) for k in range(3)] == [{0.0}, {1.0}, {2.0}]


def test_everything_a_provider_tells_is_kept(toy, store):
    answer = Answer(
        "7, 8", finish_reason="stop", usage=Usage(11, 5, 2), request_id="r-9", attempts=2, price_usd=0.25
    )
    model = ScriptedProvider(script=[answer])
    summary = evaluate(toy(1), {"m": model}, store=store, variants=["Blank"], **ASK)
    reply = store.get(model.history[0].key)
    assert (reply.text, reply.finish_reason, reply.usage) == ("7, 8", "stop", Usage(11, 5, 2))
    assert (reply.request_id, reply.attempts, reply.lat, reply.form) == ("r-9", 2, 7.0, "plain")
    assert reply.latency_s is not None and abs(reply.time - time.time()) < 60
    assert summary.cost_usd == store.spent_usd() == 0.25


def test_a_wrong_key_stops_one_model_at_once_and_no_other(toy, store):
    wrong = ScriptedProvider("paid", [ProviderError("wrong key: set PAID_API_KEY", fatal=True)], concurrency=1)
    right = ScriptedProvider("free", pair)
    summary = evaluate(toy(4), {"w": wrong, "r": right}, store=store, **ASK)
    assert len(wrong.history) == 1 and len(right.history) == 20
    assert summary.stopped == {"w": "wrong key: set PAID_API_KEY"}
    assert (summary.asked, summary.unasked, summary.complete) == (20, 20, False)
    assert set(store.predictions("toy")["model"]) == {"r"}  # no empty rows for what was not asked
    mended = ScriptedProvider("paid", pair)
    assert evaluate(toy(4), {"w": mended, "r": right}, store=store, **ASK).complete
    assert len(mended.history) == 20 and len(right.history) == 20


def test_two_models_in_one_pool_stop_apart(toy, store):
    one = ScriptedProvider("pool", lambda r: ProviderError("unknown model", fatal=True), concurrency=2)
    two = ScriptedProvider("pool", pair, concurrency=2)
    summary = evaluate(toy(4), {"one": one, "two": two}, store=store, **ASK)
    assert len(two.history) == 20 and len(one.history) <= 2 and list(summary.stopped) == ["one"]


def test_an_exception_is_one_failed_row(toy, store):
    def script(request):
        return ZeroDivisionError("oops") if request.variant == "Blank" else pair(request)

    summary = evaluate(toy(2), {"m": ScriptedProvider(script=script)}, store=store, **ASK)
    assert summary.ok == 8 and summary.failures == {"error": 2}
    frame = store.predictions("toy", extra=("reason",))
    assert set(frame.loc[frame["status"] == "error", "reason"]) == {"ZeroDivisionError: oops"}


def test_a_hang_is_an_error_row_after_its_time(toy, store):
    model = ScriptedProvider(script=lambda r: HANG if r.variant == "Blank" else pair(r))
    start = time.perf_counter()
    summary = evaluate(toy(1), {"m": model}, store=store, timeout_s=0.05, attempts=2, **ASK)
    assert summary.failures == {"error": 1} and summary.ok == 4 and time.perf_counter() - start < 2
    assert summary.attempts == 6 and len(model.history) == 6
    frame = store.predictions("toy", extra=("reason",)).set_index("variant")
    assert frame.loc["Blank", "reason"] == "no answer within 0.05 s (after 2 attempts)"


def test_a_status_that_does_not_exist_is_an_error_row(toy, store):
    model = ScriptedProvider(script=lambda r: Answer("1, 2", status="superb"))
    assert evaluate(toy(1), {"m": model}, store=store, **ASK).failures == {"error": 5}


def test_a_slow_provider_does_not_hold_up_a_fast_one(toy, store):
    gate = threading.Event()

    class Slow(ScriptedProvider):
        async def ask(self, request):
            await asyncio.to_thread(gate.wait, 20)  # until the fast one is through
            return await super().ask(request)

    done = []

    def quick(request):
        done.append(request)
        if len(done) == 40:
            gate.set()
        return pair(request)

    slow, fast = Slow("slow", pair, concurrency=2), ScriptedProvider("fast", quick, concurrency=2)
    start = time.perf_counter()
    summary = evaluate(toy(8), {"s": slow, "f": fast}, store=store, **ASK)
    assert summary.ok == 80 and time.perf_counter() - start < 10 and gate.is_set()


def test_concurrency_is_the_providers_own_or_the_callers(toy, tmp_path):
    for given, most in ((None, 3), (2, 2)):
        model = ScriptedProvider(script=pair, concurrency=3, latency_s=0.002)
        evaluate(toy(4), {"m": model}, store=tmp_path / f"{most}.sqlite", concurrency=given, **ASK)
        assert model.most_in_flight == most


def test_it_works_where_an_event_loop_is_running(toy, store):
    async def cell() -> int:
        return evaluate(toy(2), {"m": ScriptedProvider(script=pair)}, store=store, **ASK).ok

    assert asyncio.run(cell()) == 10


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_an_interrupt_returns_at_once_and_leaves_a_resumable_run(toy, store, in_a_loop):
    def script(request):
        if (request.group_id, request.variant) == ("g003", "Original"):
            os.kill(os.getpid(), signal.SIGINT)
        return HANG if request.group_id >= "g003" else pair(request)

    def cell() -> None:
        evaluate(toy(6), {"m": ScriptedProvider(script=script, concurrency=2)}, store=store, **ASK)

    async def looped() -> None:
        cell()

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(looped()) if in_a_loop else cell()
    assert time.perf_counter() - start < 3
    kept = store.done_keys()
    assert 14 <= len(kept) <= 15  # what was answered before
    model = ScriptedProvider(script=pair)
    summary = evaluate(toy(6), {"m": model}, store=store, **ASK)
    assert summary.complete and summary.reused == len(kept)
    assert not kept & {r.key for r in model.history}


def test_a_full_disk_stops_the_asking_and_loses_nothing(toy, store):
    pages = store._writer.submit(lambda db: db.execute("PRAGMA page_count").fetchone()[0]).result()
    limit = f"PRAGMA max_page_count = {pages + 4}"
    store._writer.submit(lambda db: db.execute(limit).fetchone()).result()
    model = ScriptedProvider(script=lambda r: pair(r) + " " * 2000, concurrency=2)
    with pytest.raises(StorageError, match="the disk is full"):
        evaluate(toy(20), {"m": model}, store=store, **ASK)
    kept = store.done_keys()
    assert 0 < len(kept) < 100 and len(model.history) <= len(kept) + 4 and model.closed == 1
    store._writer.submit(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone()).result()
    again = ScriptedProvider(script=pair)
    assert evaluate(toy(20), {"m": again}, store=store, **ASK).complete
    assert not kept & {r.key for r in again.history}


def test_missing_pictures_are_reported(toy, store):
    benchmark = toy(2)
    benchmark.image_path(benchmark.groups[0], "Blank").unlink()
    summary = evaluate(benchmark, {"m": ScriptedProvider(script=pair)}, store=store, **ASK)
    assert summary.asked == 9 and [(m.group_id, m.variant) for m in summary.missing] == [("g000", "Blank")]
    assert "1 pictures missing" in str(summary)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "toys"}, "unknown task 'toys'; known tasks: coordinate"),
        ({"retry": ("eror",)}, "'eror'; allowed"),
        ({"timeout_s": 0}, "must be above 0"),
        ({"concurrency": 0}, "at least 1"),
        ({"models": ["scripded-model"]}, "unknown model 'scripded-model': did you mean scripted-model"),
        ({"variants": ["Blanc"]}, "unknown variant 'Blanc'"),
    ],
)
def test_wrong_options_end_before_anything_is_asked(toy, tmp_path, monkeypatch, options, message):
    monkeypatch.setattr(registry, "_load_builtin", lambda: None)
    monkeypatch.setattr(registry, "_specs", dict)
    monkeypatch.setitem(registry._FACTORIES, "scripted-model", lambda: pytest.fail("it was set up"))
    path = tmp_path / "r.sqlite"
    with pytest.raises(ConfigError, match=message):
        evaluate(toy(1), **({"models": ["scripted-model"], "store": path} | ASK | options))
    assert not path.exists()


def test_registered_models_are_set_up_only_when_something_is_left_to_ask(toy, store, monkeypatch):
    made = []

    def factory() -> ScriptedProvider:
        made.append(ScriptedProvider(script=pair))
        return made[-1]

    monkeypatch.setattr(registry, "_load_builtin", lambda: None)
    monkeypatch.setattr(registry, "_specs", dict)
    monkeypatch.setitem(registry._FACTORIES, "scripted-model", factory)
    for _ in range(2):
        assert evaluate(toy(1), ["scripted-model"], store=store, **ASK).ok == 5
    assert len(made) == 1


def test_a_store_given_by_its_path_is_closed_again(toy, tmp_path):
    evaluate(toy(1), {"m": ScriptedProvider(script=pair)}, store=tmp_path / "r.sqlite", **ASK)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["benchmark", "r.sqlite"]
    with ReplyStore(tmp_path / "r.sqlite", create=False) as store:
        assert len(store) == 5


def test_a_provider_that_will_not_close_costs_nothing(toy, store):
    class Stubborn(ScriptedProvider):
        async def close(self):
            raise RuntimeError("no")

    assert evaluate(toy(1), {"m": Stubborn(script=pair)}, store=store, **ASK).ok == 5


def test_progress_tells_rate_time_left_failures_and_money(toy, store, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.0)
    script = [Answer("1, 2", price_usd=0.5), Answer(None, "refused"), *[HANG] * 3]
    model = ScriptedProvider(script=script, concurrency=1)
    evaluate(
        toy(1), {"m": model}, store=store, timeout_s=0.25, attempts=1, task="toy", prompt="Where?", progress=None
    )
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert any(line.startswith("toy: 2/5, ") and "failed 1 (1 refused), $0.5000" in line for line in lines)
    assert all("/s, " in line and " left, failed " in line for line in lines)


def test_a_bar_is_drawn_when_asked_for(toy, store, capsys):
    evaluate(toy(1), {"m": ScriptedProvider(script=pair)}, store=store, **(ASK | {"progress": True}))
    assert "5/5" in capsys.readouterr().err
    evaluate(toy(2), {"m": ScriptedProvider(script=pair)}, store=store, **ASK)
    assert capsys.readouterr().err == ""
