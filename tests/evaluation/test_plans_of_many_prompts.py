"""ask_plan and ReplyStore.planned: questions whose prompts differ from picture to picture (hints, claims)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signpost_kit.errors import ConfigError
from signpost_kit.evaluation import Plan, ask_plan, make_plan
from signpost_kit.files import hash_bytes
from signpost_kit.models.scripted import ScriptedProvider
from signpost_kit.prompts import Prompt


@pytest.fixture
def plan(toy, tmp_path):
    """Three pictures, each with a question of its own."""
    base = make_plan(
        toy(3), ["m"], prompt=Prompt("toy", "Where?", "p", tmp_path), task="toy", variants=["Original"]
    )
    return Plan(
        tuple(
            replace(r, prompt=f"Where, near {r.group_id}?", prompt_hash=hash_bytes(f"near {r.group_id}".encode()))
            for r in base
        )
    )


def test_every_question_keeps_its_own_prompt_and_reply(plan, store):
    model = ScriptedProvider(script=lambda r: f"{int(r.prompt[-2])}, 20")
    summary = ask_plan(plan, {"m": model}, store=store, progress=False)
    assert (summary.asked, summary.ok, summary.task) == (3, 3, "toy")
    assert sorted(r.prompt for r in model.history) == [f"Where, near g00{i}?" for i in range(3)]
    frame = store.planned(plan, extra=("text", "key"))
    assert list(frame["lat"]) == [0.0, 1.0, 2.0] and list(frame["text"]) == ["0, 20", "1, 20", "2, 20"]
    assert list(frame["key"]) == [r.key for r in plan]
    again = ask_plan(plan, {"m": model}, store=store, progress=False)
    assert (again.asked, again.reused) == (0, 3) and len(model.history) == 3


def test_what_was_not_asked_is_said_and_another_wording_is_another_question(plan, store):
    model = ScriptedProvider(script=lambda r: "1, 2")
    ask_plan(Plan(plan.requests[:2]), {"m": model}, store=store, progress=False)
    frame = store.planned(plan)
    assert list(frame["status"]) == ["ok", "ok", "not_asked"] and frame["lat"].isna().tolist() == [
        False,
        False,
        True,
    ]
    reworded = Plan(tuple(replace(r, prompt="Else?", prompt_hash="other") for r in plan))
    assert set(store.planned(reworded)["status"]) == {"not_asked"}


def test_a_plan_of_two_tasks_or_of_a_strange_model_is_refused(plan, store):
    model = ScriptedProvider(script=["1, 2"])
    with pytest.raises(ConfigError, match="one task, this one has toy, toy2"):
        ask_plan(Plan((*plan.requests, replace(plan.requests[0], task="toy2"))), {"m": model}, store=store)
    with pytest.raises(ConfigError, match="'m', which is not among the models n"):
        ask_plan(plan, {"n": model}, store=store)
    assert not model.history
    with pytest.raises(ConfigError, match="no column 'foo'"):
        store.planned(plan, extra=("foo",))
