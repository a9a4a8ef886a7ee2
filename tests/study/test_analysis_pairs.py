"""The permutation test of derived scores, against every sign vector of what the groups add, worked out slowly."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from signpost_kit.frames import VARIANTS
from signpost_kit.metrics import analyse, score_signpost


def made_up() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two models on nine groups of two datasets; `d` errs more and falls for more traps."""
    rng = np.random.default_rng(5)
    n = 9
    groups = pd.DataFrame(
        {
            "dataset": ["D0"] * 5 + ["D1"] * 4,
            "group_id": [f"g{i}" for i in range(n)],
            "lat": rng.uniform(-50, 50, n),
            "lon": rng.uniform(-170, 170, n),
            "trap_lat": np.where(np.arange(n) % 3, rng.uniform(-50, 50, n), np.nan),
            "trap_lon": np.where(np.arange(n) % 3, rng.uniform(-170, 170, n), np.nan),
            "tier": "T2",
        }
    )
    parts = []
    for model, skill, gullible in (("a", -0.6, 0.2), ("d", -0.4, 0.5)):
        for v, variant in enumerate(VARIANTS):
            spread = np.minimum(10 ** rng.normal(skill + 0.15 * v, 0.7, n), 8.0)
            fell = groups["trap_lat"].notna() & (rng.random(n) < gullible) & (variant == "Adversarial")
            at = {
                c: np.where(fell, groups[f"trap_{c}"], groups[c]) + spread * rng.normal(size=n)
                for c in ("lat", "lon")
            }
            parts.append(groups[["dataset", "group_id"]].assign(model=model, variant=variant, status="ok", **at))
    return pd.concat(parts, ignore_index=True), groups


def slow_scores(parts):
    """(capability, robustness, mcrs) from WLA Original, Blank, Random, Adversarial, TBS, TFR; plain arithmetic."""
    original, blank, random, adversarial, tbs, tfr = parts
    kept = [1 - max(0.0, blank - w) / max(blank, 0.1) for w in (random, adversarial)]
    able = (original + blank) / 2
    robust = (
        0.22 * kept[0] + 0.44 * kept[1] + 0.17 * (1 - min(max(0, tbs) / 3000, 1)) + 0.17 * (1 - min(tfr / 0.4, 1))
    )
    return able, robust, 100 * able**0.4 * robust**0.6


def test_p_of_derived_scores_equals_all_sign_vectors_of_what_groups_add() -> None:
    predictions, groups = made_up()
    frames = analyse(predictions, groups, n_resamples=0, n_flips=20_000)
    found = frames["pairs"].query("reading == 'answered_only'").set_index("metric")
    scores = score_signpost(predictions, groups, n_resamples=0)["scores"]
    names = list(zip(groups["dataset"], groups["group_id"], strict=True))
    value = scores.set_index(["model", "dataset", "group_id", "variant"])
    traps = groups.set_index(["dataset", "group_id"])["trap_lat"].notna()

    def of(model, name, column, variant):
        return value.loc[(model, *name, variant), column]

    # What each group adds to each model's six parts: its value over the number of groups of its dataset that count.
    added = {model: np.zeros((6, len(names))) for model in "ad"}
    for model, (n, name) in itertools.product("ad", enumerate(names)):
        here = sum(other[0] == name[0] for other in names)
        trapped = sum(other[0] == name[0] and traps[other] for other in names)
        for k, variant in enumerate(("Original", "Blank", "Random", "Adversarial")):
            added[model][k, n] = of(model, name, "wla", variant) / here / 2
        shift = of(model, name, "error_km", "Adversarial") - of(model, name, "error_km", "Blank")
        added[model][4, n] = shift / here / 2
        if traps[name]:
            added[model][5, n] = (of(model, name, "trap_km", "Adversarial") < 50) / trapped / 2
    ends = [added[model].sum(axis=1) for model in "ad"]
    # The mean slope along the way from d to a, in many small one-sided steps.
    slopes, steps = np.zeros((3, 6)), 4000
    for step in range(steps):
        at = ends[1] + (step + 0.5) / steps * (ends[0] - ends[1])
        for k, nudge in enumerate((1e-7, 1e-7, 1e-7, 1e-7, 1e-3, 1e-7)):
            moved = at.copy()
            moved[k] += nudge
            slopes[:, k] += (np.array(slow_scores(moved)) - slow_scores(at)) / nudge / steps
    signs = np.array(list(itertools.product((-1, 1), repeat=len(names))))
    differences = np.array(slow_scores(ends[0])) - slow_scores(ends[1])
    for number, metric in enumerate(("capability", "robustness", "mcrs")):
        each = slopes[number] @ (added["a"] - added["d"])
        assert each.sum() == pytest.approx(differences[number], rel=0.01)
        assert found.loc[metric, "difference"] == pytest.approx(differences[number])
        exact = np.mean(np.abs(signs @ each) >= abs(each.sum()) - 1e-9)
        assert found.loc[metric, "p"] == pytest.approx(exact, abs=0.013)  # 20,000 of the 512 sign vectors
        assert 0.02 < exact < 0.98
