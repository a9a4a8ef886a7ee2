"""Scores of the further tasks: hand-worked cases, the slow definitions, and what is missing staying missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.frames import VARIANTS
from signpost_kit.geo import haversine_km
from signpost_kit.metrics.tasks import TASK_COLUMNS, task_tables
from signpost_kit.stats.intervals import cluster_bootstrap

NAN = float("nan")
DEGREE_KM = math.pi * 6371.0 / 180


def groups_of(ids: Iterable[str] = "abcd", dataset: str = "D", **more: Any) -> pd.DataFrame:
    """Truth at 0/0, the trap ten degrees east of it."""
    ids = list(ids)
    row = {"lat": 0.0, "lon": 0.0, "trap_lat": 0.0, "trap_lon": 10.0, "tier": "T3"} | more
    return pd.DataFrame({"dataset": dataset, "group_id": ids} | row, index=range(len(ids)))


def replies(*rows: dict[str, Any], **common: Any) -> pd.DataFrame:
    """Rows with the columns that the stages save."""
    plain = {
        "model": "m",
        "dataset": "D",
        "variant": "Adversarial",
        "sample": 0,
        "status": "ok",
        "lat": 0.0,
        "lon": 0.0,
    }
    return pd.DataFrame([plain | common | row for row in rows])


def probing(*rows: dict[str, Any], **common: Any) -> pd.DataFrame:
    return replies(*rows, **({"consistent": "", "trusted_source": ""} | common))


def value(tables: pd.DataFrame, metric: str, variant: str = "Adversarial", **where: str) -> float:
    """One value; the row must be there once."""
    where = {
        "task": "probing",
        "dataset": "macro",
        "reading": "answered_only",
        "metric": metric,
        "variant": variant,
    } | where
    found = tables.loc[np.logical_and.reduce([tables[k] == v for k, v in where.items()])]
    assert len(found) == 1, where
    return float(found["value"].iloc[0])


def tasks(
    frames: dict[str, pd.DataFrame], groups: pd.DataFrame, scores: pd.DataFrame | None = None, **how: Any
) -> pd.DataFrame:
    out = task_tables(frames, groups, scores, **({"n_resamples": 0} | how))["tasks"]
    assert tuple(out.columns) == TASK_COLUMNS
    return out


# -- by hand -----------------------------------------------------------------------------------------------------


def test_probing_by_hand() -> None:
    frame = probing(
        {
            "group_id": "a",
            "consistent": "no",
            "trusted_source": "Visual",
            "lon": 1.0,
        },  # sees it, goes by the sights
        {"group_id": "b", "consistent": "yes", "trusted_source": "Textual", "lon": 10.0},  # falls for it
        {"group_id": "c", "consistent": "", "trusted_source": "Both", "lon": 2.0},  # "N/A": no judgement
        {
            "group_id": "d",
            "consistent": "no",
            "trusted_source": "Textual",
            "lon": NAN,
            "lat": NAN,
            "status": "refused",
        },
        {"group_id": "a", "variant": "Blank", "lon": 10.1},
        {"group_id": "b", "variant": "Blank"},
        {"group_id": "a", "variant": "Original", "consistent": "yes"},
    )
    t = tasks({"probing": frame}, groups_of())
    failed = {"reading": "as_failures"}
    assert value(t, "cda") == pytest.approx(2 / 3)  # of the three that judge; c neither agrees nor disagrees
    assert value(t, "cda", **failed) == pytest.approx(2 / 4)
    assert value(t, "conflict_said", "Original") == 0
    assert [value(t, f"mpr_{s}") for s in ("visual", "textual", "both", "unknown")] == [0.25, 0.5, 0.25, 0]
    assert value(t, "rcs") == 1.0  # a: truth 1 deg, trap 9 deg, Visual; b at the trap, Textual; d has no position
    w = {lon: math.exp(-0.005 * lon * DEGREE_KM) for lon in (1, 2, 10)}
    assert value(t, "wla") == pytest.approx((w[1] + w[10] + w[2]) / 3)
    assert value(t, "wla", **failed) == pytest.approx((w[1] + w[10] + w[2]) / 4)
    assert value(t, "caa_wla") == pytest.approx(w[1])  # d saw the conflict but has no position
    assert value(t, "caa_wla", **failed) == pytest.approx(w[1] / 2)
    assert value(t, "csg_points") == pytest.approx(100 * (w[1] - w[10]))
    assert value(t, "csg_points", **failed) == pytest.approx(100 * (w[1] / 2 - w[10]))
    assert value(t, "tfr") == pytest.approx(1 / 3)
    assert value(t, "tfr", "Blank") == pytest.approx(1 / 2)  # 0.1 deg from the trap without any text
    assert value(t, "tpg_points") == pytest.approx(100 * (1 / 3 - 1 / 2))
    assert value(t, "tpg_points", **failed) == pytest.approx(100 * (1 / 4 - 1 / 2))
    assert value(t, "acc_200") == pytest.approx(1 / 3)
    row = t.loc[(t["metric"] == "cda") & (t["dataset"] == "macro")].iloc[0]
    assert (row["n_asked"], row["n_answered"], row["coverage"]) == (4, 3, 0.75)


def test_trust_agrees_only_with_the_nearer_side_and_only_where_a_trap_exists() -> None:
    groups = groups_of("abcdef")
    groups.loc[groups["group_id"] == "e", ["trap_lat", "trap_lon"]] = NAN
    frame = probing(
        {"group_id": "a", "trusted_source": "Visual", "lon": 9.0},  # says sights, lies at the trap: 0
        {"group_id": "b", "trusted_source": "Textual", "lon": 1.0},  # says text, lies at the truth: 0
        {"group_id": "c", "trusted_source": "Textual", "lon": 6.0},  # 1
        {"group_id": "d", "trusted_source": "Both", "lon": 9.0},  # says neither
        {"group_id": "e", "trusted_source": "Visual", "lon": 0.0},  # no trap
        {"group_id": "f", "trusted_source": "Visual", "lon": 5.0},  # as near to both
    )
    t = tasks({"probing": frame}, groups)
    assert value(t, "rcs") == pytest.approx(1 / 3)
    row = t.loc[(t["metric"] == "rcs") & (t["dataset"] == "D")].iloc[0]
    assert (row["n_asked"], row["n_answered"]) == (5, 3)


def test_defense_says_conflict_yes_where_probing_says_consistent_no() -> None:
    rows = [
        {"group_id": g, "conflict": c, "trusted": "Visual"}
        for g, c in zip("abcd", ("yes", "no", "", "no"), strict=True)
    ]
    t = tasks({"defense": replies(*rows)}, groups_of())
    assert value(t, "cda", task="defense") == pytest.approx(1 / 3)
    assert value(t, "mpr_visual", task="defense") == 1.0


def test_conflict_variants_count_together_and_apart() -> None:
    frame = probing(
        {"group_id": "a", "lon": 10.0}, {"group_id": "b"}, {"group_id": "a", "variant": "Random"},
        {"group_id": "b", "variant": "Random"}, {"group_id": "a", "variant": "Blank"},
    )  # fmt: skip
    t = tasks({"probing": frame}, groups_of("ab"))
    assert value(t, "tfr_conflict", "") == 0.25
    assert [value(t, "tpg_points", v) for v in ("", "Random", "Adversarial")] == [25.0, 0.0, 50.0]


def test_change_from_the_plain_question_is_by_pairs_of_the_same_picture() -> None:
    plain = replies(
        {"group_id": "a", "lon": 10.0}, {"group_id": "b", "lon": 1.0},
        {"group_id": "c", "lon": NAN, "lat": NAN, "status": "error"}, {"group_id": "d", "lon": 3.0},
        {"group_id": "e", "lon": 0.0}, {"group_id": "a", "lon": 0.0, "variant": "Original"},
        {"group_id": "a", "lon": 0.0, "model": "other"},
    )  # fmt: skip
    frame = probing(
        {"group_id": "a", "lon": 0.0}, {"group_id": "b", "lon": 10.0}, {"group_id": "c", "lon": 0.0},
        {"group_id": "d", "lon": NAN, "lat": NAN, "status": "empty"},
    )  # fmt: skip
    t = tasks({"probing": frame}, groups_of("abcde"), plain)
    w = {lon: math.exp(-0.005 * lon * DEGREE_KM) for lon in (0, 1, 3, 10)}
    assert value(t, "wla_change_points") == pytest.approx(100 * ((1 - w[10]) + (w[10] - w[1])) / 2)
    everything = 100 * ((1 - w[10]) + (w[10] - w[1]) + (1 - 0) + (0 - w[3])) / 4
    assert value(t, "wla_change_points", reading="as_failures") == pytest.approx(everything)
    assert value(t, "tfr_change_points") == 0.0  # one leaves the trap, one falls into it
    same = {"task": "coordinate"}
    assert value(t, "wla", **same) == pytest.approx((w[10] + w[1] + w[3]) / 3)  # e was not probed, Original neither
    assert "Original" not in set(t.loc[t["task"] == "coordinate", "variant"])
    assert set(t["model"]) == {"m"}


def cross(task: str, *rows: dict[str, Any], **common: Any) -> pd.DataFrame:
    frame = replies(*rows, task=task, **({"lat": NAN, "lon": NAN} | common))
    for name in (
        "consistent",
        "trusted_source",
        "visual_country",
        "textual_country",
        "final_country",
        "text_found",
    ):
        frame[name] = frame.get(name, "")
    frame["languages"] = frame.get("languages", "")
    return frame.fillna({name: "" for name in frame if frame[name].dtype == object})


def test_consistency_by_hand() -> None:
    said = [
        ("a", "Adversarial", "no"), ("b", "Adversarial", "no"), ("c", "Adversarial", "yes"), ("d", "Adversarial", ""),
        ("a", "Random", "no"), ("a", "Original", "yes"), ("b", "Original", "no"), ("a", "Blank", ""),
    ]  # fmt: skip
    frame = cross("consistency", *({"group_id": g, "variant": v, "consistent": c} for g, v, c in said))
    t = tasks({"cross_task": frame}, groups_of())
    where, failed = {"task": "consistency"}, {"task": "consistency", "reading": "as_failures"}
    assert value(t, "conflict_recall", **where) == pytest.approx(2 / 3)
    assert value(t, "conflict_recall", **failed) == pytest.approx(2 / 4)
    assert value(t, "conflict_recall", "", **where) == pytest.approx(3 / 4)
    assert value(t, "precision", "", **where) == pytest.approx(3 / 4)
    assert value(t, "f1", "", **where) == pytest.approx(2 * 3 / (2 * 3 + 1 + 1))
    assert value(t, "f1", "", **failed) == pytest.approx(2 * 3 / (2 * 3 + 1 + 2))  # d was missed
    assert value(t, "accuracy", "", **where) == pytest.approx(4 / 6)
    assert value(t, "accuracy", "", **failed) == pytest.approx(4 / 8)
    assert math.isnan(value(t, "accuracy", "Blank", **where))


def test_without_a_picture_free_of_conflict_there_is_no_precision() -> None:
    frame = cross("consistency", {"group_id": "a", "consistent": "no"}, {"group_id": "b", "consistent": "no"})
    t = tasks({"cross_task": frame}, groups_of())
    assert math.isnan(value(t, "precision", "", task="consistency"))
    assert math.isnan(value(t, "f1", "", task="consistency"))
    assert value(t, "conflict_recall", task="consistency") == 1.0


def test_country_by_hand() -> None:
    groups = groups_of("abcdefg", country="GB", trap_country="KR")
    groups.loc[groups["group_id"] == "g", "trap_country"] = "GB"
    rows = [
        ("a", "Visual", "England", "Republic of Korea", "UK"),  # with the sights, and true
        ("b", "Textual", "United Kingdom", "Korea, Republic of", "South Korea"),  # with the writing: the trap
        ("c", "Both", "UK", "Great Britain", "United Kingdom"),  # with both
        ("d", "Unknown", "Ireland", "none", "Nigeria"),  # with neither
        ("e", "", "Western Europe", "France", "France"),  # the sights name no country: cannot be told
        ("f", "Textual", "Nigeria", "Niger", "Niger"),  # not in Nigeria
        ("g", "Visual", "", "Korea", "UK"),  # the sights are not stated: cannot be told
    ]
    keys = ("group_id", "trusted_source", "visual_country", "textual_country", "final_country")
    t = tasks({"cross_task": cross("country", *(dict(zip(keys, row, strict=True)) for row in rows))}, groups)
    where = {"task": "country"}
    assert [value(t, f"region_{n}", **where) for n in ("scene", "text", "both", "neither")] == [
        1 / 5,
        2 / 5,
        1 / 5,
        1 / 5,
    ]
    assert value(t, "text_dominance", **where) == pytest.approx(2 / 6)
    assert value(t, "text_dominance", reading="as_failures", **where) == pytest.approx(2 / 7)
    assert value(t, "final_truth", **where) == pytest.approx(3 / 7)
    assert value(t, "final_trap", **where) == pytest.approx(1 / 6)  # g's trap lies in the scene's own country


def test_language_by_hand() -> None:
    groups = groups_of("abcd", sign_Adversarial="まるい傘")
    groups.loc[groups["group_id"] == "d", "sign_Adversarial"] = "24"
    rows = [
        {"group_id": "a", "text_found": "yes", "languages": "Japanese; English"},
        {"group_id": "b", "text_found": "yes", "languages": "Chinese"},  # Han alone is not how this sign is written
        {"group_id": "c", "text_found": "no"},
        {"group_id": "d", "text_found": "yes", "languages": "English"},  # a sign without letters has no script
    ]
    t = tasks({"cross_task": cross("language", *rows)}, groups)
    assert value(t, "text_found", task="language") == 0.75
    assert value(t, "script_named", task="language") == pytest.approx(1 / 3)


# -- the slow definitions ----------------------------------------------------------------------------------------


def drawn_study(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    groups = pd.concat(
        [
            groups_of([f"{d}{i}" for i in range(n)], d, lat=rng.uniform(-60, 60, n), lon=rng.uniform(-180, 180, n),
                      trap_lat=np.where(rng.random(n) < 0.7, rng.uniform(-60, 60, n), NAN), trap_lon=rng.uniform(-180, 180, n))
            for d, n in (("X", 23), ("Y", 9))
        ],
        ignore_index=True,
    )  # fmt: skip
    rows = []
    for model in ("m1", "m2"):
        for group in groups.to_dict("records"):
            for variant in VARIANTS:
                near = group["lat"], group["lon"]
                if variant == "Adversarial" and rng.random() < 0.4 and not math.isnan(group["trap_lat"]):
                    near = group["trap_lat"], group["trap_lon"]
                lat, lon = near[0] + rng.normal(0, 0.5), near[1] + rng.normal(0, 0.5)
                ok = rng.random() > 0.15
                rows.append(
                    {
                        "model": model, "dataset": group["dataset"], "group_id": group["group_id"], "variant": variant,
                        "sample": 0, "status": "ok" if ok else "unparseable", "lat": lat if ok else NAN,
                        "lon": (lon + 180) % 360 - 180 if ok else NAN,
                        "consistent": str(rng.choice(["yes", "no", ""])),
                        "trusted_source": str(rng.choice(["Visual", "Textual", "Both", "Unknown", ""])),
                    }
                )  # fmt: skip
    return groups, pd.DataFrame(rows)


def slow(frame: pd.DataFrame, groups: pd.DataFrame, metric: Callable[[list[dict[str, Any]]], float]) -> float:
    """Mean over data sets of a definition that sees one model's rows of one data set."""
    truth = {g["group_id"]: g for g in groups.to_dict("records")}
    found = []
    for dataset in ("X", "Y"):
        rows = [dict(row) for row in frame.to_dict("records") if row["dataset"] == dataset]
        for row in rows:
            g = truth[row["group_id"]]
            row["km"] = haversine_km(row["lat"], row["lon"], g["lat"], g["lon"])
            row["trap"] = haversine_km(row["lat"], row["lon"], g["trap_lat"], g["trap_lon"])
            row["has_trap"] = not math.isnan(g["trap_lat"])
        found.append(metric(rows))
    known = [x for x in found if not math.isnan(x)]
    return sum(known) / len(known) if known else NAN


def mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else NAN


def about(rows: list[dict[str, Any]], *variants: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["variant"] in variants]


def slow_cda(rows: list[dict[str, Any]]) -> float:
    return mean(row["consistent"] == "no" for row in about(rows, "Adversarial") if row["consistent"])


def slow_rcs(rows: list[dict[str, Any]]) -> float:
    out = []
    for row in about(rows, "Adversarial"):
        if row["has_trap"] and row["status"] == "ok" and row["trusted_source"] in ("Visual", "Textual"):
            out.append((row["km"] < row["trap"]) == (row["trusted_source"] == "Visual"))
    return mean(out)


def slow_csg(rows: list[dict[str, Any]]) -> float:
    def part(word: str) -> float:
        mine = (r for r in about(rows, "Adversarial") if r["consistent"] == word and r["status"] == "ok")
        return mean(math.exp(-0.005 * r["km"]) for r in mine)

    return 100 * (part("no") - part("yes"))


def slow_tpg(rows: list[dict[str, Any]]) -> float:
    def rate(*variants: str) -> float:
        return mean(r["trap"] < 50 for r in about(rows, *variants) if r["has_trap"] and r["status"] == "ok")

    return 100 * (rate("Random", "Adversarial") - rate("Blank"))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("metric", "variant", "definition"),
    [
        ("cda", "Adversarial", slow_cda),
        ("rcs", "Adversarial", slow_rcs),
        ("csg_points", "Adversarial", slow_csg),
        ("wla", "Random", lambda rows: mean(math.exp(-0.005 * r["km"]) for r in about(rows, "Random") if r["status"] == "ok")),
        ("mpr_both", "Blank", lambda rows: mean(r["trusted_source"] == "Both" for r in about(rows, "Blank") if r["trusted_source"])),
    ],
)  # fmt: skip
def test_slow_definitions(seed: int, metric: str, variant: str, definition: Callable[..., float]) -> None:
    groups, frame = drawn_study(seed)
    t = tasks({"probing": frame}, groups)
    for model in ("m1", "m2"):
        expected = slow(frame.loc[frame["model"] == model], groups, definition)
        assert value(t, metric, variant, model=model) == pytest.approx(expected, nan_ok=True)


