"""Hits, echoes, ratios, regimes and paired prompts: hand arithmetic, known respondents, released answers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.metrics import (
    checklist_compliance,
    distinctive,
    echo,
    echo_study,
    error_ratio,
    hint_band,
    hit,
    interventions,
    rates,
    ratio_summary,
    regimes,
    slopes,
)

RELEASED = ("answers_v1", "answers_forced", "answers_forced_2", "answers_forced_warn")


@pytest.fixture(scope="module")
def released(shared_data) -> pd.DataFrame:
    """The released answers with the reference point's name and distance where the ladder has it."""
    folder = shared_data / "geocontext"
    answers = pd.concat(
        [pd.read_csv(folder / f"{name}.csv").assign(file=name) for name in RELEASED], ignore_index=True
    )
    answers["qid"] = answers["context"].str.split("_").str[-1]
    ladders = pd.concat(
        [pd.read_csv(f).assign(site=f.name.split("_ladder")[0]) for f in sorted((folder / "ladders").glob("*.csv"))]
    )
    return answers.merge(ladders[["site", "qid", "name_en", "dist_km", "band"]], on=["site", "qid"], how="left")


def test_hit_is_strict_and_censors_the_city():
    assert hit([0.999, 1.0, 0.5, 0.5, 0.5], ["area", "area", "city", "place", None]).tolist() == [1, 0, 0, 1, 0]
    assert hit([0.4], ["area"], radius_km=0.3).tolist() == [0.0]
    assert hit([], []).tolist() == []
    assert hit([math.nan], [None]).tolist() == [0.0]
    assert math.isnan(hit([math.nan], [None], missing="nan")[0])
    with pytest.raises(DataError, match="'street'"):
        hit([0.1], ["street"])
    with pytest.raises(DataError, match="0 or more"):
        hit([-0.1], ["area"])
    with pytest.raises(DataError, match="pair up"):
        hit([0.1, 0.2], ["area"])
    with pytest.raises(ConfigError, match="missing"):
        hit([0.1], ["area"], missing="drop")  # type: ignore[arg-type]


def test_hit_equals_the_released_column_in_all_rows(released):
    ours = hit(released["error_km"], released["resolved_level"])
    assert len(ours) == 69 + 207 + 78 + 79
    assert (ours == released["hit"].astype(str).eq("True")).all()


def test_bands_equal_the_ladder(released):
    known = released["dist_km"].notna()
    assert hint_band(released.loc[known, "dist_km"]).tolist() == released.loc[known, "band"].tolist()
    key = released.loc[known, "context"].str.extract(r"_(05_15|15_30|30_60)km_")[0]
    assert hint_band([0.49, 0.5, 6.0, math.nan]).tolist() == ["", "0.5-1.5km", "", ""]
    assert key.map({"05_15": "0.5-1.5km", "15_30": "1.5-3.0km", "30_60": "3.0-6.0km"}).tolist() == (
        released.loc[known, "band"].tolist()
    )


@pytest.mark.parametrize(
    ("area", "place", "name", "study", "ours"),
    [
        ("Mission District", "San Jalisco", "San Francisco Museum of Modern Art", 1, 0),  # first word only
        ("City of London", "The Walkie-Talkie", "The Gherkin", 1, 0),
        ("City of London", "30 St Mary Axe (Gherkin)", "The Gherkin", 0, 1),
        ("Okubo", "Friday's", "Ōkubo Station", 0, 1),  # accents
        ("Champs-Élysées", "a drugstore", "Élysée Palace", 1, 0),  # substring, not word
        ("Aoyama", "Reebok store", "Aoyama Gakuin University", 1, 0),  # part of the distinctive part
        ("Athens centre", "Ancient Agora museum", "Museum of the Ancient Agora", 1, 1),
        ("Marais", "Musée Picasso", "Museum of the Ancient Agora", 0, 0),
        ("Trafalgar Square", "National Gallery", "National Gallery", 1, 1),
        ("Trafalgar Square", "National Portrait Gallery", "National Gallery", 1, 0),  # all generic: in full
        ("Ebisu", "", "Ebisu Station (Tokyo)", 1, 1),
        ("Les Halles", "Saint-Eustache church", "Saint-Eustache, Paris", 0, 1),  # its first word has the comma
        ("st james", "a palace", "St James's Palace", 1, 1),
        ("Opéra", "Le Neuf Café", "Pont Neuf", 0, 0),
        ("渋谷区", "宮益坂下", "宮益坂", 1, 1),
        ("渋谷", "109", "渋谷駅", 0, 1),  # without the kind at the end
    ],
)
def test_echo_by_both_readings(area, place, name, study, ours):
    assert echo_study([area], [place], [name]).tolist() == [study]
    assert echo([area], [place], [name]).tolist() == [ours]


