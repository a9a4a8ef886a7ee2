"""score_signpost against a slow definition written with plain loops, and at every edge."""

from __future__ import annotations

import math
import statistics
import warnings

import numpy as np
import pandas as pd
import pytest

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.frames import TIERS, VARIANTS, check_frame
from signpost_kit.metrics import score_signpost

NAN = math.nan
READINGS = ("answered_only", "as_failures")


def make(n_models=2, sizes=(7, 12), seed=0, fail=0.25, skip=0.1):
    """Random predictions: some fail, some were never asked, half of the groups have a trap, some are trapped."""
    rng = np.random.default_rng(seed)
    groups, rows = [], []
    for d, n in enumerate(sizes):
        for i in range(n):
            has_trap = rng.random() < 0.5
            groups.append(
                {
                    "dataset": f"D{d}",
                    "group_id": f"g{i}",  # the same ids in every dataset
                    "lat": rng.uniform(-60, 60),
                    "lon": rng.uniform(-170, 170),
                    "trap_lat": rng.uniform(-60, 60) if has_trap else NAN,
                    "trap_lon": rng.uniform(-170, 170) if has_trap else NAN,
                    "tier": str(rng.choice(["T1", "T2", "T3", ""])),
                }
            )
    for m in range(n_models):
        for group in groups:
            for variant in VARIANTS:
                if rng.random() < skip:
                    continue
                ok = rng.random() > fail
                trapped = variant == "Adversarial" and rng.random() < 0.4 and not math.isnan(group["trap_lat"])
                base = (group["trap_lat"], group["trap_lon"]) if trapped else (group["lat"], group["lon"])
                rows.append(
                    {
                        "model": f"m{m}",
                        "dataset": group["dataset"],
                        "group_id": group["group_id"],
                        "variant": variant,
                        "lat": base[0] + rng.normal(0, 1) if ok else NAN,
                        "lon": base[1] + rng.normal(0, 1) if ok else NAN,
                        "status": "ok" if ok else str(rng.choice(["refused", "error"])),
                    }
                )
    return pd.DataFrame(rows), pd.DataFrame(groups)


def km(lat1, lon1, lat2, lon2):
    """The law of cosines on unit vectors: another formula than the package's."""
    a, b, c, d = map(math.radians, (lat1, lon1, lat2, lon2))
    u = (math.cos(a) * math.cos(b), math.cos(a) * math.sin(b), math.sin(a))
    v = (math.cos(c) * math.cos(d), math.cos(c) * math.sin(d), math.sin(c))
    cross = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    return 6371.0 * math.atan2(math.hypot(*cross), sum(p * q for p, q in zip(u, v, strict=True)))


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else NAN


def slow_cell(predictions, groups, model, dataset, reading):
    """Every score of one model on one dataset, by its definition: {(metric, variant, tier): value}."""
    known = {g.group_id: g for g in groups.itertuples() if g.dataset == dataset}
    asked = {
        (p.variant, p.group_id): p for p in predictions.itertuples() if (p.model, p.dataset) == (model, dataset)
    }
    error, trap = {}, {}
    for (variant, group), p in asked.items():
        if p.status == "ok":
            g = known[group]
            error[variant, group] = km(p.lat, p.lon, g.lat, g.lon)
            if not math.isnan(g.trap_lat):
                trap[variant, group] = km(p.lat, p.lon, g.trap_lat, g.trap_lon)
    out = {}
    as_failures = reading == "as_failures"

    def wla(keys):
        scores = [math.exp(-0.005 * error[k]) if k in error else 0.0 for k in keys if k in error or as_failures]
        return mean(scores)

    for variant in VARIANTS:
        keys = [k for k in asked if k[0] == variant]
        out["wla", variant, ""] = wla(keys)
        for limit in (1, 25, 200, 750, 2500):
            hits = [error[k] < limit if k in error else False for k in keys if k in error or as_failures]
            out[f"acc_{limit}", variant, ""] = mean(hits)
        out["mean_error_km", variant, ""] = mean(error[k] for k in keys if k in error)
        ranked = [error.get(k, math.inf) for k in keys if k in error or as_failures]
        middle = statistics.median(ranked) if ranked else NAN
        out["median_error_km", variant, ""] = middle if math.isfinite(middle) else NAN
        if variant in ("Original", "Blank", "Adversarial"):
            for tier in TIERS:
                out["wla", variant, tier] = wla([k for k in keys if known[k[1]].tier == tier])
    for variant in ("Similar", "Random", "Adversarial"):
        both = [g for g in known if (variant, g) in error and ("Blank", g) in error]
        out["tbs_km", variant, ""] = mean(error[variant, g] - error["Blank", g] for g in both)
    eligible = [g for g in known if ("Adversarial", g) in asked and not math.isnan(known[g].trap_lat)]
    if not as_failures:
        eligible = [g for g in eligible if ("Adversarial", g) in trap]
    out["tfr", "Adversarial", ""] = mean(trap.get(("Adversarial", g), math.inf) < 50 for g in eligible)
    drawn = [
        trap["Blank", g] - trap["Adversarial", g]
        for g in known
        if ("Blank", g) in trap and ("Adversarial", g) in trap
    ]
    out["tdr_km_mean", "Adversarial", ""] = mean(drawn)
    out["tdr_km_median", "Adversarial", ""] = statistics.median(drawn) if drawn else NAN
    out["attraction_rate", "Adversarial", ""] = mean(x > 0 for x in drawn)
    return out