def test_pooled_trap_gain_is_a_mean_over_pictures_where_all_are_answered() -> None:
    groups, frame = drawn_study(3)
    frame = frame.loc[frame["status"] == "ok"]
    complete = frame.groupby(["model", "group_id"])["variant"].transform("nunique") == len(VARIANTS)
    frame = frame.loc[complete]
    t = tasks({"probing": frame}, groups)
    for model in ("m1", "m2"):
        expected = slow(frame.loc[frame["model"] == model], groups, slow_tpg)
        assert value(t, "tpg_points", "", model=model) == pytest.approx(expected)


# -- intervals ---------------------------------------------------------------------------------------------------


def test_intervals_are_those_of_the_cluster_bootstrap_over_the_asked_scenes() -> None:
    groups, frame = drawn_study(1)
    frame = frame.loc[(frame["variant"] == "Adversarial") & (frame["model"] == "m1")].assign(
        consistent=lambda f: f["consistent"].replace("", "no")
    )
    more = pd.concat([groups, groups.assign(group_id="unasked-" + groups["group_id"])])  # they must not be drawn
    t = tasks({"probing": frame}, more, n_resamples=500, seed=9)
    said = (frame["consistent"] == "no").to_numpy(float)
    names, dataset = frame["group_id"].to_numpy(), frame["dataset"].to_numpy()
    expected = cluster_bootstrap(said, names, dataset, n_resamples=500, seed=9)
    row = t.loc[(t["metric"] == "cda") & (t["dataset"] == "macro") & (t["reading"] == "answered_only")].iloc[0]
    assert (row["value"], row["low"], row["high"]) == pytest.approx(expected[:3], abs=1e-6)
    assert row["low"] < row["value"] < row["high"]