def test_the_city_is_not_distinctive():
    assert distinctive("London Paddington station", "London") == ("paddington",)
    assert distinctive("London Bridge", "London") == ("london", "bridge")
    assert echo(["London"], ["Victoria"], ["London Museum"], ["London"]).tolist() == [0.0]
    assert echo(["Paddington"], [""], ["London Paddington station"], ["London"]).tolist() == [1.0]


def test_echo_without_hint_or_answer_is_missing():
    for judge in (echo, echo_study):
        out = judge(
            ["a", None, "", float("nan")], ["b", None, "", None], [None, "The Oval", "The Oval", "The Oval"]
        )
        assert np.isnan(out).all()
        assert judge([], [], []).shape == (0,)
        with pytest.raises(DataError, match="one value per answer"):
            judge(["a"], ["b", "c"], ["d"])
    with pytest.raises(DataError, match="one value per answer"):
        echo(["a"], ["b"], ["c"], ["d", "e"])


def test_echo_on_released_answers(released):
    ours = echo(released["area"], released["place"], released["name_en"])
    study = echo_study(released["area"], released["place"], released["name_en"])
    # A slow definition of the study's reading.
    slow = [
        float("nan")
        if not isinstance(name, str) or not any(isinstance(t, str) for t in (a, p))
        else float(any(name.split(" ")[0].lower() in t.lower() for t in (a, p) if isinstance(t, str)))
        for a, p, name in zip(released["area"], released["place"], released["name_en"], strict=True)
    ]
    np.testing.assert_array_equal(study, slow)
    assert np.isnan(ours).sum() == released["name_en"].isna().sum()
    assert 0 < np.nansum(ours) < np.count_nonzero(~np.isnan(ours))
    literal = [
        isinstance(n, str) and any(isinstance(t, str) and n.lower() in t.lower() for t in (a, p))
        for a, p, n in zip(released["area"], released["place"], released["name_en"], strict=True)
    ]
    assert (ours[literal] == 1).all()  # whoever writes the whole name echoes it


def test_ratio_by_hand():
    error, ref = [1.0, 4.0, 9.0, 0.0, np.nan, 2.0], [1.0, 2.0, 2.0, 3.0, 1.0, np.nan]
    level = ["area", "place", "city", "place", None, "area"]
    np.testing.assert_array_equal(error_ratio(error, ref, level), [1, 2, np.nan, 0, np.nan, np.nan])
    summary = ratio_summary(error, ref, level)
    assert (summary.n, summary.median, summary.n_city, summary.n_missing, summary.n_zero) == (3, 1.0, 1, 2, 1)
    assert summary.geomean == pytest.approx(math.sqrt(2))
    assert summary.error_geomean_km == pytest.approx(2.0)
    assert summary.ref_geomean_km == pytest.approx(math.sqrt(2))
    assert summary.geomean == pytest.approx(summary.error_geomean_km / summary.ref_geomean_km)
    assert math.isnan(ratio_summary([], [], []).median)
    with pytest.raises(DataError, match="above 0"):
        error_ratio([1.0], [0.0], ["area"])


def test_ratio_of_who_recites_the_hint_is_one(released):
    ref = released["dist_km"].to_numpy()
    summary = ratio_summary(ref, ref, ["place"] * len(ref))
    assert (summary.median, summary.geomean) == (1.0, pytest.approx(1.0))
    assert summary.n_missing == released["dist_km"].isna().sum()


def test_regimes_at_the_threshold():
    baseline = pd.DataFrame({"site": list("aabbccd"), "hit": [1, 0, 0, 0, 1, 1, np.nan]})
    table = regimes(baseline).set_index("site")
    assert table["regime"].tolist()[:3] == ["legible", "illegible", "legible"]  # half is enough
    assert table.loc["d", "regime"] is None or pd.isna(table.loc["d", "regime"])
    assert math.isnan(table.loc["d", "rate"])
    assert table["n"].tolist() == [2, 2, 2, 0]
    assert regimes(baseline, threshold=0.6)["regime"].tolist()[0] == "illegible"
    assert regimes(baseline.iloc[:0]).empty


