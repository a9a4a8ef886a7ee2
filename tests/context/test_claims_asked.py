"""GeoVerify's trials: matched decoys, both controls, and verdicts; distances against a slow definition."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from signpost_kit.claims import claim_pictures, claim_plan, claim_question, judged_frame, make_trials
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.evaluation import ReplyStore, ask_plan
from signpost_kit.hints import HintSite
from signpost_kit.metrics.claims import score_claims, summarise_claims
from signpost_kit.models.scripted import ScriptedProvider

BANDS = {
    "0.15-0.3km": (0.15, 0.3),
    "0.3-0.7km": (0.3, 0.7),
    "0.7-1.5km": (0.7, 1.5),
    "1.5-3.0km": (1.5, 3),
    "3.0-6.0km": (3, 6),
}


def slow_km(lat1, lon1, lat2, lon2) -> float:
    """Great-circle distance by the spherical law of cosines."""
    a, b, c = math.radians(lat1), math.radians(lat2), math.radians(lon2 - lon1)
    return 6371.0 * math.acos(min(1.0, math.sin(a) * math.sin(b) + math.cos(a) * math.cos(b) * math.cos(c)))


@pytest.fixture
def sites(tmp_path) -> list[HintSite]:
    made = []
    for name, lat, lon, continent in (
        ("rome", 41.90, 12.48, "EU"),
        ("lima", -12.05, -77.04, "SA"),
        ("oslo", 59.91, 10.75, "EU"),
    ):
        file = tmp_path / f"{name}.jpg"
        file.write_bytes(name.encode())
        made.append(HintSite(name, name.title(), lat, lon, ((f"{name}/1{name}.jpg", file),), continent=continent))
    return made


@pytest.fixture
def points(sites) -> pd.DataFrame:
    """Sixty points around each site, 30 m to 8 km away in all directions."""
    rng = np.random.default_rng(5)
    rows = []
    for site in sites:
        for i, km in enumerate(np.geomspace(0.03, 8, 60)):
            angle = rng.uniform(0, 2 * np.pi)
            lat = site.lat + km / 111.19 * np.cos(angle)
            lon = site.lon + km / 111.19 * np.sin(angle) / np.cos(np.radians(site.lat))
            rows.append((site.site, f"Q{i}", f"{site.city} Place {i}", lat, lon, float(rng.integers(0, 6))))
    return pd.DataFrame(rows, columns=["site", "qid", "name_en", "lat", "lon", "referenceability"])


def test_bands_truth_and_distances(sites, points):
    trials = make_trials(sites, points, per_band=3)
    main = trials.loc[trials["arm"] == "main"]
    assert set(main["band"]) == {"signal", *BANDS} and not main["trial_id"].duplicated().any()
    where = points.set_index(["site", "name_en"])
    homes = {site.site: site for site in sites}
    for row in main.to_dict("records"):
        point, home = where.loc[(row["site"], row["cand"])], homes[row["site"]]
        km = slow_km(home.lat, home.lon, point["lat"], point["lon"])
        assert row["d_km"] == pytest.approx(km, abs=1e-3)
        low, high = (0.0, 0.15) if row["band"] == "signal" else BANDS[row["band"]]
        assert low <= km < high and row["truth"] == ("yes" if km < 0.15 else "no")
    assert main.groupby(["site", "band"]).size().max() == 3


def test_decoys_are_matched_where_the_cell_allows(sites, points):
    main = make_trials(sites, points, per_band=3).loc[lambda f: f["arm"] == "main"]
    for _, mine in main.groupby("path"):
        wanted = mine.loc[mine["band"] == "signal", "fam"].to_numpy()
        pool = points.loc[points["site"] == mine["site"].iloc[0]]
        for band, cell in mine.loc[mine["band"] != "signal"].groupby("band"):
            close = [bool(np.any(abs(wanted - fam) <= 1)) for fam in cell["fam"]]
            assert close == cell["matched"].tolist()
            low, high = BANDS[str(band)]
            home = next(s for s in sites if s.site == mine["site"].iloc[0])
            inside = [
                p for p in pool.to_dict("records") if low <= slow_km(home.lat, home.lon, p["lat"], p["lon"]) < high
            ]
            could = sum(bool(np.any(abs(wanted - p["referenceability"]) <= 1)) for p in inside)
            assert sum(close) == min(3, could) and len(cell) == min(3, len(inside))


def test_the_draw_depends_on_the_seed_alone(sites, points):
    first = make_trials(sites, points)
    again = make_trials(sites[::-1], points.sample(frac=1, random_state=1))
    key = ["trial_id", "arm"]
    pd.testing.assert_frame_equal(
        first.sort_values(key, ignore_index=True).drop(columns="shown"),
        again.sort_values(key, ignore_index=True).drop(columns="shown"),
    )
    other = make_trials(sites, points, seed=7)
    assert set(other["trial_id"]) != set(first["trial_id"])
    near = make_trials(sites, points).loc[lambda f: f["band"] == "3.0-6.0km"].groupby("site")["d_km"].min()
    nearest = points.assign(km=0.0)
    for site in sites:
        mine = nearest["site"] == site.site
        nearest.loc[mine, "km"] = [
            slow_km(site.lat, site.lon, p["lat"], p["lon"]) for p in nearest.loc[mine].to_dict("records")
        ]
    in_band = nearest.loc[nearest["km"].between(3, 6)].groupby("site")["km"].min()
    assert (near > in_band + 1e-3).any()  # not the nearest ones: at random


def test_controls(sites, points):
    trials = make_trials(sites, points)
    signals = trials.loc[(trials["arm"] == "main") & (trials["band"] == "signal")]
    for arm in ("mismatched", "grey"):
        mine = trials.loc[trials["arm"] == arm]
        assert (
            len(mine) == len(signals) and set(mine["truth"]) == {"no"} and set(mine["cand"]) == set(signals["cand"])
        )
    continent = {f"{s.site}/1{s.site}.jpg": s.continent for s in sites}
    swapped = trials.loc[trials["arm"] == "mismatched"]
    assert (swapped["shown"].map(continent) != swapped["cont"]).all()
    assert set(trials.loc[trials["arm"] == "grey", "shown"]) == {"grey.png"}
    assert set(make_trials(sites, points, controls=False)["arm"]) == {"main"}
    with pytest.raises(DataError, match="two continents"):
        make_trials([s for s in sites if s.continent == "EU"], points)


def test_a_smaller_tolerance_leaves_a_gap_and_odd_input_is_named(sites, points):
    tight = make_trials(sites, points, tolerance_km=0.05)
    signal = tight.loc[(tight["arm"] == "main") & (tight["band"] == "signal")]
    assert (
        len(signal)
        and (signal["d_km"] < 0.05).all()
        and not tight["d_km"].between(0.05, 0.15, inclusive="left").any()
    )
    for bad in ({"per_band": 0}, {"tolerance_km": 0.2}, {"tolerance_km": 0.0}):
        with pytest.raises(ConfigError, match="per_band"):
            make_trials(sites, points, **bad)
    with pytest.raises(DataError, match="'Rome Place 0' of 'rome' has no position"):
        make_trials(sites, points.assign(lat=[np.nan, *points["lat"][1:]]))
    twins = [
        HintSite(n, "x", 0, 0, ((f"{n}/1.jpg", sites[0].pictures[0][1]),), continent=c)
        for n, c in (("a", "EU"), ("b", "SA"))
    ]
    with pytest.raises(DataError, match=r"a/1.jpg and b/1.jpg have the same id '1'"):
        make_trials(twins, points)
    assert make_trials(sites, points.loc[points["site"] == "none"]).empty


def test_the_question_names_nothing_but_the_place():
    prompt = claim_question('Caffè "Greco" {x}\n')
    assert 'within 150 m of "Caffè "Greco" {x}".' in prompt.text and "{tolerance}" not in prompt.text
    assert claim_question("A").hash != claim_question("B").hash


def test_from_trials_to_d_prime(sites, points, tmp_path):
    trials = make_trials(sites, points, per_band=3)
    files = claim_pictures(sites, tmp_path / "controls")
    assert files["grey.png"].stat().st_size > 100 and claim_pictures(sites, tmp_path / "controls") == files
    truth = {row["trial_id"]: row for row in trials.to_dict("records")}

    def say(request) -> str:
        row = truth[request.variant]
        if row["arm"] == "grey":
            assert request.image_path.name == "grey.png"
            return "I am sorry, I cannot verify this."
        verdict = "yes" if row["d_km"] < 0.3 and row["arm"] == "main" else "no"
        return "```json\n" + json.dumps({"verdict": verdict, "confidence": 0.9, "evidence": []}) + "\n```"

    plan = claim_plan(trials, files, ["m"])
    assert len(plan) == len(trials)
    with ReplyStore(tmp_path / "r.sqlite") as store:
        summary = ask_plan(plan, {"m": ScriptedProvider(script=say)}, store=store, progress=False)
        replies = store.planned(plan, extra=("fields", "text", "reason"))
    # A grey field with the same name is one question, asked once.
    assert summary.questions <= summary.asked
    judged = judged_frame(trials, replies)
    assert len(judged) == len(trials) and set(judged.loc[judged["arm"] == "grey", "status"]) == {"refused"}
    assert judged.loc[judged["arm"] == "grey", "verdict"].isna().all()
    scores = score_claims(judged, n_resamples=50)
    by = scores.set_index("band")
    assert by.loc["0.15-0.3km", "dprime"] == pytest.approx(0, abs=0.35) and by.loc["3.0-6.0km", "dprime"] > 2
    table = summarise_claims(judged, scores).iloc[0]
    assert table["mismatched_f"] == 0 and table["n_grey"] == 0
    files["rome/1rome.jpg"].unlink()
    fewer = claim_plan(trials, files, ["m"])
    assert {m.reason for m in fewer.missing} == {"the picture rome/1rome.jpg is gone"}
    with pytest.raises(ConfigError, match="at least one model"):
        claim_plan(trials, files, [])
    with pytest.raises(DataError, match="no claim can be put"):
        claim_plan(trials.iloc[:0], files, ["m"])
