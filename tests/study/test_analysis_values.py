"""Every frame of the analysis against its definition, written with plain loops over the scores."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from signpost_kit.frames import TIERS, VARIANTS
from signpost_kit.metrics import analyse, score_signpost
from signpost_kit.stats.comparisons import compare_paired

MODELS = ["a", "b", "c", "d", "e"]
READINGS = ("answered_only", "as_failures")
N_RESAMPLES = 300
PROVIDERS = {"a": "X", "b": "Y", "c": "X"}


class Made(NamedTuple):
    predictions: pd.DataFrame
    groups: pd.DataFrame
    tables: dict[str, pd.DataFrame]
    frames: dict[str, pd.DataFrame]


def made_up(n=14, sizes=(1.0, 0.6), seed=1, fail=0.08):
    rng = np.random.default_rng(seed)
    groups = pd.DataFrame(
        [
            {
                "dataset": f"D{d}",
                "group_id": f"g{i}",
                "lat": rng.uniform(-50, 50),
                "lon": rng.uniform(-170, 170),
                "trap_lat": rng.uniform(-50, 50) if i % 3 else math.nan,
                "trap_lon": rng.uniform(-170, 170) if i % 3 else math.nan,
                "tier": str(rng.choice(["T1", "T2", "T3", "T3"])),
            }
            for d, share in enumerate(sizes)
            for i in range(round(n * share))
        ]
    )
    rows = []
    for m, model in enumerate(MODELS):
        for g in groups.to_dict("records"):
            for v, variant in enumerate(VARIANTS):
                ok = rng.random() > fail
                there = variant == "Adversarial" and not math.isnan(g["trap_lat"]) and rng.random() < 0.2 + 0.1 * m
                spread = 10 ** rng.normal(-1.2 + 0.15 * m + 0.15 * v, 0.7)
                at = (g["trap_lat"], g["trap_lon"]) if there else (g["lat"], g["lon"])
                place = [a + spread * rng.normal() for a in at] if ok else [math.nan, math.nan]
                keys = {"model": model, "dataset": g["dataset"], "group_id": g["group_id"], "variant": variant}
                rows.append(keys | {"lat": place[0], "lon": place[1], "status": "ok" if ok else "refused"})
    return pd.DataFrame(rows), groups


@pytest.fixture(scope="module")
def made() -> Made:
    predictions, groups = made_up()
    options = {"n_resamples": N_RESAMPLES, "seed": 5}
    tables = score_signpost(predictions, groups, **options)
    frames = analyse(predictions, groups, provider_of=PROVIDERS, n_flips=4000, **options)
    return Made(predictions, groups, tables, frames)


def macro_of(made: Made, model: str, metric: str, variant="", reading="answered_only", *, tier=""):
    frame = made.tables["tiers" if tier else "macro"]
    rows = frame.query("dataset == 'macro' and model == @model and metric == @metric and variant == @variant")
    rows = rows.query("reading == @reading and tier == @tier")
    assert len(rows) == 1
    return rows.iloc[0]


def slow_mcrs(made, model, reading, weights, exponent):
    of = {v: macro_of(made, model, "wla", v, reading).value for v in VARIANTS}
    tbs = macro_of(made, model, "tbs_km", "Adversarial", reading).value
    tfr = macro_of(made, model, "tfr", "Adversarial", reading).value
    kept = [1 - max(0.0, of["Blank"] - of[v]) / max(of["Blank"], 0.1) for v in ("Random", "Adversarial")]
    q = [1 - min(max(0.0, tbs) / 3000, 1), 1 - min(tfr / 0.4, 1)]
    parts = dict(zip(("random", "adversarial", "tbs", "tfr"), [*kept, *q], strict=True))
    r = sum(w * parts[name] for name, w in weights.items())
    c = (of["Original"] + of["Blank"]) / 2
    return 100 * c**exponent * r ** (1 - exponent)


@pytest.mark.parametrize("reading", READINGS)
def test_sensitivity(made: Made, reading: str) -> None:
    frame = made.frames["sensitivity"].query("reading == @reading")
    assert len(frame) == 9 * len(MODELS)
    agreed = made.frames["sensitivity_ranks"].query("reading == @reading")
    study = [macro_of(made, model, "mcrs", "", reading).value for model in MODELS]
    for weight, exponent in itertools.product((0.30, 0.44, 0.50), (0.30, 0.40, 0.50)):
        rest = (1 - weight) / (0.22 + 0.17 + 0.17)
        weights = {"random": 0.22 * rest, "adversarial": weight, "tbs": 0.17 * rest, "tfr": 0.17 * rest}
        expected = [slow_mcrs(made, model, reading, weights, exponent) for model in MODELS]
        rows = frame.query("rho_adv_weight == @weight and capability_exponent == @exponent").set_index("model")
        assert rows.loc[MODELS, "mcrs"].tolist() == pytest.approx(expected)
        assert rows.loc[MODELS, "rank"].tolist() == scipy_stats.rankdata([-x for x in expected]).tolist()
        assert (rows["low"] <= rows["mcrs"]).all()
        assert (rows["mcrs"] <= rows["high"]).all()
        row = agreed.query("rho_adv_weight == @weight and capability_exponent == @exponent").iloc[0]
        assert row["kendall_tau"] == pytest.approx(scipy_stats.kendalltau(expected, study)[0])
        assert row["spearman_rho"] == pytest.approx(scipy_stats.spearmanr(expected, study)[0])
        assert row["kendall_low"] <= row["kendall_high"] <= 1
    own = frame.query("rho_adv_weight == 0.44 and capability_exponent == 0.4").set_index("model")
    for model in MODELS:  # the same number, and the same interval, as the table of scores has
        published = macro_of(made, model, "mcrs", "", reading)
        assert own.loc[model, ["mcrs", "low", "high"]].tolist() == pytest.approx(
            [published.value, published.low, published.high], rel=1e-5
        )


@pytest.mark.parametrize("reading", READINGS)
def test_ablation(made: Made, reading: str) -> None:
    frame = made.frames["ablation"].query("reading == @reading")
    full = {"random": 0.22, "adversarial": 0.44, "tbs": 0.17, "tfr": 0.17}
    study = [macro_of(made, model, "mcrs", "", reading).value for model in MODELS]
    assert list(dict.fromkeys(frame["dropped"])) == ["none", *full]
    for dropped in ("none", *full):
        kept = {name: w for name, w in full.items() if name != dropped}
        weights = {name: w / sum(kept.values()) for name, w in kept.items()}
        expected = [slow_mcrs(made, model, reading, weights, 0.4) for model in MODELS]
        rows = frame.query("dropped == @dropped").set_index("model").loc[MODELS]
        assert rows["mcrs"].tolist() == pytest.approx(expected)
        assert set(rows["kendall_tau"].round(12)) == {round(scipy_stats.kendalltau(expected, study)[0], 12)}
        assert set(rows["spearman_rho"].round(12)) == {round(scipy_stats.spearmanr(expected, study)[0], 12)}


def cells_of(made: Made, variant: str):
    """(model, dataset) -> rows of the scores of one variant, with the groups' tier and trap."""
    rows = made.tables["scores"].merge(made.groups[["dataset", "group_id", "tier"]], on=["dataset", "group_id"])
    rows = rows.loc[rows["variant"] == variant]
    return dict(list(rows.groupby(["model", "dataset"])))