def test_order_of_rows_and_number_of_other_models_change_nothing() -> None:
    groups, frame = drawn_study(2)
    first = tasks({"probing": frame}, groups, n_resamples=100)
    second = tasks({"probing": frame.sample(frac=1, random_state=1)}, groups.iloc[::-1], n_resamples=100)
    keys = ["model", "dataset", "metric", "variant", "reading"]
    pd.testing.assert_frame_equal(
        first.sort_values(keys, ignore_index=True), second.sort_values(keys, ignore_index=True), rtol=1e-6
    )
    alone = tasks({"probing": frame.loc[frame["model"] == "m2"]}, groups, n_resamples=100)
    both = first.loc[first["model"] == "m2"].reset_index(drop=True)
    pd.testing.assert_frame_equal(both, alone, rtol=1e-6)


def test_differences_are_taken_within_the_data_sets_that_have_both_sides() -> None:
    groups = pd.concat([groups_of("ab", "D"), groups_of("cd", "E")])
    frame = probing(
        {"group_id": "a", "consistent": "no"}, {"group_id": "b", "consistent": "yes", "lon": 10.0},
        {"group_id": "c", "consistent": "yes", "dataset": "E"}, {"group_id": "d", "consistent": "yes", "dataset": "E"},
    )  # fmt: skip
    t = tasks({"probing": frame}, groups)
    low = math.exp(-0.005 * 10 * DEGREE_KM)
    assert value(t, "csg_points") == pytest.approx(100 * (1 - low))  # data set E has no reply that saw a conflict
    assert math.isnan(value(t, "csg_points", dataset="E"))


