"""Batches through the real SDKs against each wire format: sent once, collected once, failures asked directly."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_server import step
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent / "servers_batch"))

from batch_boxes import BOXES, as_json

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.evaluation import BatchOptions, ReplyStore, evaluate, make_plan
from signpost_kit.evaluation.batch_apis import batch_api
from signpost_kit.evaluation.cost import estimate
from signpost_kit.files import hash_bytes
from signpost_kit.models.catalogue import Price
from signpost_kit.models.client import make_client

KEY = "sk-planted-0123456789abcdefXYZ"
WIRES = tuple(BOXES)
PRICE = Price(input=2.0, output=8.0, batch_discount=0.5, date="2026-01", source="a test")


@pytest.fixture
def scenes(tmp_path: Path) -> Benchmark:
    """Six groups with one picture each."""
    groups, rng = [], np.random.default_rng(1)
    (tmp_path / "b").mkdir()
    for i in range(6):
        pixels = rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "b" / f"secret-{i}.jpg", quality=60)
        groups.append(Group(f"g{i}", "d", 1.0, 2.0, images={"Original": f"secret-{i}.jpg"}))
    return Benchmark("b", tuple(groups), tmp_path / "b")


@pytest.fixture
def setting(serve, spec_for, scenes, tmp_path):
    """setting(wire, outcome, ...) -> (ask, server, box); ask(...) evaluates on one store, and sleeps no time."""

    def make(wire: str, outcome: Callable[[str], str] = lambda key: "ok", *, looks: int = 1):
        server = serve(wire)
        box = BOXES[wire](server, outcome, looks=looks)
        spec = spec_for(wire, price=PRICE, image_tokens="gemini-1120")

        def ask(**options: Any):
            pauses = options.pop("pauses", [])

            async def sleep(seconds: float) -> None:
                pauses.append(seconds)
                await asyncio.sleep(0)

            client = make_client(spec, key=KEY, base_url=server.url)
            given = {"batch": True, "variants": ["Original"], "prompt": "Where is this?", "progress": False}
            with ReplyStore(tmp_path / "r.sqlite") as store:
                summary = evaluate(
                    options.pop("scenes", scenes), {"m": client}, store=store, sleep=sleep, **(given | options)
                )
                frame = store.predictions(extra=("notes", "price_usd", "key", "reason"))
                return summary, frame, store.batches.open()

        return ask, server, box

    return make


class Asked:
    """The prompt that `ask` uses."""

    text = "Where is this?"
    hash = hash_bytes(text.encode())


def direct(server) -> int:
    """How many questions were asked directly."""
    return sum(call.step is not None for call in server.calls)


@pytest.mark.parametrize("wire", WIRES)
def test_a_batch_from_beginning_to_end(setting, wire):
    ask, server, box = setting(wire, looks=3)
    pauses: list[float] = []
    summary, frame, left = ask(pauses=pauses)
    assert (summary.ok, summary.failures, summary.stopped, summary.batched, left) == (6, {}, {}, 0, [])
    assert direct(server) == 0 and len(box.batches) == 1 and len(box.keys) == 6
    assert sorted(box.keys) == sorted(frame["key"]) and (frame["lat"] == 48.8584).all()
    assert len(pauses) == 2 and pauses == [10.0, 15.0]  # it waits longer each time
    half = (812 - 128) * 2 + 128 * 2 + 34 * 8
    assert frame["price_usd"].to_list() == pytest.approx([half / 2e6] * 6)
    assert summary.cost_usd == pytest.approx(6 * half / 2e6)
    assert all(f'"batch": "{"batches/" if wire == "google" else ""}batch_1"' in notes for notes in frame["notes"])
    again, _, _ = ask()
    assert (again.reused, len(box.batches)) == (6, 1)


@pytest.mark.parametrize("wire", WIRES)
def test_nothing_of_the_users_is_in_what_is_sent(setting, wire):
    ask, server, box = setting(wire)
    ask()
    sent = b"".join(call.body for call in server.calls)
    assert b"secret" not in sent and KEY.encode() not in sent and sent.count(b"Where is this?") == 6
    if wire == "openai":
        assert box.deleted == ["file-1"]  # the pictures do not stay there


OUTCOMES = ("ok", "refused", "empty", "expired", "refused_line", "missing", "empty_length")


@pytest.mark.parametrize("wire", WIRES)
def test_what_failed_in_a_batch_is_asked_directly(setting, scenes, wire):
    kinds: dict[str, str] = {}
    ask, server, box = setting(wire, lambda key: kinds.setdefault(key, OUTCOMES[len(kinds) % 7]))
    first, second = scenes.groups[0], scenes.groups[1]
    (scenes.root / "seventh.jpg").write_bytes((scenes.root / second.images["Original"]).read_bytes() + b" ")
    more = replace(
        scenes, groups=(*scenes.groups, replace(first, group_id="g7", images={"Original": "seventh.jpg"}))
    )
    summary, frame, left = ask(scenes=more)
    assert left == [] and summary.complete and len(kinds) == 7 == len(set(box.keys))
    said = {kinds[key]: status for key, status in zip(frame["key"], frame["status"], strict=True)}
    declined = "blocked" if wire == "google" else "refused"
    assert said == dict.fromkeys(OUTCOMES, "ok") | {"refused": declined, "empty": "empty"}
    assert direct(server) == 4 and len(box.batches) == 1
    budgets = sorted(
        next(v for k, v in call.json.get("generationConfig", call.json).items() if "oken" in k)
        for call in server.calls
        if call.step is not None
    )
    assert budgets == [1024, 1024, 1024, 2048]  # the cut-off one goes on with twice the tokens
    notes = {kinds[key]: note for key, note in zip(frame["key"], frame["notes"], strict=True)}
    prices = {kinds[key]: usd for key, usd in zip(frame["key"], frame["price_usd"], strict=True)}
    assert '"cut_off_at": "1024"' in notes["empty_length"] and '"batch"' not in notes["expired"]
    assert prices["empty_length"] == pytest.approx(3 * prices["ok"])  # half a price, and a whole one
    assert prices["expired"] == pytest.approx(2 * prices["ok"])
    assert summary.cost_usd == pytest.approx(sum(prices.values()))


@pytest.mark.parametrize("wire", WIRES)
def test_a_run_that_does_not_wait_is_collected_by_a_later_one(setting, wire, scenes, tmp_path):
    ask, server, box = setting(wire, looks=2)
    summary, frame, left = ask(batch=BatchOptions(wait_s=0))
    assert (summary.ok, summary.batched, summary.unasked, len(frame)) == (0, 6, 6, 0)
    assert "6 under way in batches, run again to collect them" in str(summary) and len(left) == 1
    with ReplyStore(tmp_path / "r.sqlite") as store:
        plan = make_plan(scenes, ["m"], prompt=Asked(), variants=["Original"])
        (row,) = estimate(plan, {}, store).to_dict("records")
    assert (row["requests"], row["done"]) == (0, 0) and row["note"] == "6 more are under way in batches"
    # A run without --batch collects as well, and does not ask a second time for what is under way.
    summary, frame, left = ask(batch=False)
    assert (summary.ok, summary.batched, left) == (6, 0, []) and len(frame) == 6
    assert len(box.batches) == 1 and direct(server) == 0


def test_a_larger_benchmark_adds_a_batch_for_what_is_new(setting, scenes):
    ask, _server, box = setting("openai", looks=4)
    small = replace(scenes, groups=scenes.groups[:4])
    ask(scenes=small, batch=BatchOptions(wait_s=0))
    summary, _, left = ask()
    assert summary.ok == 6 and [len(batch.requests) for batch in box.batches] == [4, 2] and left == []
    assert max(Counter(box.keys).values()) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_batches_keep_within_the_limits(setting, wire, monkeypatch):
    ask, _, box = setting(wire)
    summary, _, _ = ask(batch=BatchOptions(most_requests=4))
    assert summary.ok == 6 and [len(batch.requests) for batch in box.batches] == [4, 2]
    ask, _server, box = setting(wire)
    api = type(batch_api(make_client_for(wire)))
    monkeypatch.setattr(api, "most_bytes", 3500)
    summary, _, _ = ask(retry=("error",), prompt="Where?")
    assert summary.ok == 6 and len(box.batches) >= 2 and len(box.keys) == 6


def make_client_for(wire: str):
    class Client:
        class spec:
            provider = wire

    return Client


# --- crashes -----------------------------------------------------------------------------------------------------


class Crash(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("wire", WIRES)
def test_a_crash_between_sending_and_noting_sends_nothing_twice(setting, wire, monkeypatch):
    from signpost_kit.evaluation.batch_records import Batches

    ask, server, box = setting(wire, looks=2)
    with monkeypatch.context() as patch:
        patch.setattr(Batches, "sent", lambda *_: (_ for _ in ()).throw(Crash()))
        with pytest.raises(Crash):
            ask()
    assert len(box.batches) == 1
    summary, _frame, left = ask()
    assert summary.ok == 6 and len(box.batches) == 1 and left == [] and direct(server) == 0


@pytest.mark.parametrize("wire", WIRES)
def test_a_crash_before_sending_sends_it_later(setting, wire, monkeypatch):
    ask, _server, box = setting(wire)
    api = type(batch_api(make_client_for(wire)))

    async def die(self, name, path):
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(api, "send", die)
        with pytest.raises(Crash):
            ask()
    assert box.batches == []
    pauses: list[float] = []
    summary, _, left = ask(pauses=pauses)
    assert summary.ok == 6 and len(box.batches) == 1 and left == []
    assert 50 < pauses[0] <= 60  # the provider's list may lag behind: it is looked at once more


@pytest.mark.parametrize("wire", WIRES)
def test_a_crash_while_collecting_keeps_what_is_there(setting, wire, monkeypatch):
    from signpost_kit.evaluation import batch

    ask, server, box = setting(wire)
    seen: list[str] = []
    real = batch.to_reply

    def third_time(*args, **named):
        seen.append("")
        if len(seen) == 3:
            raise Crash
        return real(*args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(batch, "to_reply", third_time)
        with pytest.raises(Crash):
            ask()
    summary, frame, left = ask()
    assert (summary.reused, summary.asked, summary.ok) == (2, 4, 6) and len(frame) == 6 and left == []
    assert len(box.batches) == 1 and direct(server) == 0


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("spoil", ["cut", "garbled", "gateway"])
def test_an_answer_to_the_creation_that_is_lost_sends_nothing_twice(setting, wire, spoil):
    """The batch was made, but we were not told: its name (or, at Anthropic, its looks) finds it."""
    ask, server, box = setting(wire)
    box.trouble.append(
        {
            "cut": lambda response: replace(response, cut=20),
            "garbled": lambda response: replace(response, body=response.body[:30]),
            "gateway": lambda response: as_json({"error": {"message": "bad gateway"}}, 502),
        }[spoil]
    )
    summary, _, left = ask()
    assert summary.ok == 6 and len(box.batches) == 1 and left == [] and direct(server) == 0


@pytest.mark.parametrize("wire", WIRES)
def test_a_creation_that_is_refused_for_a_time_is_tried_again(setting, wire):
    ask, _server, box = setting(wire)
    busy = as_json({"type": "error", "error": {"type": "rate_limit_error", "message": "busy", "code": 429}}, 429)
    busy.headers["retry-after"] = "7"
    box.refuse += [busy, busy]
    pauses: list[float] = []
    summary, _, _ = ask(pauses=pauses)
    assert summary.ok == 6 and len(box.batches) == 1 and pauses[:2] == [7.0, 7.0]


@pytest.mark.parametrize("wire", WIRES)
def test_a_creation_that_is_refused_for_good_stops_the_model_and_leaves_nothing_behind(setting, wire):
    ask, server, box = setting(wire)
    box.refuse.append(
        as_json(
            {"type": "error", "error": {"type": "invalid_request_error", "message": "no batches", "code": 400}}, 400
        )
    )
    summary, frame, left = ask()
    assert "no batches" in summary.stopped["m"] and left == [] and len(frame) == 0 and direct(server) == 0
    assert ask()[0].ok == 6


@pytest.mark.parametrize("wire", ["openai", "google"])
def test_a_batch_that_fails_as_a_whole_is_not_asked_at_full_price(setting, wire):
    ask, server, box = setting(wire)
    box.fails = "enqueued token limit reached"
    summary, frame, left = ask()
    assert "enqueued token limit" in summary.stopped["m"] or wire == "google"  # whose SDK drops the reason
    assert "run again without --batch" in summary.stopped["m"]
    assert len(frame) == 0 and left == [] and direct(server) == 0
    box.fails = ""
    assert ask()[0].ok == 6


def test_another_batch_of_the_same_size_is_not_taken_for_ours(setting, monkeypatch):
    """Anthropic keeps no name: a stranger's batch is noticed by its ids, and our questions are asked after all."""
    ask, server, box = setting("anthropic")
    api = type(batch_api(make_client_for("anthropic")))

    async def die(self, name, path):
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(api, "send", die)
        with pytest.raises(Crash):
            ask()
    box.add({f"stranger-{i}": {"model": "m-1", "messages": []} for i in range(6)})
    summary, _, left = ask()
    assert summary.ok == 6 and left == [] and direct(server) == 6