def plain_mean(values):
    values = [v for v in values if not math.isnan(v)]
    return sum(values) / len(values) if values else math.nan


@pytest.mark.parametrize("reading", READINGS)
def test_other_decays(made: Made, reading: str) -> None:
    frame = made.frames["alpha"].query("reading == @reading").set_index(["model", "dataset", "variant", "alpha"])
    ranks = made.frames["alpha_ranks"].query("reading == @reading").set_index(["variant", "alpha"])
    for variant in VARIANTS:
        cells = cells_of(made, variant)
        macro = {}
        for alpha in (0.002, 0.005, 0.01):
            for model in MODELS:
                means = []
                for dataset in ("D0", "D1"):
                    errors = cells[model, dataset]["error_km"]
                    scores = [math.exp(-alpha * e) if not math.isnan(e) else 0.0 for e in errors]
                    answered = [
                        s
                        for s, e in zip(scores, errors, strict=True)
                        if not math.isnan(e) or reading == "as_failures"
                    ]
                    means.append(plain_mean(answered))
                    row = frame.loc[(model, dataset, variant, alpha)]
                    assert row["value"] == pytest.approx(means[-1])
                    assert row["n_asked"] == len(errors)
                    assert row["n_answered"] == errors.notna().sum()
                    assert row["low"] <= row["value"] <= row["high"]
                macro[model, alpha] = plain_mean(means)
                assert frame.loc[(model, "macro", variant, alpha), "value"] == pytest.approx(macro[model, alpha])
        for alpha in (0.002, 0.005, 0.01):
            pair = [[macro[model, a] for model in MODELS] for a in (alpha, 0.005)]
            expected = scipy_stats.kendalltau(*pair)[0]
            assert ranks.loc[(variant, alpha), "kendall_tau"] == pytest.approx(expected)


