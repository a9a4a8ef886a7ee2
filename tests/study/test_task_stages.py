"""The stages that ask besides the coordinates: one draw for all models, every reply a row, nothing made up for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.benchmark.groups import write_benchmark
from signpost_kit.errors import DataError
from signpost_kit.evaluation.sampling import draw_groups
from signpost_kit.frames import VARIANTS
from signpost_kit.models import ProviderError
from signpost_kit.models.base import Answer
from signpost_kit.models.registry import _FACTORIES
from signpost_kit.models.scripted import ScriptedProvider
from signpost_kit.run import Run, open_run
from signpost_kit.stages import tasks as stage
from signpost_kit.stages.tasks import COLUMNS, cross_task, defense, probing, tally, task_plans

# -- a run with scripted models ------------------------------------------------------------------------------------

TASKS = {
    "probing": {"per_dataset": 3, "seed": 7},
    "defense": {"per_dataset": 3, "seed": 7, "variants": ["Blank", "Adversarial"]},
    "consistency": {"per_dataset": 2, "seed": 7},
    "country": {"per_dataset": 3, "seed": 7, "variants": ["Adversarial"]},
    "language": {"per_dataset": 1, "seed": 8, "variants": ["Original"]},
}
PROBING = {
    "visual_evidence": "brick, rain",
    "visual_region": "Ireland",
    "textual_evidence": ["RUA NOVA"],
    "textual_region": "Portugal",
    "consistent": False,
    "consistency_explanation": "they differ",
    "trusted_source": "Visual",
    "trust_explanation": "signs can be moved",
    "final_prediction": {"lat": 53.3, "lon": -6.3},
}
REPLIES = {
    "probing": json.dumps(PROBING),
    "defense": "Visual: brick\nText: RUA\nConflict: yes\nTrusted: Visual\nFinal: 53.3, -6.3",
    "consistency": '{"consistent": "N/A", "confidence": 0.7}',
    "country": '{"visual_country": "Ireland", "textual_country": "Portugal", "final_country": "Portugal"}',
    "language": '{"text_found": true, "texts": ["RUA", "NOVA"], "languages": ["Portuguese", "English"]}',
}


def pictures(folder: Path, *, n: int = 5) -> Benchmark:
    """Two data sets of `n` scenes, five small pictures each, no two alike."""
    groups, shade = [], 0
    for dataset in ("streets", "snaps"):
        for i in range(n):
            images = {}
            for variant in VARIANTS:
                shade += 1
                images[variant] = f"images/{variant}/{dataset}-{i}.png"
                path = folder / images[variant]
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(np.full((24, 32, 3), shade, np.uint8)).save(path)
            groups.append(Group(f"{dataset}-{i}", dataset, 10.0 + i, 20.0, country="FR", images=images))
    write_benchmark(folder, groups, name="small")
    return Benchmark.read(folder)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch):
    """registered(name=provider, ...): models that a profile may name, for this test."""

    def add(**made):
        for name, provider in made.items():
            monkeypatch.setitem(_FACTORIES, f"study-{name}", lambda provider=provider: provider)

    monkeypatch.setattr("signpost_kit.models.registry._FACTORIES", _FACTORIES)
    return add


@pytest.fixture
def make_run(tmp_path: Path):
    """make_run(models, tasks=..., **evaluation) -> a run whose pictures are there."""

    def make(models, tasks=None, n=5, **evaluation) -> Run:
        profile = {
            "name": "small",
            "source": {"kind": "town", "n": 2},
            "models": [f"study-{name}" for name in models],
            "tasks": TASKS if tasks is None else tasks,
            "evaluation": evaluation,
        }
        path = tmp_path / "small.yml"
        path.write_text(yaml.safe_dump(profile))
        run = open_run(str(path), str(tmp_path / "run"))
        if not (run.dir / "benchmark").exists():
            pictures(run.dir / "benchmark", n=n)
        return run

    return make


def willing(**changes):
    return ScriptedProvider(script=lambda request: {**REPLIES, **changes}[request.task])


def test_probing_saves_one_row_per_reply(make_run, registered):
    registered(one=willing(), two=willing(probing="no idea"))
    run = make_run(["one", "two"])
    probing(run)
    table = run.table("probing")
    assert list(table.columns) == list(COLUMNS["probing"])
    assert len(table) == 2 * 2 * 3 * 5  # models, data sets, scenes, variants
    drawn = draw_groups(run.benchmark().groups, per_dataset=3, seed=7)
    for _, rows in table.groupby("model"):
        assert set(rows["group_id"]) == set(drawn)
        assert not rows.duplicated(["group_id", "variant"]).any()
    good, bad = (part for _, part in table.groupby("model"))
    assert set(good["status"]) == {"ok"} and set(good["reason"]) == {""}
    first = good.iloc[0]
    assert (first["consistent"], first["trusted_source"], first["textual_evidence"]) == ("no", "Visual", "RUA NOVA")
    assert (first["lat"], first["lon"], first["sample"]) == (53.3, -6.3, 0)
    assert set(bad["status"]) == {"unparseable"} and bad["lat"].isna().all()
    assert set(bad["consistent"]) == {""} and (bad["reason"] != "").all()
    counts = run.stage_record("probing")["counts"]
    wanted = {
        "groups": 6,
        "requests": 60,
        "asked": 60,
        "reused": 0,
        "ok": 30,
        "status_unparseable": 30,
        "models": 2,
    }
    assert counts == wanted


def test_defense_asks_only_its_variants(make_run, registered):
    registered(one=willing())
    run = make_run(["one"])
    defense(run)
    table = run.table("defense")
    assert set(table["variant"]) == {"Blank", "Adversarial"} and len(table) == 12
    assert set(table["conflict"]) == {"yes"} and set(table["trusted"]) == {"Visual"}
    assert set(table["group_id"]) == set(draw_groups(run.benchmark().groups, per_dataset=3, seed=7))


def test_cross_task_puts_three_questions_into_one_table(make_run, registered):
    registered(one=willing())
    run = make_run(["one"])
    cross_task(run)
    table = run.table("cross_task")
    assert list(table.columns) == list(COLUMNS["cross_task"])
    assert table["task"].value_counts().to_dict() == {"consistency": 20, "country": 6, "language": 2}
    by_task = {task: rows.iloc[0] for task, rows in table.groupby("task")}
    assert (by_task["consistency"]["status"], by_task["consistency"]["confidence"]) == ("ok", 0.7)
    assert not table["consistent"].isin(["yes", "no"]).any()  # "N/A" is neither
    assert by_task["country"]["final_country"] == "Portugal" and not table["trusted_source"].isin(["Unknown"]).any()
    assert (by_task["language"]["text_found"], by_task["language"]["texts"]) == ("yes", "RUA; NOVA")
    assert by_task["language"]["languages"] == "Portuguese; English"
    counts = run.stage_record("cross_task")["counts"]
    assert {name: counts[f"groups {name}"] for name in ("consistency", "country", "language")} == {
        "consistency": 4,
        "country": 6,
        "language": 2,
    }
    assert (counts["requests"], counts["asked"], counts["ok"], counts["models"]) == (28, 28, 28, 1)


def test_a_model_that_fails_on_some_pictures_keeps_its_failures(make_run, registered):
    def moody(request):
        number = int(request.group_id.rpartition("-")[2])
        if request.variant == "Blank":
            return ProviderError("the picture is too dark", retryable=False)
        if request.variant == "Random":
            return Answer(text=None, status="refused", reason="it says so")
        if request.variant == "Similar":
            return [json.dumps({**PROBING, "final_prediction": "unknown"}), "I cannot help with that."][number % 2]
        return REPLIES[request.task]

    registered(one=ScriptedProvider(script=moody), two=willing())
    run = make_run(["one", "two"], {"probing": {"per_dataset": 4, "seed": 3}})
    probing(run)
    table = run.table("probing")
    asked = {
        model: set(zip(rows["group_id"], rows["variant"], strict=True)) for model, rows in table.groupby("model")
    }
    assert asked["study-one"] == asked["study-two"] and len(asked["study-one"]) == 8 * 5
    mine = table[table["model"] == "study-one"].set_index("variant")
    assert set(mine.loc["Blank", "status"]) == {"error"} and set(mine.loc["Random", "status"]) == {"refused"}
    assert mine.loc["Blank", "reason"].str.contains("too dark").all()
    assert set(mine.loc["Original", "status"]) == {"ok"}
    similar = mine.loc["Similar"]
    assert set(similar["status"]) == {"refused"}
    spoke = similar["group_id"].str[-1].astype(int) % 2 == 0
    assert set(similar.loc[spoke, "consistent"]) == {"no"}  # what it did say stands without a prediction
    assert set(similar.loc[~spoke, "consistent"]) == {""}
    counts = run.stage_record("probing")["counts"]
    assert (counts["requests"], counts["ok"], counts["status_error"], counts["status_refused"]) == (80, 56, 8, 16)


def test_replies_are_kept_and_failures_asked_again_only_when_wanted(make_run, registered, monkeypatch):
    first = ScriptedProvider(script=lambda r: REPLIES[r.task] if r.variant != "Blank" else "")
    registered(one=first)
    run = make_run(["one"])
    probing(run)
    assert len(first.history) == 30
    again = willing()
    registered(one=again)
    probing(run)
    assert again.history == []
    assert run.stage_record("probing")["counts"]["reused"] == 30
    monkeypatch.setenv("SIGNPOST_RETRY", "empty")
    run = make_run(["one"])
    probing(run)
    assert {request.variant for request in again.history} == {"Blank"} and len(again.history) == 6
    assert set(run.table("probing")["status"]) == {"ok"}


def test_a_task_that_is_left_out_asks_nothing(make_run, registered, monkeypatch):
    one = willing()
    registered(one=one)
    run = make_run(["one"])
    for ask in (probing, defense, cross_task):
        ask(run)
    asked = len(one.history)
    monkeypatch.setattr("signpost_kit.models.embedded.prepare", lambda names: pytest.fail("nothing to prepare"))
    run = make_run(["one"], {"country": TASKS["country"]})
    for ask, name in ((probing, "probing"), (defense, "defense")):
        ask(run)
        assert run.stage_record(name)["counts"] == {"groups": 0}
        table = run.table(name)  # not the one of the run before
        assert list(table.columns) == list(COLUMNS[name]) and len(table) == 0
        assert tally(table, "consistent" if name == "probing" else "conflict").empty
    monkeypatch.undo()
    registered(one=one)
    cross_task(run)
    assert len(one.history) == asked
    assert set(run.table("cross_task")["task"]) == {"country"}
    assert run.stage_record("cross_task")["counts"]["groups consistency"] == 0


def test_pictures_that_are_gone_are_named_for_every_model_alike(make_run, registered):
    registered(one=willing(), two=willing())
    run = make_run(["one", "two"])
    drawn = draw_groups(run.benchmark().groups, per_dataset=3, seed=7)
    (run.dir / "benchmark" / "images" / "Random" / f"{drawn[0]}.png").unlink()
    probing(run)
    table = run.table("probing")
    assert len(table) == 2 * 29 and set(table["group_id"]) == set(drawn)
    rejected = run.stage_record("probing")["rejected"]
    assert [item["item"] for item in rejected] == [drawn[0]] and "Random" in rejected[0]["reason"]


def test_a_run_without_any_picture_says_so(make_run, registered):
    registered(one=willing())
    run = make_run(["one"], {"probing": {}})
    for path in (run.dir / "benchmark" / "images").rglob("*.png"):
        path.unlink()
    with pytest.raises(DataError, match="has no picture to ask about"):
        probing(run)
    assert run.stage_record("probing") is None


def test_it_asks_as_the_profile_says(make_run, registered, monkeypatch):
    registered(one=willing())
    run = make_run(
        ["one"], temperature=None, max_tokens=77, timeout_s=9.0, concurrency=3, max_cost_usd=5.0, batch=True
    )
    seen = []

    def fake(plan, models, **options):
        from signpost_kit.evaluation import EvaluationSummary

        seen.append((plan, models, options))
        cost = {
            "model": "study-one",
            "requests": 1,
            "asked": 1,
            "estimated_usd": 2.0,
            "actual_usd": 3.0,
            "ratio": 1.5,
        }
        stopped = {"study-one": "the limit of costs"} if len(seen) == 2 else {}
        return EvaluationSummary("x", len(plan), 0, 0, 0, {}, 0, 0, 0.0, 3.0, 4, stopped, costs=(cost,))

    monkeypatch.setattr("signpost_kit.evaluation.runner.ask_plan", fake)
    cross_task(run)
    limits = [options["max_cost_usd"] for _, _, options in seen]
    assert limits == [5.0, 2.0, 0.0]  # what the earlier questions cost is spent
    for plan, models, options in seen:
        assert models == ["study-one"] and options["batch"] is True and options["retry"] == ()
        assert (options["timeout_s"], options["concurrency"]) == (9.0, 3)
        assert {(r.decoding.temperature, r.decoding.max_tokens) for r in plan} == {(None, 77)}
    record = run.stage_record("cross_task")
    assert record["counts"]["unasked"] == 28
    reasons = {item["item"]: item["reason"] for item in record["rejected"]}
    assert reasons["study-one"] == "country: the limit of costs" and "4 questions" in reasons["batches"]
    assert run.table("cross_task").empty  # nothing was answered, so there is no row
    assert list(run.table("costs_cross_task")["task"]) == ["consistency", "country", "language"]


def test_with_stored_replies_only_nothing_is_asked(make_run, registered):
    registered(one=willing(), two=willing(defense="no idea"))
    run = make_run(["one", "two"])
    for ask in (probing, defense):
        ask(run)
    before = {name: run.table(name) for name in ("probing", "defense")}
    registered(one=None, two=None)
    run = make_run(["one"], {**TASKS, "language": None}, stored_only=True)  # the other model's replies stay too
    for ask in (probing, defense, cross_task):
        ask(run)
    for name, table in before.items():
        keys = ["model", "dataset", "group_id", "variant"]
        pd.testing.assert_frame_equal(
            run.table(name).sort_values(keys, ignore_index=True), table.sort_values(keys, ignore_index=True)
        )
        counts = run.stage_record(name)["counts"]
        assert (counts["requests"], counts["asked"], counts["groups"]) == (len(table), 0, 6)
    assert run.table("cross_task").empty and run.stage_record("cross_task")["counts"]["groups"] == 0
    write_benchmark(run.dir / "benchmark", run.benchmark().groups[:5], name="small")
    probing(run)
    assert set(run.table("probing")["group_id"]) < set(before["probing"]["group_id"])


def test_plans_are_what_an_estimate_counts(make_run, registered):
    registered(one=willing(), two=willing())
    run = make_run(["one", "two"])
    assert {task: len(plan) for task, plan in task_plans(run).items()} == {
        "probing": 60,
        "defense": 24,
        "consistency": 40,
        "country": 12,
        "language": 4,
    }
    assert task_plans(make_run(["one"], {})) == {}


def test_tally_counts_what_is_not_said_in_the_order_of_the_study():
    rows = [
        ("m", "Adversarial", "yes"),
        ("m", "Original", ""),
        ("m", "Original", "no"),
        ("a", "Blank", float("nan")),
    ]
    found = tally(pd.DataFrame(rows, columns=["model", "variant", "said"]), "said")
    assert list(found.index) == [("m", "Original"), ("m", "Adversarial"), ("a", "Blank")]
    assert found.loc[("m", "Original")].to_dict() == {"no": 1, "not said": 1, "yes": 0}
    assert found.loc[("a", "Blank"), "not said"] == 1


# -- what it costs, and a paid model over the wire ------------------------------------------------------------------


def test_an_estimate_does_not_take_short_replies_for_long_ones():
    from signpost_kit.evaluation.cost import _learned_output
    from signpost_kit.models.base import Request

    def question(task):
        return Request(task, "m", Path("x.png"), "hash", "Where?", "p")

    questions = {
        name: question(name.rstrip("12")) for name in ("coordinate1", "coordinate2", "probing1", "probing2")
    }
    left = {name: questions[name] for name in ("coordinate2", "probing1", "probing2")}
    # A coordinate reply took 60 tokens where the rule says 40: half as much again for probing, 350 by the rule.
    assert _learned_output(left, None, {"coordinate1": 60}, questions) == 60 + 2 * 525
    told = {"coordinate1": 60, "probing1": 300}
    assert _learned_output({"probing2": questions["probing2"]}, None, told, questions) == 300


def test_a_paid_model_over_the_wire(make_run, registered, monkeypatch):
    """The real SDK against a loopback server: questions and pictures as sent, replies with faults in between."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "providers" / "servers"))
    from fault_server import FaultServer, step

    from signpost_kit.models.catalogue import ModelSpec
    from signpost_kit.models.client import make_client
    from signpost_kit.prompts import load

    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    by_prompt = {load(task).text: task for task in TASKS}
    seen: Counter[tuple[str, str, str]] = Counter()

    def answer(call):
        seen[call.question] += 1
        task = by_prompt[call.prompt]
        if seen[call.question] == 1 and len(seen) % 7 == 0:
            return step("overloaded", code=503, retry_after="0")
        if task == "defense" and len(seen) % 5 == 0:
            return step("refused")
        if task == "language":
            return step("blocked")
        return step("ok", text=f"Here you are:\n{REPLIES[task]}")

    with FaultServer("openai", answer) as server:
        spec = ModelSpec(
            name="study-paid",
            provider="openai",
            model_id="m-1",
            key_env="M_API_KEY",
            group="Somebody",
            token_field="max_completion_tokens",
        )
        monkeypatch.setitem(
            _FACTORIES, "study-paid", lambda: make_client(spec, key="sk-planted-0123", base_url=server.url)
        )
        run = make_run(["paid"])
        for ask in (probing, defense, cross_task):
            ask(run)
    assert len(seen) == 30 + 12 + 20 + 6 + 2  # every question, and each was answered once
    assert set(server.answered.values()) == {1}
    probed, defended, crossed = (run.table(name) for name in ("probing", "defense", "cross_task"))
    assert set(probed["status"]) == {"ok"} and set(probed["consistent"]) == {"no"}
    refused = defended["status"] == "refused"
    assert 0 < refused.sum() < 12 and (defended.loc[refused, "reason"] != "").all()
    assert set(defended.loc[refused, "conflict"]) == {""} and set(defended.loc[~refused, "conflict"]) == {"yes"}
    assert set(crossed.query("task == 'language'")["status"]) == {"blocked"}
    assert set(crossed.query("task == 'country'")["final_country"]) == {"Portugal"}


def test_stage_names_are_those_of_the_graph():
    from signpost_kit.stages import NEEDS, STAGES

    for name in ("probing", "defense", "cross_task"):
        assert callable(getattr(stage, name)) and NEEDS[name] == ("synthesis",) and name in STAGES
