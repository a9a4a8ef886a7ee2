"""Reading the released GeoContext files: real excerpts, and small files with the faults that are known upstream."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pandas as pd
import pytest

from signpost_kit.benchmark.geocontext import read_released
from signpost_kit.benchmark.geocontext.answers import ANSWER_NEEDS, band_of_key, context_key
from signpost_kit.benchmark.geocontext.trials import TRIAL_NEEDS
from signpost_kit.errors import DataError
from signpost_kit.metrics.claims import score_claims, summarise_claims
from signpost_kit.metrics.hints import interventions, rates, regimes


@pytest.fixture(scope="module")
def excerpts(shared_data: Path):
    return read_released(shared_data / "geocontext")


def test_every_row_of_the_excerpts_is_accounted_for(excerpts):
    frame = excerpts.account.frame()
    answers = frame.loc[frame["file"].str.startswith("answers")]
    by_kind = answers.groupby("kind")["n"].sum()
    assert by_kind["read"] == 69 + 207 + 78 + 79 == by_kind["kept"] + by_kind["dropped"]
    assert len(excerpts.answers) == by_kind["kept"]
    # Tokyo's v1 and forced rows name two reference points that the released ladder lacks.
    gone = answers.loc[answers["reason"] == "the reference point is not in the site's ladder"]
    assert (
        gone["example"].str.startswith("tokyo_shibuya").all()
        and gone["example"].str.endswith("2 reference points").all()
    )
    assert dict(zip(gone["file"], gone["n"], strict=True)) == {"answers_forced.csv": 6, "answers_v1.csv": 5}
    assert excerpts.account.count("dropped", reason="no ladder of the site") == 78  # sf_mission
    assert excerpts.account.count("differs") == 0


def test_answers_of_the_excerpts(excerpts):
    frame = excerpts.answers
    assert (frame["hit"] == frame["hit_released"]).all()
    assert not frame["path"].str.contains("\\", regex=False).any()
    hinted = frame.loc[frame["context"] != "none"]
    assert hinted["ref_km"].between(0.5, 6).all() and frame.loc[frame["context"] == "none", "ref_km"].isna().all()
    keys = [
        context_key(*row)
        for row in zip(hinted["tier"], hinted["band"].str.replace(".0", ".0"), hinted["qid"], strict=True)
    ]
    assert keys == hinted["context"].tolist()
    # An independent join, by hand: each hint's distance as its ladder has it.
    ladder = {
        (path.name.split("_ladder_")[0], row["qid"]): row
        for path in (excerpts.root / "ladders").glob("*.csv")
        for row in csv.DictReader(path.open(encoding="utf-8"))
    }
    for row in hinted.itertuples():
        rung = ladder[row.site, row.qid]
        assert (float(rung["dist_km"]), rung["name_en"], rung["tier"]) == (row.ref_km, row.ref_name, row.tier)
    assert set(rates(frame, "echo_study", ["schema"])["schema"]) == {"v1", "forced", "forced_warn"}


def test_trials_of_the_excerpts(excerpts):
    frame = excerpts.trials
    assert len(frame) == 30 and (frame["status"] == "ok").all() and frame["confidence"].between(0, 1).all()
    assert set(frame["arm"]) == {"main"} and (frame["truth"].eq("yes") == frame["d_km"].lt(0.15)).all()
    assert excerpts.account.count("kept", file="verify_trials") == 165
    assert excerpts.account.count("differs", file="verify_trials") == 0  # d_km equals ours to 1 m in all 165
    assert set(summarise_claims(frame, score_claims(frame, n_resamples=20))["model"]) >= set(frame["model"])


def test_regimes_of_the_excerpts(excerpts):
    plain = excerpts.answers.loc[lambda f: (f["context"] == "none") & (f["schema"] == "forced")]
    assert dict(regimes(plain)[["site", "n"]].to_numpy()) == plain.groupby("site").size().to_dict()


def test_the_image_audit_gives_the_counts_behind_kappa(excerpts):
    audit = excerpts.image_audit
    table = pd.crosstab(audit["ai_usable"], audit["human_usable"])
    assert table.loc[1.0, 1.0] == 27 and table.loc[1.0, 0.0] == 11 and table.loc[0.0, 0.0] == 3


# -- files with faults ---------------------------------------------------------------------------------------------


def _write(path: Path, columns, rows, *, bom: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8-sig" if bom else "utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)


def _answer(**changes) -> dict:
    return {
        "site": "a", "model": "m", "schema": "forced", "lang": "en", "context": "high_05_15km_Q1", "path": "streetview\\a\\1.jpg",
        "city": "Rome", "area": "Trevi", "place": "Fountain", "error_km": "0.5", "resolved_level": "area", "hit": "True",
    } | changes  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(
        tmp_path / "sites.csv",
        ["site", "city", "country", "continent", "landmark", "qid", "lat", "lon"],
        [
            {
                "site": "a",
                "city": "Rome",
                "country": "IT",
                "continent": "EU",
                "landmark": "L",
                "qid": "Q9",
                "lat": "41.9",
                "lon": "12.5",
            },
            {
                "site": "b",
                "city": "NA",
                "country": "NA",
                "continent": "AN",
                "landmark": "L",
                "qid": "Q8",
                "lat": "95",
                "lon": "0",
            },
        ],
        bom=True,
    )
    rung = {
        "band": "0.5-1.5km",
        "tier": "high",
        "name_en": "Trevi Fountain",
        "label_raw": "Fontana di Trevi",
        "qid": "Q1",
        "dist_km": "0.9",
        "familiarity": "5",
    }
    _write(
        tmp_path / "ladders" / "a_ladder_x-en.csv", list(rung), [rung, rung, rung | {"qid": "Q2", "dist_km": "?"}]
    )
    _write(tmp_path / "ladders" / "a_ladder_y-en.csv", list(rung), [rung | {"dist_km": "1.1"}])
    _write(
        tmp_path / "answers_judged.csv",
        ANSWER_NEEDS,
        [
            _answer(),
            _answer(),  # the same row twice
            _answer(model="n"),
            _answer(model="n", place="Column", error_km="2.0", hit="False"),  # the same question, another answer
            _answer(
                context="none", model="k", area="", place="", city="", error_km="", resolved_level="", hit="False"
            ),
            _answer(context="high_05_15km_Q7"),
            _answer(context="nearby"),
            _answer(model="z", hit="False"),  # the released hit is not what error and level say
        ],
        bom=True,
    )
    return tmp_path


def test_known_faults_are_counted_and_none_is_silent(folder):
    found = read_released(folder)
    account = found.account
    assert account.count("dropped", reason="identical row") == 1
    assert account.count("ambiguous") == 2 and list(found.answers["ambiguous"]).count(True) == 2
    assert account.count("dropped", reason="not in the site's ladder") == 1
    assert account.count("dropped", reason="neither a hint nor 'none'") == 1
    assert account.count("differs", reason="the released hit") == 1
    assert account.count("missing", reason="no distance") == 1
    assert account.count("dropped", reason="no position") == 1 and list(found.sites["site"]) == ["a"]
    assert account.count("dropped", reason="ladder of 'x-en' is used") == 1 and list(found.ladders["ref_km"]) == [
        0.9
    ]
    assert account.count("dropped", reason="stands twice in its ladder") == 1
    empty = found.answers.loc[found.answers["status"] == "empty"].iloc[0]
    assert math.isnan(empty["error_km"]) and math.isnan(empty["echo"]) and empty["hit"] == 0
    other = read_released(folder, auditor="y-en")
    assert list(other.ladders["ref_km"]) == [1.1]
    pairs = interventions(found.answers, found.answers.assign(hit=0.0))
    assert pairs["n_ambiguous"].iloc[0] >= 1


def test_controls_strange_replies_and_torn_lines(folder):
    trial = {
        "image_id": "1", "site": "a", "path": "streetview\\a\\1.jpg", "img_lat": "41.9", "img_lon": "12.5", "cand": "Trevi", "cand_lat": "41.901",
        "cand_lon": "12.5", "fam": "5", "d_km": "0.1112", "band": "signal", "truth": "yes", "arm": "main", "cont": "AN",
    }  # fmt: skip
    rows = [trial, trial | {"arm": "gray", "truth": "no", "cand_lat": "0"}, trial | {"cand": "B", "d_km": "0.5"}]
    _write(folder / "verify_trials.csv", TRIAL_NEEDS, rows, bom=True)

    def reply(identity, raw, **more):
        return json.dumps({"trial_id": identity, "model": "m", "raw": raw, "error": None} | more)

    lines = [
        reply("1|main|Trevi", '```json\n{"verdict": "no", "confidence": 90}\n```'),
        reply("1|main|Trevi", '{"verdict": "yes", "confidence": 0.9}'),  # asked again: the last counts
        reply("1|gray|Trevi", None, error="timeout"),
        reply("1|main|B", "I cannot say"),
        reply(
            "9|swapped|C",
            '{"verdict": "no", "confidence": 0.2}',
            arm="swapped",
            site="a",
            truth="no",
            band="signal",
            d_km=1.5,
        ),
        "[1, 2]",
        '{"trial_id": "torn',
    ]
    (folder / "verify_raw.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = read_released(folder)
    frame = found.trials.set_index("trial_id")
    assert list(frame["arm"]) == ["main", "grey", "main", "mismatched"]
    assert frame.loc["1|main|Trevi", ["verdict", "confidence", "cont"]].tolist() == ["yes", 0.9, "AN"]
    assert list(frame["status"]) == ["ok", "error", "refused", "ok"]
    assert found.account.count("differs", file="verify_trials", reason="over 1 m") == 1
    assert found.account.count("differs", file="verify_trials", reason="truth is not") == 1
    assert found.account.count("missing", reason="not in the list of trials") == 1
    assert found.account.count("dropped", file="verify_raw", reason="no JSON object") == 2


def test_a_folder_without_such_files_or_with_a_broken_one_says_so(tmp_path, folder):
    with pytest.raises(DataError, match="does not exist: check source.path"):
        read_released(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no released GeoContext files"):
        read_released(tmp_path / "empty")
    (folder / "answers_judged.csv").write_text("site,model\na,m\n", encoding="utf-8")
    with pytest.raises(DataError, match="lacks the column.*schema"):
        read_released(folder)
    (folder / "answers_judged.csv").write_bytes(b"site,\xff\xfe\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_released(folder)


def test_context_keys():
    assert band_of_key(context_key("low", "3.0-6.0km", "Q1")) == ("low", "3.0-6.0km", "Q1")
    assert band_of_key("none") is None and band_of_key("high_0_Q1") is None