@pytest.mark.parametrize("reading", READINGS)
def test_other_radii(made: Made, reading: str) -> None:
    frame = made.frames["radius"].query("reading == @reading").set_index(["model", "dataset", "tier", "radius_km"])
    traps = made.groups.set_index(["dataset", "group_id"])["trap_lat"].notna()
    cells = cells_of(made, "Adversarial")
    for model, tier, radius in itertools.product(MODELS, ("", *TIERS), (10, 25, 50, 100, 250, 500)):
        rates, n = [], 0
        for dataset in ("D0", "D1"):
            rows = cells[model, dataset]
            rows = rows[[traps[dataset, g] for g in rows["group_id"]]]
            rows = rows[rows["tier"] == tier] if tier else rows
            if reading == "answered_only":
                rows = rows[rows["status"] == "ok"]
            rates.append(float((rows["trap_km"] < radius).sum() / len(rows)) if len(rows) else math.nan)
            row = frame.loc[(model, dataset, tier, radius)]
            assert row["value"] == pytest.approx(rates[-1], nan_ok=True)
            assert row["n"] == len(rows)
            n += len(rows)
        row = frame.loc[(model, "macro", tier, radius)]
        assert row["value"] == pytest.approx(plain_mean(rates), nan_ok=True)
        assert row["n"] == n


@pytest.mark.parametrize("reading", READINGS)
def test_distance_bins(made: Made, reading: str) -> None:
    frame = made.frames["bins"].query("reading == @reading")
    sums = frame.groupby(["model", "dataset", "variant"])["value"].sum()
    assert sums.tolist() == pytest.approx([1.0] * len(sums))
    edges = {"street": (0, 1), "city": (1, 25), "region": (25, 200), "country": (200, 750),
             "continent": (750, 2500), "failed": (2500, math.inf)}  # fmt: skip
    found = frame.set_index(["model", "dataset", "variant", "bin"])["value"]
    for variant in VARIANTS:
        for (model, dataset), rows in cells_of(made, variant).items():
            errors = rows["error_km"].tolist()
            total = len(errors) if reading == "as_failures" else sum(not math.isnan(e) for e in errors)
            for name, (low, high) in edges.items():
                share = sum(low <= e < high for e in errors) / total
                assert found[model, dataset, variant, name] == pytest.approx(share)
            if reading == "as_failures":
                share = sum(math.isnan(e) for e in errors) / total
                assert found[model, dataset, variant, "unanswered"] == pytest.approx(share)


