"""The stage `analysis`: from the tables of a run to its own tables, whatever the further tasks have left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from signpost_kit.benchmark import Group, Trap
from signpost_kit.benchmark.groups import write_benchmark
from signpost_kit.errors import DataError
from signpost_kit.frames import VARIANTS
from signpost_kit.metrics import analyse, score_signpost
from signpost_kit.metrics.analysis import FRAMES
from signpost_kit.models.providers import provider_names
from signpost_kit.run import Run, open_run
from signpost_kit.stages.analysis import analysis

MODELS = ("reader", "007", "gpt-4o")


def made_run(folder: Path, *, scored: bool = True) -> tuple[Run, pd.DataFrame]:
    rng = np.random.default_rng(3)
    groups = tuple(
        Group(
            group_id=f"{i:03d}",
            dataset=f"D{i % 2}",
            lat=float(rng.uniform(-50, 50)),
            lon=float(rng.uniform(-150, 150)),
            tier=f"T{i % 3 + 1}",
            trap=Trap(float(rng.uniform(-50, 50)), float(rng.uniform(-150, 150)), "there") if i % 4 else None,
        )
        for i in range(16)
    )
    run = open_run("tiny", str(folder / "run"), sets=["scoring.n_resamples=50", "scoring.alpha=0.004"])
    write_benchmark(run.dir / "benchmark", groups, name="made")
    rows = [
        {"model": model, "dataset": g.dataset, "group_id": g.group_id, "variant": variant,
         "lat": g.lat + rng.normal(0, 2), "lon": g.lon + rng.normal(0, 2), "status": "ok"}
        for model in MODELS for g in groups for variant in VARIANTS
    ]  # fmt: skip
    predictions = pd.DataFrame(rows)
    predictions.loc[::17, ["lat", "lon", "status"]] = [np.nan, np.nan, "empty"]
    if scored:
        for name, frame in score_signpost(predictions, run.benchmark(), n_resamples=50, alpha=0.004).items():
            run.save_table(name, frame)
    return run, predictions


def test_it_saves_what_analyse_gives(tmp_path: Path) -> None:
    run, predictions = made_run(tmp_path)
    analysis(run)
    provider_of = {"reader": "Offline", "gpt-4o": "OpenAI"}
    expected = analyse(predictions, run.benchmark(), provider_of=provider_of, n_resamples=50, alpha=0.004)
    for name in FRAMES:
        found = run.table(name)
        for column in expected[name].select_dtypes("number"):
            assert found[column].to_numpy(float) == pytest.approx(
                expected[name][column].to_numpy(float), rel=1e-6, abs=1e-6, nan_ok=True
            ), (name, column)
    assert list(dict.fromkeys(run.table("providers")["provider"])) == ["Offline", "Other", "OpenAI"]
    assert set(run.table("alpha")["alpha"]) == {0.002, 0.004, 0.005, 0.01}  # the run's own beside the study's
    assert set(run.table("standings")["model"]) == set(MODELS)
    record = run.stage_record("analysis")
    assert record is not None
    assert record["counts"]["models"] == 3
    assert record["counts"]["probing_replies"] == 0
    assert {f"tables/{name}.csv" for name in (*FRAMES, "tasks")} <= set(record["outputs"])


def test_tasks_that_were_not_asked_leave_an_empty_table(tmp_path: Path) -> None:
    run, _ = made_run(tmp_path)
    run.save_table("tasks", pd.DataFrame({"model": ["of an earlier run"], "task": ["probing"]}))
    run.save_table("probing", pd.DataFrame(columns=["model", "dataset", "group_id", "variant", "status"]))
    analysis(run)
    assert run.table("tasks").empty
    assert "reading" in run.table("tasks").columns


def test_without_scores_the_stage_to_run_is_named(tmp_path: Path) -> None:
    run, _ = made_run(tmp_path, scored=False)
    with pytest.raises(DataError, match="scoring"):
        analysis(run)
    assert run.stage_record("analysis") is None


def test_providers_by_name_identifier_and_title() -> None:
    names = ["looker", "gpt-4o", "GPT-4o", "claude-opus-4-6", "Claude-Opus-4.6", "Seed-2.0-Pro", "my own"]
    expected = ["Offline", "OpenAI", "OpenAI", "Anthropic", "Anthropic", "ByteDance", "Other"]
    assert list(provider_names(names).values()) == expected
