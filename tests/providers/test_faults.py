"""Every fault through the whole path: server, SDK, client, the one retry loop, the store.

In every case the row ends in the right status after the right number of requests. Pauses are recorded, not slept.
"""

from __future__ import annotations

import asyncio
import email.utils
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer, Step, step

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.evaluation import EvaluationSummary, ReplyStore, evaluate
from signpost_kit.models.client import make_client

KEY = "sk-planted-0123456789abcdefXYZ"
WIRES = ("openai", "anthropic", "google", "compatible")


@dataclass
class Ran:
    """One question asked to the end."""

    summary: EvaluationSummary
    status: str | None
    """Of the row; None: there is none."""
    row: dict[str, Any]
    server: FaultServer
    pauses: list[float] = field(default_factory=list)


@pytest.fixture
def run(serve, spec_for, photo: Path, tmp_path: Path) -> Callable[..., Ran]:
    """run(wire, steps) asks one question of a server with that schedule."""

    def go(wire: str, steps: list[Step | str], *, timeout_s: float = 20.0, **options: Any) -> Ran:
        server = serve(wire, steps)
        spec = spec_for(wire, **({"base_url": server.url} if wire == "compatible" else {}))
        client = make_client(spec, key=KEY, http_timeout_s=timeout_s, base_url=server.url)
        group = Group("g", "d", 48.8, 2.3, images={"Original": photo.name})
        pauses: list[float] = []

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)
            await asyncio.sleep(0)

        with ReplyStore(tmp_path / f"{time.perf_counter_ns()}.sqlite") as store:
            summary = evaluate(
                Benchmark("b", (group,), photo.parent),
                {"m": client},
                store=store,
                variants=["Original"],
                prompt="Where is this?",
                progress=False,
                timeout_s=timeout_s,
                sleep=sleep,
                **options,
            )
            frame = store.predictions(extra=("reason", "attempts", "text", "notes", "input_tokens"))
        rows = frame.to_dict("records")
        return Ran(summary, rows[0]["status"] if rows else None, rows[0] if rows else {}, server, pauses)

    return go


def test_no_fault(run):
    for wire in WIRES:
        ran = run(wire, [])
        assert (ran.status, ran.server.count, ran.pauses) == ("ok", 1, [])
        assert (ran.row["lat"], ran.row["lon"]) == (48.8584, 2.2945) and ran.row["attempts"] == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("fault", "pause"),
    [
        (step("rate_limited", retry_after="0.2"), 0.2),
        (step("rate_limited", retry_after="90"), 90.0),
        (step("rate_limited", retry_after="600"), 600.0),
        (step("rate_limited", retry_after_ms="1500"), 1.5),
        (step("rate_limited", retry_info="53s"), 53.0),
        (step("overloaded", code=503, retry_after="7"), 7.0),
    ],
)
def test_a_pause_that_is_named_is_kept(run, wire, fault, pause):
    ran = run(wire, [fault])
    assert (ran.status, ran.server.count) == ("ok", 2)
    assert ran.pauses[0] == pytest.approx(pause) and ran.row["attempts"] == 2


def test_a_pause_until_a_date(run):
    for wire in WIRES:
        date = email.utils.formatdate(time.time() + 90, usegmt=True)
        ran = run(wire, [step("rate_limited", retry_after=date)])
        assert (ran.status, ran.server.count) == ("ok", 2) and 85 < ran.pauses[0] <= 91


def test_an_hours_pause_stops_the_model_and_says_until_when(run):
    for wire in WIRES:
        for named in ({"retry_after": "3600"}, {"retry_info": "3600s"}):
            ran = run(wire, [step("rate_limited", **named)])
            assert (ran.status, ran.server.count, ran.pauses) == (None, 1, [])
            assert re.search(r"pause of 3600 s: run again after that \(20\d\d-", ran.summary.stopped["m"])
            assert ran.summary.unasked == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "fault",
    [
        step("rate_limited"),
        step("status", code=500),
        step("status", code=502),
        step("overloaded", code=503),
        step("overloaded", code=529),
        step("reset"),
        step("truncated_json"),
    ],
    ids=lambda fault: f"{fault.kind}{dict(fault.settings).get('code', '')}",
)
def test_what_passes_is_asked_again_after_a_drawn_pause(run, wire, fault):
    ran = run(wire, [fault, fault])
    assert (ran.status, ran.server.count) == ("ok", 3) and ran.row["attempts"] == 3
    assert len(ran.pauses) == 2 and 0 <= ran.pauses[0] <= 1 and 0 <= ran.pauses[1] <= 2


