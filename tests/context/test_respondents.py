"""Simulated respondents: what the estimators find is what the respondents were made with.

The respondents answer in words through the same path as a paid model; the tolerances are the estimators' own intervals.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from signpost_kit.claims import claim_pictures, claim_plan, judged_frame, make_trials
from signpost_kit.evaluation import ReplyStore, ask_plan
from signpost_kit.geo import distance_bands
from signpost_kit.hints import HintSite, answers_frame, hint_plan
from signpost_kit.hints.lookup import LocalLookup
from signpost_kit.metrics.claims import score_claims
from signpost_kit.metrics.hints import HINT_BANDS, HINT_EDGES_KM, interventions, rates, slopes
from signpost_kit.metrics.verification import DECOY_BANDS, discrimination_radius
from signpost_kit.models.embedded.respondents import expected_rates, respondents
from signpost_kit.profile_context import Respondent

N_SITES = 80
SCHEMAS = ["forced", "forced_warn"]
HABITS = {
    "recites": Respondent(reliance=1.0, reliance_legible=1.0, legibility=0.5),
    "ignores": Respondent(reliance=0.0, reliance_legible=0.0, legibility=0.5, noise_km=0.2),
    "leans": Respondent(reliance=0.6, reliance_legible=0.1, legibility=0.4, warned=0.2),
    "sharp": Respondent(dprime=[0.6, 1.2, 1.8, 2.2, 2.6], criterion=0.3, confidence=0.6),
    "eager": Respondent(dprime=[0.1, 0.3, 0.5, 0.7, 0.9], criterion=-0.6),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Eighty sites in eight cities, 60 named points around each, 18 rungs a ladder."""
    folder = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(11)
    sites, rows = [], []
    for i in range(N_SITES):
        city = i % 8
        lat, lon = -40 + 10 * city + rng.normal(0, 0.02), 15 * city + rng.normal(0, 0.02)
        file = folder / f"s{i:02d}.jpg"
        file.write_bytes(f"picture {i}".encode())
        continent = "EU" if city % 2 else "AS"
        sites.append(
            HintSite(f"s{i:02d}", f"City{city}", lat, lon, ((f"s{i:02d}/p{i:02d}.jpg", file),), continent=continent)
        )
        for j, km in enumerate(np.geomspace(0.05, 5.9, 60)):
            angle = rng.uniform(0, 2 * np.pi)
            at = lat + km / 111.19 * np.cos(angle), lon + km / 111.19 * np.sin(angle) / np.cos(np.radians(lat))
            rows.append((f"s{i:02d}", f"Q{i}{j:02d}", f"Spot {i:02d}x{j:02d}", *at, float(rng.integers(0, 6)), km))
    points = pd.DataFrame(rows, columns=["site", "qid", "name_en", "lat", "lon", "referenceability", "ref_km"])
    band = distance_bands(points["ref_km"], HINT_EDGES_KM)
    points["band"] = np.array(["", *HINT_BANDS, "", ""], dtype=object)[band]
    points["tier"] = np.where(
        points["referenceability"] >= 4, "high", np.where(points["referenceability"] >= 2, "mid", "low")
    )
    ladder = points.loc[points["band"] != ""].groupby(["site", "band", "tier"]).sample(frac=1, random_state=3)
    ladder = ladder.groupby(["site", "band", "tier"]).head(2).reset_index(drop=True)
    return sites, points, ladder, folder


@pytest.fixture(scope="module")
def answers(world) -> pd.DataFrame:
    sites, points, ladder, folder = world
    people = respondents({k: v for k, v in HABITS.items() if k in ("recites", "ignores", "leans")}, sites, points)
    plan = hint_plan(sites, ladder, list(people), schemas=SCHEMAS, baseline_samples=2)
    with ReplyStore(folder / "hints.sqlite") as store:
        ask_plan(plan, people, store=store, progress=False)
        replies = store.planned(plan, extra=("fields", "reason"))
    return answers_frame(replies, sites, ladder, LocalLookup(sites, points), schemas=SCHEMAS)


def test_every_reply_is_read_and_resolved(answers):
    assert (answers["status"] == "ok").all() and (answers["level"] == "place").all()


def test_echo_is_the_reliance(answers):
    hinted = answers.loc[(answers["context"] != "none") & (answers["schema"] == "forced")]
    table = rates(hinted, "echo", ["model"], n_resamples=400).set_index("model")
    assert table.loc["recites", "rate"] == 1
    assert table.loc["ignores", "rate"] < 0.04  # its own view is the hint's place now and then
    wanted = expected_rates(HABITS["leans"])["echo"]
    assert table.loc["leans", "low"] - 0.02 < wanted < table.loc["leans", "high"]
    assert (
        rates(hinted, "echo_study", ["model"], n_resamples=20)["rate"] > 0.9
    ).all()  # every name begins alike: its weakness


