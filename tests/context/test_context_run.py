"""The second study as a run: stage by stage, killed and resumed, with real models' faults, and from released files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.run import open_run

PROFILE = {
    "source": {"kind": "town", "n": 4, "seed": 7},
    "models": ["prior"],
    "scoring": {"n_resamples": 50},
    "context": {
        "ladder": {"draws": 1},
        "hints": {"schemas": ["forced", "forced_warn", "forced_chain"]},
        "claims": {"per_band": 1},
        "respondents": {"leans": {"reliance": 0.8}, "sharp": {"reliance": 0.1, "legibility": 0.9}},
    },
}


def profile_file(folder: Path, **changes) -> Path:
    path = folder / "ctx.yml"
    path.write_text(yaml.safe_dump(PROFILE | changes), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ctx")
    run = open_run(str(profile_file(folder)), str(folder / "run"))
    run.ensure("context_scoring")
    return run


def test_every_table_is_there_and_nothing_failed(done):
    hints, claims = done.stage_record("hints"), done.stage_record("claims")
    assert hints["counts"]["ok"] == hints["counts"]["requests"] and hints["rejected"] == []
    assert claims["counts"]["verdicts"] == claims["counts"]["requests"]
    answers, ladder = done.table("answers"), done.table("ladder")
    assert len(answers.loc[answers["schema"] == "forced_warn"]) == 2 * (
        4 + len(ladder)
    )  # 4 sites, 2 respondents; shared baseline
    for name in (
        "hint_models",
        "hint_regimes",
        "hint_slope",
        "hint_warn",
        "hint_chain",
        "hint_echo",
        "hint_ratio",
        "claims",
        "claims_summary",
        "checklist",
    ):
        assert len(done.table(name)), name
    cells = done.table("ladder_cells")
    assert (
        cells["n_drawn"].sum() == len(ladder)
        and done.stage_record("ladder")["counts"]["short_cells"] == cells["short"].sum()
    )


def test_a_second_run_asks_nothing_and_other_knobs_ask_anew(done, tmp_path):
    before = done.stage_record("hints")["counts"]["requests"]
    done.forget(["hints"])
    done.ensure("hints")
    counts = done.stage_record("hints")["counts"]
    assert (counts["asked"], counts["reused"]) == (0, before)


def test_a_kill_in_the_middle_resumes(tmp_path):
    path = profile_file(tmp_path, source={"kind": "town", "n": 30, "seed": 7})
    code = f"from signpost_kit.run import open_run; open_run({str(path)!r}, {str(tmp_path / 'run')!r}).ensure('claims')"
    open_run(str(path), str(tmp_path / "run")).ensure("ladder")
    child = subprocess.Popen(
        [sys.executable, "-c", code.replace("'claims'", "'hints'")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    store = tmp_path / "run" / "replies.sqlite"
    limit = time.monotonic() + 60
    while child.poll() is None and time.monotonic() < limit:
        if store.is_file() and _stored(tmp_path) > 50:
            os.kill(child.pid, signal.SIGKILL)
            break
        time.sleep(0.02)
    child.wait(timeout=30)
    kept = _stored(tmp_path)
    run = open_run(str(path), str(tmp_path / "run"))
    assert child.returncode == -signal.SIGKILL and kept > 50 and not run.is_current("hints")
    run.ensure("hints")
    counts = run.stage_record("hints")["counts"]
    assert counts["reused"] >= kept and counts["asked"] + counts["reused"] == counts["requests"]


def _stored(tmp_path: Path) -> int:
    from signpost_kit.evaluation import ReplyStore

    try:
        with ReplyStore(tmp_path / "run" / "replies.sqlite", create=False) as store:
            return len(store)
    except Exception:
        return 0  # not there yet


def test_models_that_answer_badly_leave_reasons_and_no_traceback(tmp_path):
    from signpost_kit.models import register
    from signpost_kit.models.base import ProviderError
    from signpost_kit.models.scripted import ScriptedProvider

    said = [
        "I'm sorry, I can't help with that.",
        "",
        "no idea",
        ProviderError("reset", retryable=False),
        '{"city": "Atlantis", "area": "x", "building": "y"}',
    ]
    register("clumsy", lambda: ScriptedProvider(script=lambda request: said[len(request.prompt) % len(said)]))
    path = profile_file(
        tmp_path, models=["clumsy"], context={k: v for k, v in PROFILE["context"].items() if k != "respondents"}
    )
    run = open_run(str(path), str(tmp_path / "run"))
    run.ensure("context_scoring")
    answers = run.table("answers")
    assert not (answers["status"] == "ok").any() and {"refused", "empty", "unparseable", "unresolved"} >= set(
        answers["status"]
    ) - {"error"}
    assert (answers.loc[answers["status"] != "ok", "reason"] != "").all()
    models = run.table("hint_models")
    assert models["coverage"].max() < 1 and (models["hit"] == 0).all()
    assert run.table("hint_slope")["beta"].isna().all()


def test_nothing_asked_says_so(tmp_path):
    path = profile_file(tmp_path, context={})
    run = open_run(str(path), str(tmp_path / "run"))
    run.ensure("context_scoring")
    assert run.stage_record("context_scoring")["counts"] == {"answers": 0, "trials": 0, "tables": 0}
    with pytest.raises(DataError, match="no table 'hint_models'"):
        run.table("hint_models")


def test_released_files_fill_the_same_tables(shared_data, tmp_path):
    path = profile_file(
        tmp_path,
        source={"kind": "geocontext-release", "path": str(shared_data / "geocontext")},
        context={"hints": {}, "claims": {}},
    )
    run = open_run(str(path), str(tmp_path / "run"))
    assert run.profile.studies == ("geocontext",)
    for stage in ("ladder", "hints", "claims", "context_scoring"):
        from signpost_kit.stages import STAGES

        STAGES[stage](run)
    assert len(run.table("answers")) == 344 and len(run.table("trials")) == 30
    assert run.table("hint_models").set_index("model").loc["all", "n"] > 100
    account = run.table("context_account")
    assert account.loc[account["reason"] == "the reference point is not in the site's ladder", "n"].sum() == 11
    rejected = run.stage_record("ladder")["rejected"]
    assert any("there is no ladder of the site" in row["reason"] for row in rejected)


def test_a_new_model_is_asked_about_the_releases_own_pictures(shared_data, tmp_path, monkeypatch):
    """Pictures that a user has fetched stand beside the released answers: same ladders, same trials."""
    import json

    from signpost_kit.geocoding.base import Place
    from signpost_kit.models import register
    from signpost_kit.models.scripted import ScriptedProvider
    from signpost_kit.stages import context_common

    pictures = tmp_path / "pictures"
    for site, image in (("paris_marais", "2563217207308101"), ("amsterdam_church", "1036250735319845")):
        (pictures / site).mkdir(parents=True)
        (pictures / site / f"{image}.jpg").write_bytes(image.encode())

    def say(request) -> str:
        if request.task == "claim":
            return json.dumps({"verdict": "yes", "confidence": 0.7})
        return json.dumps({"city": "Paris", "area": "Le Marais", "building": "Hôtel de Ville"})

    def lookup(run, sites, points):
        atlas = {
            "paris": Place(48.857, 2.352, "Paris", sitelinks=300),
            "le marais": Place(48.859, 2.361, "Le Marais", sitelinks=50),
        }
        return lambda text: [atlas[text.lower()]] if text.lower() in atlas else []

    register("newcomer", lambda: ScriptedProvider(script=say))
    monkeypatch.setattr("signpost_kit.stages.hints.lookup_of", lookup)
    path = profile_file(
        tmp_path,
        models=["newcomer"],
        source={"kind": "geocontext-release", "path": str(shared_data / "geocontext"), "images": str(pictures)},
        context={"hints": {"schemas": ["forced"], "geocoder": "wikidata"}, "claims": {}},
    )
    run = open_run(str(path), str(tmp_path / "run"))
    run.ensure("context_scoring")
    answers = run.table("answers")
    mine = answers.loc[answers["model"] == "newcomer"]
    rungs = run.table("ladder").query("site in ('paris_marais', 'amsterdam_church')")
    assert len(mine) == 2 + len(rungs) and len(answers) == 344 + len(mine)
    assert set(mine.loc[mine["site"] == "paris_marais", "level"]) == {"area"}
    trials = run.table("trials")
    newcomer = trials.loc[trials["model"] == "newcomer"]
    assert len(newcomer) and set(newcomer["site"]) == {"amsterdam_church"} and len(trials) == 30 + len(newcomer)
    assert "newcomer" in set(run.table("hint_models")["model"]) and "newcomer" in set(run.table("claims")["model"])
    with pytest.raises(ConfigError, match="released ladders have no positions"):
        context_common.lookup_of(
            open_run(str(path), str(tmp_path / "run"), sets=["context.hints.geocoder=local"]), [], answers
        )
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="has no picture of any of the 109 sites"):
        open_run(str(path), str(tmp_path / "other"), sets=[f"source.images={tmp_path / 'none'}"]).ensure("hints")