# --- money, and models without batches ---------------------------------------------------------------------------


def test_a_limit_of_costs_holds_for_batches(setting):
    ask, _server, box = setting("openai")
    most = (1.25 * (1120 + 16) * 2 + 1024 * 8) / 2e6
    summary, _, left = ask(max_cost_usd=3.5 * most)
    assert len(box.keys) == 3 and summary.ok == 3 and summary.cost_usd <= 3.5 * most
    assert "limit of $" in summary.stopped["m"] and left == [] and summary.unasked == 3
    assert ask(max_cost_usd=1.0)[0].ok == 6


def test_a_model_without_a_batch_endpoint_is_asked_directly(serve, spec_for, scenes, tmp_path):
    server = serve("compatible")
    client = make_client(spec_for("compatible", base_url=server.url), key=KEY, base_url=server.url)
    summary = evaluate(
        scenes,
        {"m": client},
        store=tmp_path / "r.sqlite",
        variants=["Original"],
        prompt="W",
        progress=False,
        batch=True,
    )
    assert summary.ok == 6 and server.count == 6


def test_a_picture_that_cannot_be_sent_is_one_failed_row(setting, scenes):
    ask, _server, box = setting("openai")
    path = scenes.root / "secret-2.jpg"
    path.write_bytes(path.read_bytes()[:300])
    summary, frame, _ = ask()
    assert summary.failures == {"error": 1} and summary.ok == 5 and len(box.keys) == 5
    assert frame.loc[frame["status"] == "error", "reason"].str.contains("secret-2.jpg").all()


@pytest.mark.parametrize("wire", WIRES)
def test_a_wrong_key_stops_the_model(setting, wire):
    ask, server, _ = setting(wire)
    server._routes.clear()
    for method in ("POST", "GET"):
        server.route(method, "", lambda call: server.wire.render(step("wrong_key"), call))
    summary, frame, left = ask()
    assert "M_API_KEY" in summary.stopped["m"] and KEY not in summary.stopped["m"]
    assert left == [] and len(frame) == 0