# -- little, nothing, and wrong ----------------------------------------------------------------------------------


def test_nothing_asked_gives_no_rows() -> None:
    empty = probing({"group_id": "a"}).iloc[:0]
    for frames in ({}, {"probing": empty, "cross_task": pd.DataFrame()}):
        assert tasks(frames, groups_of()).empty


def test_all_failures_are_missing_and_never_no() -> None:
    rows = [{"group_id": g, "status": "refused", "lat": NAN, "lon": NAN} for g in "abcd"]
    t = tasks({"probing": probing(*rows)}, groups_of(), n_resamples=50)
    for metric in ("cda", "wla", "tfr", "mpr_visual", "rcs"):
        assert math.isnan(value(t, metric)), metric
    assert value(t, "cda", reading="as_failures") == 0
    assert value(t, "wla", reading="as_failures") == 0
    assert (t.loc[t["variant"] == "Adversarial", "coverage"].dropna() == 0).all()


def test_one_variant_one_scene_no_trap() -> None:
    groups = groups_of("a", trap_lat=NAN, trap_lon=NAN)
    t = tasks(
        {"probing": probing({"group_id": "a", "consistent": "no", "trusted_source": "Visual"})},
        groups,
        n_resamples=50,
    )
    assert value(t, "cda") == 1.0 and value(t, "wla") == 1.0
    assert not set(t["metric"]) & {"rcs", "tfr", "tpg_points"}  # nobody was asked about a scene with a trap
    assert t["low"].isna().all() and t["high"].isna().all()  # one scene says nothing about the spread