def test_cohorts(made: Made) -> None:
    groups = made.groups.assign(trap=made.groups["trap_lat"].notna())
    frame = made.frames["cohort"].set_index(["dataset", "tier"])
    models = made.frames["cohort_models"].set_index(["model", "dataset", "tier"])
    scores = made.tables["scores"].set_index(["model", "dataset", "group_id", "variant"])["status"].sort_index()
    for dataset, tier in itertools.product(("D0", "D1", "all"), ("", *TIERS)):
        part = groups if dataset == "all" else groups[groups["dataset"] == dataset]
        part = part[part["tier"] == tier] if tier else part
        row = frame.loc[(dataset, tier)]
        assert (row["n_groups"], row["n_geocodable"]) == (len(part), part["trap"].sum())
        assert row["share"] == pytest.approx(part["trap"].mean() if len(part) else math.nan, nan_ok=True)
        for model in MODELS:
            tfr = tdr = 0
            for g in part[part["trap"]].itertuples():
                here = scores[model, g.dataset, g.group_id]
                tfr += here["Adversarial"] == "ok"
                tdr += here["Adversarial"] == "ok" and here["Blank"] == "ok"
            mine = models.loc[(model, dataset, tier)]
            assert (mine["tfr_answered"], mine["tdr_answered"]) == (tfr, tdr)
            assert (mine["tfr_asked"], mine["tdr_asked"]) == (part["trap"].sum(), part["trap"].sum())


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("dataset", ["", "D0", "D1"])
def test_wilcoxon_tests(made: Made, reading: str, dataset: str) -> None:
    frame = made.frames["tests"].query("reading == @reading and dataset == @dataset").set_index("model")
    wla = made.tables["scores"].pivot(index=["model", "dataset", "group_id"], columns="variant", values="wla")
    p_values = []
    for model in MODELS:
        pairs = wla.loc[model]
        pairs = pairs.loc[[dataset]] if dataset else pairs
        before, after = pairs["Original"], pairs["Adversarial"]
        if reading == "as_failures":
            before, after = before.fillna(0), after.fillna(0)
        both = before.notna() & after.notna()
        difference = (before - after)[both]
        expected = scipy_stats.wilcoxon(difference[difference != 0], alternative="greater")
        row = frame.loc[model]
        assert row["p"] == pytest.approx(expected.pvalue)
        assert row["statistic"] == expected.statistic
        n = int((difference != 0).sum())
        assert (row["n_pairs"], row["n_used"], row["n_missing"]) == (both.sum(), n, len(pairs) - both.sum())
        assert row["rank_biserial"] == pytest.approx(2 * expected.statistic / (n * (n + 1) / 2) - 1)
        assert row["low"] <= row["rank_biserial"] <= row["high"]
        p_values.append(expected.pvalue)
    order = np.argsort(p_values)
    running, holm = 0.0, [0.0] * len(MODELS)
    for step, place in enumerate(order):
        running = max(running, (len(MODELS) - step) * p_values[place])
        holm[place] = min(running, 1.0)
    assert frame.loc[MODELS, "p_holm"].tolist() == pytest.approx(holm)


def test_correlations(made: Made) -> None:
    frame = made.frames["correlations"].query("reading == 'answered_only'").set_index(["x", "y", "kind"])
    tbs = [macro_of(made, m, "tbs_km", "Adversarial").value for m in MODELS]
    tfr = [macro_of(made, m, "tfr", "Adversarial").value for m in MODELS]
    mcrs = [macro_of(made, m, "mcrs").value for m in MODELS]
    after = [macro_of(made, m, "wla", "Adversarial").value for m in MODELS]
    measures = (
        ("spearman", scipy_stats.spearmanr),
        ("kendall", scipy_stats.kendalltau),
        ("pearson", scipy_stats.pearsonr),
    )
    for (x, y), pair in ((("tbs_km_adversarial", "tfr"), (tbs, tfr)), (("mcrs", "wla_adversarial"), (mcrs, after))):
        for kind, measure in measures:
            row, expected = frame.loc[(x, y, kind)], measure(*pair)
            assert row["value"] == pytest.approx(expected[0])
            assert row["p"] == pytest.approx(expected[1])
            assert row["n"] == len(MODELS)
            assert -1 <= row["low"] <= row["high"] <= 1
    assert frame.loc[("tbs_km_adversarial", "tfr", "spearman"), "quantity"] == "spearman_tbs_tfr"