def slow_macro(cells):
    macro = {key: mean(c[key] for c in cells if not math.isnan(c[key])) for key in cells[0]}
    w = {v: macro["wla", v, ""] for v in VARIANTS}
    for v in ("Similar", "Random", "Adversarial"):
        macro["retention", v, ""] = min(1, max(0, 1 - max(0, w["Blank"] - w[v]) / max(w["Blank"], 0.1)))
    macro["q_tbs", "Adversarial", ""] = 1 - min(1, max(0, macro["tbs_km", "Adversarial", ""]) / 3000)
    macro["q_tfr", "Adversarial", ""] = 1 - min(1, macro["tfr", "Adversarial", ""] / 0.4)
    macro["capability", "", ""] = 0.5 * w["Original"] + 0.5 * w["Blank"]
    macro["robustness", "", ""] = (
        0.22 * macro["retention", "Random", ""]
        + 0.44 * macro["retention", "Adversarial", ""]
        + 0.17 * macro["q_tbs", "Adversarial", ""]
        + 0.17 * macro["q_tfr", "Adversarial", ""]
    )
    macro["mcrs", "", ""] = 100 * macro["capability", "", ""] ** 0.4 * macro["robustness", "", ""] ** 0.6
    return macro


def as_dict(frame, model, dataset, reading):
    part = frame[(frame["model"] == model) & (frame["dataset"] == dataset) & (frame["reading"] == reading)]
    keys = list(zip(part["metric"], part["variant"], part["tier"], strict=True))
    assert len(keys) == len(set(keys))
    return dict(zip(keys, part["value"], strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_every_score_equals_its_slow_definition(seed):
    predictions, groups = make(seed=seed)
    tables = score_signpost(predictions, groups, n_resamples=0)
    for reading in READINGS:
        for model in ("m0", "m1"):
            cells = [slow_cell(predictions, groups, model, d, reading) for d in ("D0", "D1")]
            for dataset, expected in zip(("D0", "D1"), cells, strict=True):
                found = as_dict(tables["cells"], model, dataset, reading)
                assert found == pytest.approx({k: v for k, v in expected.items() if not k[2]}, nan_ok=True)
                tiers = as_dict(tables["tiers"], model, dataset, reading)
                for key, value in expected.items():
                    if key[2]:
                        assert tiers[key] == pytest.approx(value, nan_ok=True)
            expected = slow_macro(cells)
            found = as_dict(tables["macro"], model, "macro", reading)
            assert found == pytest.approx({k: v for k, v in expected.items() if not k[2]}, nan_ok=True)
            tiers = as_dict(tables["tiers"], model, "macro", reading)
            for tier in TIERS:
                before, after = expected["wla", "Original", tier], expected["wla", "Adversarial", tier]
                assert tiers["drop_points", "Adversarial", tier] == pytest.approx(
                    100 * (before - after), nan_ok=True
                )
                percent = 100 * (before - after) / before if before else NAN
                assert tiers["drop_percent", "Adversarial", tier] == pytest.approx(percent, nan_ok=True)


def test_coverage_counts_by_hand():
    predictions, groups = make(n_models=1, sizes=(3,), fail=0, skip=0)
    failed = (predictions["variant"] == "Blank") & (predictions["group_id"] == "g1")
    predictions.loc[failed, ["lat", "lon"]] = NAN
    predictions.loc[failed, "status"] = "refused"
    missing = (predictions["variant"] == "Similar") & (predictions["group_id"] == "g2")
    macro = score_signpost(predictions[~missing], groups, n_resamples=0)["macro"]
    macro = macro[macro["reading"] == "answered_only"].set_index(["metric", "variant"])
    counts = macro[["n_asked", "n_answered", "coverage"]]
    assert counts.loc[("wla", "Blank")].tolist() == [3, 2, pytest.approx(2 / 3)]
    assert counts.loc[("wla", "Similar")].tolist() == [2, 2, 1.0]
    assert counts.loc[("tbs_km", "Similar")].tolist() == [2, 1, 0.5]  # g1 lacks Blank, g2 was not asked
    assert counts.loc[("tbs_km", "Adversarial")].tolist() == [3, 2, pytest.approx(2 / 3)]


def test_macro_counts_are_sums_over_datasets():
    predictions, groups = make(n_models=1, sizes=(3, 5), fail=0, skip=0)
    macro = score_signpost(predictions, groups, n_resamples=0)["macro"]
    assert set(macro.loc[macro["metric"] == "wla", "n_asked"]) == {8}


def test_scores_frame_keeps_rows_and_adds_distances():
    predictions, groups = make()
    scores = score_signpost(predictions.assign(note="x"), groups, n_resamples=0)["scores"]
    check_frame(scores, "scores")
    assert len(scores) == len(predictions)
    assert list(scores.columns[-1:]) == ["note"]
    answered = scores["status"] == "ok"
    assert scores.loc[answered, "error_km"].notna().all()
    assert scores.loc[~answered, ["error_km", "wla", "trap_km"]].isna().all().all()


def test_categories_row_order_and_group_order_change_nothing():
    predictions, groups = make()
    plain = score_signpost(predictions, groups, n_resamples=50)
    shuffled = predictions.sample(frac=1, random_state=1)
    text = ["model", "dataset", "group_id", "variant", "status"]
    as_category = shuffled.astype(dict.fromkeys(text, "category"))
    as_category["model"] = as_category["model"].cat.add_categories("never used")
    other = score_signpost(as_category, groups.iloc[::-1], n_resamples=50)
    keys = ["model", "dataset", "metric", "variant", "tier", "reading"]
    for name in ("cells", "macro", "tiers"):
        a, b = (t[name].sort_values(keys, ignore_index=True) for t in (plain, other))
        pd.testing.assert_frame_equal(a, b, rtol=1e-5)


def test_a_benchmark_serves_as_groups():
    predictions, groups = make(n_models=1)

    class Bench:
        def to_frame(self):
            return groups

    a, b = score_signpost(predictions, Bench(), n_resamples=0), score_signpost(predictions, groups, n_resamples=0)
    pd.testing.assert_frame_equal(a["macro"], b["macro"])


def test_intervals_hold_the_estimate_and_follow_the_seed():
    predictions, groups = make(n_models=1, sizes=(40, 60), fail=0.1, skip=0)
    macro = score_signpost(predictions, groups, n_resamples=400, seed=3)["macro"]
    known = macro["low"].notna()
    assert known.mean() > 0.95
    assert (macro.loc[known, "low"] <= macro.loc[known, "value"] + 1e-6).mean() > 0.97
    assert (macro.loc[known, "value"] <= macro.loc[known, "high"] + 1e-6).mean() > 0.97
    again = score_signpost(predictions, groups, n_resamples=400, seed=3)["macro"]
    pd.testing.assert_frame_equal(macro, again)
    other = score_signpost(predictions, groups, n_resamples=400, seed=4)["macro"]
    assert not np.allclose(macro["low"], other["low"], equal_nan=True)


@pytest.mark.parametrize("n_resamples", [0, 30])
def test_edges_give_nan_with_coverage_and_no_warning(n_resamples):
    predictions, groups = make(n_models=1, sizes=(6,))
    no_trap = groups.assign(trap_lat=NAN, trap_lon=NAN)
    all_failed = predictions.assign(lat=NAN, lon=NAN, status="error")
    only_original = predictions[predictions["variant"] == "Original"]
    one_group = predictions[predictions["group_id"] == "g0"]
    nobody = predictions.iloc[:0]
    no_tier = groups.assign(tier="")
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        def macro(p, g=groups):
            frame = score_signpost(p, g, n_resamples=n_resamples)["macro"]
            return frame.set_index(["metric", "variant", "reading"])

        table = macro(predictions, no_trap)
        assert math.isnan(table.loc[("tfr", "Adversarial", "answered_only"), "value"])
        assert math.isnan(table.loc[("tfr", "Adversarial", "answered_only"), "coverage"])
        assert math.isnan(table.loc[("mcrs", "", "answered_only"), "value"])
        assert not math.isnan(table.loc[("capability", "", "answered_only"), "value"])
        table = macro(all_failed)
        assert math.isnan(table.loc[("wla", "Blank", "answered_only"), "value"])
        assert table.loc[("wla", "Blank", "as_failures"), "value"] == 0.0
        assert table.loc[("wla", "Blank", "as_failures"), "coverage"] == 0.0
        assert math.isnan(table.loc[("median_error_km", "Blank", "as_failures"), "value"])
        table = macro(only_original)
        assert not math.isnan(table.loc[("wla", "Original", "answered_only"), "value"])
        assert math.isnan(table.loc[("wla", "Blank", "answered_only"), "value"])
        assert table.loc[("wla", "Blank", "answered_only"), "n_asked"] == 0
        table = macro(one_group)
        assert table["low"].isna().all()  # one cluster says nothing about spread
        assert len(macro(nobody)) == 0
        assert len(macro(nobody, groups.iloc[:0])) == 0
        score_signpost(predictions, no_tier, n_resamples=n_resamples)


def test_samples_of_one_request_are_averaged_first():
    groups = pd.DataFrame(
        {
            "dataset": "D",
            "group_id": ["a", "b"],
            "lat": 0.0,
            "lon": 0.0,
            "trap_lat": NAN,
            "trap_lon": NAN,
            "tier": "T1",
        }
    )
    rows = [("a", 0.0, "ok"), ("a", 1.0, "ok"), ("a", NAN, "refused"), ("b", 0.0, "ok")]
    predictions = pd.DataFrame(rows, columns=["group_id", "lat", "status"]).assign(
        model="m", dataset="D", variant="Blank", lon=lambda f: f["lat"], sample=[0, 1, 2, 0]
    )
    macro = score_signpost(predictions, groups, n_resamples=20)["macro"].set_index(["metric", "variant", "reading"])
    far = math.exp(-0.005 * km(1, 1, 0, 0))
    assert macro.loc[("wla", "Blank", "answered_only"), "value"] == pytest.approx(((1 + far) / 2 + 1) / 2)
    assert macro.loc[("wla", "Blank", "as_failures"), "value"] == pytest.approx(((1 + far) / 3 + 1) / 2)
    assert macro.loc[("wla", "Blank", "as_failures"), "coverage"] == 0.75
    with pytest.raises(DataError, match=r"'m' has two predictions for group 'a', Blank"):
        score_signpost(predictions.drop(columns="sample"), groups)


def test_an_ok_off_the_globe_is_no_answer():
    predictions, groups = make(n_models=1, sizes=(3,), fail=0, skip=0)
    predictions.loc[0, "lat"] = 100.5
    predictions.loc[1, "lon"] = NAN
    scores = score_signpost(predictions, groups, n_resamples=0)["scores"]
    assert scores["status"].tolist()[:3] == ["out_of_range", "unparseable", "ok"]
    assert scores["error_km"].isna().tolist()[:3] == [True, True, False]


def test_one_reading_on_request():
    predictions, groups = make(n_models=1)
    tables = score_signpost(predictions, groups, n_resamples=0, failures="as_failures")
    assert set(tables["macro"]["reading"]) == {"as_failures"}
    assert set(tables["tiers"]["reading"]) == {"as_failures"}
    with pytest.raises(ConfigError, match="answered_only, as_failures, both"):
        score_signpost(predictions, groups, failures="drop")


def test_frames_that_do_not_fit_are_named():
    predictions, groups = make(n_models=1)
    with pytest.raises(DataError, match="belong to no group, first: 'g9'"):
        score_signpost(predictions[predictions["group_id"] == "g9"], groups[groups["group_id"] != "g9"])
    with pytest.raises(DataError, match="variant 'blank'"):
        score_signpost(predictions.replace({"variant": {"Blank": "blank"}}), groups)
    with pytest.raises(DataError, match="stands twice"):
        score_signpost(predictions, pd.concat([groups, groups.iloc[:1]]))
    with pytest.raises(DataError, match="no position on the globe"):
        score_signpost(predictions, groups.assign(lat=95.0))
    with pytest.raises(DataError, match="lacks the column"):
        score_signpost(predictions.drop(columns="status"), groups)
    with pytest.raises(DataError, match="without model"):
        score_signpost(predictions.assign(model=None), groups)
    with pytest.raises(ConfigError, match="tfr_radius_km"):
        score_signpost(predictions, groups, tfr_radius_km=0)