def test_several_samples_of_one_picture_count_as_one() -> None:
    rows = [{"group_id": "a", "sample": i, "consistent": c} for i, c in enumerate(("no", "yes", "yes", ""))]
    frame = probing(*rows, {"group_id": "b", "consistent": "no"})
    t = tasks({"probing": frame}, groups_of("ab"))
    assert value(t, "cda") == pytest.approx((1 / 3 + 1) / 2)
    assert value(t, "cda", reading="as_failures") == pytest.approx((1 / 4 + 1) / 2)


def test_words_that_are_neither_yes_nor_no_are_an_error() -> None:
    with pytest.raises(DataError, match="'partly'.*yes, no"):
        tasks({"probing": probing({"group_id": "a", "consistent": "partly"})}, groups_of())
    with pytest.raises(DataError, match="belong to no group"):
        tasks({"probing": probing({"group_id": "elsewhere"})}, groups_of())
    with pytest.raises(ConfigError, match="above 0"):
        tasks({}, groups_of(), tfr_radius_km=0)
    with pytest.raises(DataError, match="status"):
        tasks({"probing": probing({"group_id": "a"}).drop(columns="status")}, groups_of())


def test_a_saved_frame_reads_back_to_the_same_scores(tmp_path) -> None:
    groups, frame = drawn_study(4)
    frame.assign(consistent="").to_csv(tmp_path / "x.csv", index=False)  # an all-empty column reads back as numbers
    back = pd.read_csv(tmp_path / "x.csv")
    t = tasks({"probing": back}, groups)
    assert math.isnan(value(t, "cda", model="m1")) and value(t, "wla", model="m1") > 0