@pytest.mark.parametrize("wire", WIRES)
def test_a_hang_ends_in_time_and_is_asked_again(run, wire):
    start = time.perf_counter()
    ran = run(wire, ["hang"], timeout_s=0.3)
    assert (ran.status, ran.server.count) == ("ok", 2) and time.perf_counter() - start < 5


@pytest.mark.parametrize("wire", WIRES)
def test_what_does_not_pass_ends_in_an_error_after_six_attempts(run, wire):
    ran = run(wire, [step("status", code=500)] * 9)
    assert (ran.status, ran.server.count, len(ran.pauses)) == ("error", 6, 5)
    assert "500" in ran.row["reason"] and "(after 6 attempts)" in ran.row["reason"]
    assert KEY not in str(ran.summary) + ran.row["reason"]


def tokens(ran: Ran) -> list[int]:
    """The limit of tokens in each request, under whatever name."""
    names = ("max_tokens", "max_completion_tokens", "maxOutputTokens")
    sent = [call.json.get("generationConfig", call.json) for call in ran.server.calls]
    return [next(body[name] for name in names if name in body) for body in sent]


@pytest.mark.parametrize("wire", WIRES)
def test_thinking_that_ate_the_tokens(run, wire):
    ran = run(wire, ["empty_length", "empty_length"])
    assert (ran.status, ran.server.count, ran.pauses) == ("ok", 3, [])
    assert tokens(ran) == [1024, 2048, 4096] and '"cut_off_at": "1024, 2048"' in ran.row["notes"]
    assert ran.row["input_tokens"] == 3 * 812  # all three are charged
    temperatures = [call.json.get("generationConfig", call.json).get("temperature") for call in ran.server.calls]
    assert temperatures == [0.0] * 3
    ran = run(wire, ["empty_length"] * 9)
    assert (ran.status, ran.server.count) == ("truncated", 5) and tokens(ran)[-1] == 16_384


@pytest.mark.parametrize(
    ("kind", "statuses"),
    [
        ("blocked", {"anthropic": "refused"}),
        ("prompt_blocked", {"anthropic": "refused"}),
        ("recitation", {"anthropic": "refused"}),
        ("refused", {"openai": "refused", "compatible": "refused", "anthropic": "refused"}),
        ("empty", dict.fromkeys(WIRES, "empty")),
    ],
)
def test_a_no_is_an_answer_and_not_asked_again(run, kind, statuses):
    for wire in WIRES:
        ran = run(wire, [kind])
        assert (ran.status, ran.server.count, ran.pauses) == (statuses.get(wire, "blocked"), 1, [])
        assert ran.row["reason"] and ran.summary.stopped == {}


@pytest.mark.parametrize("wire", WIRES)
def test_a_parameter_that_is_refused(run, wire):
    ran = run(wire, [step("refuses_field", name="temperature")])
    assert (ran.status, ran.server.count, ran.pauses) == ("ok", 2, []) and '"temperature"' in ran.row["notes"]
    if wire in ("openai", "compatible"):
        first = {"openai": "max_completion_tokens", "compatible": "max_tokens"}[wire]
        ran = run(wire, [step("refuses_field", name=first)])
        assert (ran.status, ran.server.count) == ("ok", 2) and '"max_tokens": "sent as' in ran.row["notes"]
        assert all(
            ("max_tokens" in call.json) != ("max_completion_tokens" in call.json) for call in ran.server.calls
        )


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", ["wrong_key", "unknown_model", "wrong_url", "no_credit", "html"])
def test_what_stops_a_model_at_once(run, wire, kind):
    ran = run(wire, [kind] * 9)
    assert (ran.status, ran.server.count, ran.pauses) == (None, 1, [])
    reason = ran.summary.stopped["m"]
    remedy = {
        "wrong_key": "M_API_KEY",
        "unknown_model": "model_id",
        "wrong_url": "base_url|model_id",
        "no_credit": "credit|top it up",
        "html": "base_url",
    }[kind]
    assert re.search(remedy, reason) and KEY not in reason and "\n" not in reason


@pytest.mark.parametrize("wire", WIRES)
def test_a_wrong_type_is_one_failed_row(run, wire):
    ran = run(wire, ["wrong_mime"])
    assert (ran.status, ran.server.count) == ("error", 1) and "image/png" in ran.row["reason"]


def test_a_picture_that_cannot_be_sent_is_one_failed_row(run, photo):
    photo.write_bytes(photo.read_bytes()[:600])
    ran = run("openai", [])
    assert (ran.status, ran.server.count) == ("error", 0) and photo.name in ran.row["reason"]