def test_rates_and_slopes_by_model_and_on_known_respondents():
    rng = np.random.default_rng(0)
    ref = rng.uniform(0.5, 6, 600)
    frame = pd.DataFrame(
        {
            "site": [f"s{i}" for i in rng.integers(0, 30, 600)],
            "model": np.repeat(["ignores", "recites"], 300),
            "ref_km": ref,
            "error_km": np.where(np.arange(600) < 300, 0.7, ref),
            "level": "area",
        }
    )
    frame["hit"] = hit(frame["error_km"], frame["level"])
    table = slopes(frame, ["model"]).set_index("model")
    assert table.loc["recites", "share"] == pytest.approx(1.0)
    assert table.loc["ignores", "beta"] == pytest.approx(0.0, abs=1e-9)
    by_model = rates(frame, "hit", ["model"], n_resamples=200).set_index("model")
    assert by_model.loc["ignores", "rate"] == 1.0
    recited = by_model.loc["recites"]
    assert recited["rate"] == pytest.approx((ref[300:] < 1).mean())
    assert recited["low"] < recited["rate"] < recited["high"]
    frame.loc[frame.index[:10], "level"] = "city"
    assert slopes(frame, fine_only=True)["n"].tolist() == [590]
    assert rates(frame.iloc[:0], "hit", ["model"]).empty
    one = rates(frame.iloc[:1], "hit")
    assert (one["n"][0], one["n_sites"][0]) == (1, 1) and math.isnan(one["low"][0])
    with pytest.raises(DataError, match="echo"):
        rates(frame, "echo")
    with pytest.raises(DataError, match="hit must hold numbers"):
        rates(frame.assign(hit="yes"), "hit")
    mixed = rates(frame.iloc[:3].assign(hit=np.array([True, None, False], dtype=object)), "hit", n_resamples=0)
    assert (mixed["n"][0], mixed["n_missing"][0], mixed["rate"][0]) == (2, 1, 0.5)


def test_interventions_pair_strictly():
    def answers(hits, **change):
        keys = {"site": list("aabb"), "path": list("wxyz"), "model": "m", "lang": "en", "context": "c"}
        return pd.DataFrame({**keys, "hit": hits} | change)

    before = answers([0, 0, 1, 1])
    after = answers([1, 0, 1, 1])
    twice = pd.concat([after, after.iloc[[2]].assign(hit=0), after.iloc[[0]], after.iloc[[1]].assign(path="new")])
    table = interventions(before, twice)
    row = table.iloc[0]
    # y repeats with another answer: ambiguous; w repeats alike: once; "new" has no partner
    assert (row["n_pairs"], row["n_ambiguous"], row["n_sites"]) == (3, 1, 2)
    assert (row["before"], row["after"], row["delta"]) == pytest.approx((1 / 3, 2 / 3, 1 / 3))
    shuffled = interventions(before.iloc[::-1], twice.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(shuffled, table)
    none = interventions(before, after.assign(model="other")).iloc[0]
    assert none["n_pairs"] == 0 and math.isnan(none["p"]) and none["reason"]
    split = interventions(before.assign(regime=list("iill")), after.assign(regime=list("iill")), by=["regime"])
    assert split["delta"].tolist() == [0.5, 0.0]


def test_interventions_on_released_answers(released):
    """Every pair of forced and forced_warn in the excerpts, by dictionaries."""
    keys = ["site", "path", "model", "lang", "context"]
    sides = []
    for name in ("answers_forced", "answers_forced_warn"):
        found: dict[tuple, set] = {}
        for row in released[released["file"] == name].to_dict("records"):
            found.setdefault(tuple(row[k] for k in keys), set()).add(row["hit"] in (True, "True"))
        sides.append(found)
    shared = [k for k in sides[0] if k in sides[1] and len(sides[0][k]) == len(sides[1][k]) == 1]
    assert shared
    deltas = [int(next(iter(sides[1][k]))) - int(next(iter(sides[0][k]))) for k in shared]
    frame = released.assign(hit=released["hit"].astype(str).eq("True").astype(float))
    row = interventions(
        frame[frame["file"] == "answers_forced"], frame[frame["file"] == "answers_forced_warn"], n_flips=2000
    ).iloc[0]
    assert row["n_pairs"] == len(shared)
    assert row["delta"] == pytest.approx(np.mean(deltas))
    assert row["n_ambiguous"] == sum(len(v) > 1 for side in sides for v in side.values())


def test_checklist_by_hand():
    replies = [
        {"infrastructure": "bollards", "text_script": "not visible", "terrain": ["flat", ""]},
        {"infrastructure": "Not visible.", "text_script": "", "terrain": ["not visible", "a slope"]},
        {},
        None,
        "evidence",
    ]
    table = checklist_compliance(replies).set_index("category")
    assert table.loc["any", ["n", "present", "absent"]].tolist() == [5, 0.4, 0.6]
    assert table.loc["infrastructure", ["n", "present", "not_visible", "absent"]].tolist() == [2, 0.5, 0.5, 0]
    assert table.loc["script", ["present", "not_visible", "absent"]].tolist() == [0, 0.5, 0.5]
    assert table.loc["terrain", "present"] == 1.0
    assert table.loc["vegetation", "absent"] == 1.0
    assert checklist_compliance([])["present"].isna().all()