def test_standings_and_ranks(made: Made) -> None:
    standings = made.frames["standings"].set_index(["metric", "variant", "reading", "model"]).sort_index()
    for (metric, variant, reading, model), row in standings.iterrows():
        if metric == "drop_points":
            parts = [macro_of(made, model, "wla", v, reading).value for v in ("Original", "Adversarial")]
            assert row["value"] == pytest.approx(100 * (parts[0] - parts[1]))
            continue
        expected = macro_of(made, model, metric, variant, reading)
        assert row["value"] == pytest.approx(expected.value)
        assert [row["low"], row["high"]] == pytest.approx([expected.low, expected.high], rel=1e-4, abs=1e-5)
        assert row["coverage"] == pytest.approx(expected.coverage)
    tfr = standings.loc[("tfr", "Adversarial", "answered_only")]
    assert tfr.loc[MODELS, "rank"].tolist() == scipy_stats.rankdata(tfr.loc[MODELS, "value"], "min").tolist()
    ranks = made.frames["ranks"].query("metric == 'mcrs' and reading == 'answered_only'")
    table = ranks.pivot(index="model", columns="rank", values="probability")
    assert table.sum(axis=1).tolist() == pytest.approx([1.0] * len(MODELS))
    assert table.sum(axis=0).tolist() == pytest.approx([1.0] * len(MODELS))
    mine = standings.loc[("mcrs", "", "answered_only")].loc[table.index]
    assert (table @ np.arange(1, 6)).tolist() == pytest.approx(mine["mean_rank"].tolist())
    assert table[1].tolist() == pytest.approx(mine["p_first"].tolist())


@pytest.mark.parametrize("reading", READINGS)
def test_pairs_equal_the_paired_comparison_of_two_vectors(made: Made, reading: str) -> None:
    frame = made.frames["pairs"].query("reading == @reading").set_index(["metric", "variant", "model_a", "model_b"])
    wla = made.tables["scores"].pivot(index=["dataset", "group_id"], columns=["model", "variant"], values="wla")
    wla = wla.fillna(0) if reading == "as_failures" else wla
    datasets = wla.index.get_level_values("dataset").to_numpy()
    for first, second in itertools.combinations(MODELS, 2):
        for variant in ("Original", "Adversarial"):
            delta = wla[first, variant], wla[second, variant]
            expected = compare_paired(*delta, np.arange(len(wla)), datasets, n_resamples=2000, seed=9)
            row = frame.loc[("wla", variant, first, second)]
            assert row["difference"] == pytest.approx(expected.difference)
            width = expected.high - expected.low
            assert [row["low"], row["high"]] == pytest.approx([expected.low, expected.high], abs=0.15 * width)
            assert row["p"] == pytest.approx(expected.p, abs=0.03)  # other flips: standard error of p below 0.01
            assert row["n_groups"] == expected.n
    for key, family in frame.groupby(["metric", "variant"]):
        assert len(family) == 10, key
        assert (family["p_holm"] >= family["p"]).all()