def test_slope_and_the_share_of_the_way_to_always_answering_the_hint(answers):
    hinted = answers.loc[(answers["context"] != "none") & (answers["schema"] == "forced")]
    table = slopes(hinted, ["model"]).set_index("model")
    recites, ignores, leans = (table.loc[name] for name in ("recites", "ignores", "leans"))
    assert recites["beta"] == pytest.approx(recites["endpoint"], abs=1e-6)
    assert ignores["low"] < 0 < ignores["high"]
    wanted = expected_rates(HABITS["leans"])["echo"] * leans["endpoint"]
    assert leans["low"] < wanted < leans["high"]


def test_the_warning_takes_off_what_it_was_made_to(answers):
    mine = answers.loc[(answers["context"] != "none") & (answers["model"] == "leans")]
    table = interventions(
        mine.loc[mine["schema"] == "forced"], mine.loc[mine["schema"] == "forced_warn"], "echo", n_flips=2000
    )
    row = table.iloc[0]
    legible = HABITS["leans"].legibility
    wanted = -(legible * 0.1 + (1 - legible) * 0.2)  # 0.1 is all that can be taken off where the site is recognised
    assert row["delta"] == pytest.approx(wanted, abs=0.04) and row["p"] < 0.01
    still = answers.loc[(answers["context"] != "none") & (answers["model"] == "recites")]
    same = interventions(
        still.loc[still["schema"] == "forced"], still.loc[still["schema"] == "forced_warn"], "echo", n_flips=200
    )
    assert same.iloc[0]["delta"] == 0


def test_legible_sites_are_those_it_recognises(answers, world):
    sites, points, _, _ = world
    people = respondents({"leans": HABITS["leans"]}, sites, points)
    plain = answers.loc[
        (answers["context"] == "none") & (answers["model"] == "leans") & (answers["schema"] == "forced")
    ]
    for site, part in plain.groupby("site"):
        assert part["hit"].mean() == (1 if people["leans"].recognises(str(site)) else 0)


@pytest.fixture(scope="module")
def judged(world) -> pd.DataFrame:
    sites, points, _, folder = world
    people = respondents({k: v for k, v in HABITS.items() if k in ("sharp", "eager")}, sites, points)
    trials = make_trials(sites, points, per_band=6)
    plan = claim_plan(trials, claim_pictures(sites, folder), list(people))
    with ReplyStore(folder / "claims.sqlite") as store:
        ask_plan(plan, people, store=store, progress=False)
        replies = store.planned(plan, extra=("fields", "text", "reason"))
    return judged_frame(trials, replies)


def test_d_prime_criterion_and_radius_are_found_again(judged):
    scores = score_claims(judged, n_resamples=400)
    for name in ("sharp", "eager"):
        mine = scores.loc[scores["model"] == name].set_index("band")
        habits, wanted = HABITS[name], expected_rates(HABITS[name])
        inside = 0
        for band, true in zip(DECOY_BANDS, habits.dprime, strict=True):
            row = mine.loc[band]
            inside += row["dprime_low"] - 0.1 < true < row["dprime_high"] + 0.1
            assert row["dprime"] == pytest.approx(true, abs=0.45)
            assert row["false_alarm_rate"] == pytest.approx(wanted[f"f_{band}"], abs=0.09)
        assert inside >= 4
        assert mine.loc[DECOY_BANDS[0], "hit_rate"] == pytest.approx(wanted["hit_rate"], abs=0.09)
        assert mine.loc[DECOY_BANDS[0], "criterion"] == pytest.approx(habits.criterion, abs=0.25)
    radius = {
        m: discrimination_radius(scores.loc[scores["model"] == m].set_index("band")["dprime"].reindex(DECOY_BANDS))
        for m in ("sharp", "eager")
    }
    assert radius["sharp"] == "0.3-0.7km" and radius["eager"] in (None, "3.0-6.0km")


def test_controls_and_confidence(judged):
    controls = judged.loc[judged["arm"] != "main"]
    assert (controls["verdict"] == "yes").mean() < 0.02
    sharp = judged.loc[judged["model"] == "sharp", "confidence"]
    assert sharp.mean() == pytest.approx(0.6, abs=0.01) and not math.isnan(sharp.std())


def test_the_same_question_has_the_same_answer_and_another_seed_another(world):
    sites, points, ladder, folder = world
    plan = hint_plan(sites[:2], ladder, ["leans"], schemas=["forced"])
    texts = []
    for seed, file in ((1, "a"), (1, "b"), (2, "c")):
        with ReplyStore(folder / f"{file}.sqlite") as store:
            ask_plan(
                plan, respondents({"leans": HABITS["leans"]}, sites, points, seed=seed), store=store, progress=False
            )
            texts.append(list(store.planned(plan, extra=("text",))["text"]))
    assert texts[0] == texts[1] != texts[2]