def test_means_over_models(made: Made) -> None:
    aggregate = made.frames["aggregate"].query("reading == 'answered_only'")
    whole = aggregate.query("dataset == 'macro'").set_index(["metric", "variant", "tier"])
    providers = made.frames["providers"].query("reading == 'answered_only'")
    assert list(dict.fromkeys(providers["provider"])) == ["X", "Y", "Other"]
    by_provider = providers.set_index(["provider", "metric", "variant", "tier"])
    for metric, variant, tier in (
        ("wla", "Original", ""), ("mcrs", "", ""), ("robustness", "", ""), ("tfr", "Adversarial", ""),
        ("median_error_km", "Adversarial", ""), ("acc_200", "Blank", ""), ("wla", "Adversarial", "T3"),
        ("drop_points", "Adversarial", "T2"),
    ):  # fmt: skip
        each = {model: macro_of(made, model, metric, variant, tier=tier).value for model in MODELS}
        row = whole.loc[(metric, variant, tier)]
        ends = min(sorted(each), key=each.get), max(sorted(each), key=each.get)
        assert row["value"] == pytest.approx(np.mean(list(each.values())))
        assert row["low"] <= row["value"] <= row["high"]
        assert (row["lowest_model"], row["highest_model"]) == (ends[0], ends[1])
        assert [row["lowest"], row["highest"]] == pytest.approx([min(each.values()), max(each.values())])
        for provider, models in (("X", "ac"), ("Y", "b"), ("Other", "de")):
            mine = by_provider.loc[(provider, metric, variant, tier)]
            assert mine["value"] == pytest.approx(np.mean([each[m] for m in models]))
            assert mine["n_models"] == len(models)
        alone, table = (
            by_provider.loc[("Y", metric, variant, tier)],
            macro_of(made, "b", metric, variant, tier=tier),
        )
        if metric != "median_error_km":  # the table draws medians in another way
            assert [alone["low"], alone["high"]] == pytest.approx([table.low, table.high], rel=1e-4, abs=1e-5)
    # A mean over models is surer than one model, less sure than if their scenes were not the same.
    spread = {m: macro_of(made, m, "wla", "Original") for m in MODELS}
    row = whole.loc[("wla", "Original", "")]
    assert row["high"] - row["low"] < max(s.high - s.low for s in spread.values())


def test_facts_of_all_models_together(made: Made) -> None:
    facts = made.frames["aggregate"].query("reading == 'answered_only'")
    value = facts.set_index(["metric", "variant", "tier", "dataset"])["value"]
    cells = made.tables["cells"].query("metric == 'wla' and reading == 'answered_only'")
    cells = cells.pivot(index=["model", "dataset"], columns="variant", values="value")
    assert value["cells_declining", "Adversarial", "", ""] == (cells["Adversarial"] < cells["Original"]).sum()
    assert value["cells_similar_above_original", "Similar", "", ""] == (cells["Similar"] > cells["Original"]).sum()
    assert value["cells", "Adversarial", "", ""] == 10
    for dataset in ("D0", "D1"):
        part = cells.xs(dataset, level="dataset")
        assert value["wla", "Random", "", dataset] == pytest.approx(part["Random"].mean())
        lost = 100 * (part["Original"] - part["Adversarial"]).mean()
        assert value["drop_points", "Adversarial", "", dataset] == pytest.approx(lost)
    means = {v: np.mean([macro_of(made, m, "wla", v).value for m in MODELS]) for v in VARIANTS}
    relative = 100 * (means["Original"] - means["Adversarial"]) / means["Original"]
    assert value["drop_percent_of_means", "Adversarial", "", "macro"] == pytest.approx(relative)
    gap = value["original_minus_blank_points", "Blank", "", "macro"]
    assert gap == pytest.approx(100 * (means["Original"] - means["Blank"]))
    within = np.mean([macro_of(made, m, "acc_2500", "Original").value for m in MODELS])
    assert value["beyond_2500", "Original", "", "macro"] == pytest.approx(1 - within)


def test_same_seed_same_frames_in_any_order_of_rows(made: Made) -> None:
    shuffled = made.predictions.sample(frac=1, random_state=3)
    again = analyse(shuffled, made.groups.sample(frac=1, random_state=4).sort_values("dataset", kind="stable"),
                    provider_of=PROVIDERS, n_resamples=N_RESAMPLES, n_flips=4000, seed=5)  # fmt: skip
    for name, frame in made.frames.items():
        keys = [c for c in frame.columns if frame[c].dtype.kind not in "fi" or c in ("rank", "alpha", "radius_km")]
        if name == "pairs":  # a minus b may become b minus a
            continue
        pd.testing.assert_frame_equal(
            frame.sort_values(keys, ignore_index=True, kind="stable"),
            again[name].sort_values(keys, ignore_index=True, kind="stable"),
            check_dtype=False, rtol=1e-4, atol=1e-4,
        )  # fmt: skip
