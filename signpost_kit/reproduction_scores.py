"""SIGNPOST-Bench's numbers from scores, see :mod:`signpost_kit.reproduction_study`: one function per family."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from signpost_kit.figures.cells import pick, rows_of
from signpost_kit.metrics.mcrs import mcrs, robustness, weights_with, weights_without
from signpost_kit.metrics.paper import (
    CAPABILITY_EXPONENT,
    ROBUSTNESS_WEIGHTS,
    SENSITIVITY_ADVERSARIAL_WEIGHTS,
    SENSITIVITY_EXPONENTS,
)
from signpost_kit.published import published
from signpost_kit.published_frames import PUBLISHED, published_frames
from signpost_kit.reproduction import Found, exactly
from signpost_kit.reproduction_study import N_MODELS, Study
from signpost_kit.stats.ranks import rank_agreement

__all__ = ["from_scores", "reasons"]

_FOUR = ("Gemini-2.5-Flash", "GPT-4o-mini", "Kimi-K2.5", "Qwen3-VL-Plus")
"""Models of the ablation with Blank as baseline, appendix G."""
_TWO = {"gemini25flash": "Gemini-2.5-Flash", "gpt4omini": "GPT-4o-mini"}
_NAN = math.nan


def reasons(study: Study | None) -> dict[str, str]:
    """For every number that only scores can give: what to bring."""
    no_run = "Needs the study's replies."
    if study is not None and study.models:
        no_run = "The imported release has nothing for it."
    out: dict[str, str] = {}
    for pattern, needs in _NEEDS.items():
        for quantity in _all_quantities():
            if re.fullmatch(pattern, quantity):
                out.setdefault(quantity, needs.format(no_run=no_run))
    return out


_OR_TABLE = "{{no_run}} Or add {0} of the paper as {1}.csv."
_NEEDS: dict[str, str] = {
    r"edit_\w+_sd": "The 120 ratings themselves are needed; the release does not hold them.",
    r"edit_.*": "The ratings are needed; the release does not hold them.",
    r"taxonomy_.*": "{no_run} Its taxonomy_annotations.csv has the annotators' tiers.",
    r"qwen3vl30b_identical_targets": "The rejected replacements are needed; the release holds the used ones.",
    r"scene_text_spans|geocodable_groups|groups_.*|tier_.*": "{no_run}",
    r"probe_.*|defense_.*": "{no_run} (Probing and defense of two models.)",
    r"conflict_recall.*|text_dominance.*": "{no_run} (Cross-task questions to two models.)",
    r"(min|max)_wla_loss.*|cells_declining|similar_above.*": _OR_TABLE.format("tables 20 to 23", "tab20"),
    r"T[123]_.*": _OR_TABLE.format("table 11", "tab11"),
    r"tdr_.*|attraction_.*": _OR_TABLE.format("table 17", "tab17"),
    r"(median_error|acc|beyond).*|mean_tbs_(similar|random)": "{no_run}",
    r".*": _OR_TABLE.format("table 1", "tab01"),
}  # fmt: skip


def _all_quantities() -> list[str]:
    names: list[str] = []
    for table in ("signpost/aggregate_facts", "signpost/quoted_facts"):
        names += published(table)["quantity"].astype(str).tolist()
    names += [f"groups_{name}" for name in published("signpost/composition")["dataset"]]
    return [
        *names,
        *(f"{name} of {n} models" for name in ("capability", "robustness") for n in range(N_MODELS + 1)),
    ]


def from_scores(study: Study, *, claims: Collection[str]) -> dict[str, list[Found]]:
    """What a study's scores say of the `claims`. A mean over models is one over all 20, or it says of how many."""
    if study.macro.empty and study.groups is None:
        return {}
    values: dict[str, tuple[float, str]] = {}
    for calculate in (_overall, _bias, _by_dataset, _by_tier, _trapped, _rankings, _board, _few_models, _scenes_of,
                      _people, _further):  # fmt: skip
        values |= calculate(study)
    out: dict[str, list[Found]] = {}
    for quantity, (value, how) in values.items():
        if quantity in claims and math.isfinite(value):
            told = " ".join(part for part in (how, study.incomplete) if part)
            out[quantity] = [Found(exactly(value), study.basis, told)]
    return out


def _mean(study: Study, quantity: str, scores: pd.Series, factor: float = 1.0) -> dict[str, tuple[float, str]]:
    """Mean over models; of fewer than all 20 a user's table says nothing about the study's mean."""
    if scores.empty or (study.reading == PUBLISHED and len(scores) < N_MODELS):
        return {}
    how = f"Mean over {len(scores)} models." if len(scores) != N_MODELS else "Mean over the 20 models."
    return {quantity: (factor * float(scores.mean()), how)}


def _ends(
    study: Study, scores: pd.Series, names: tuple[str, str], factor: float = 1.0
) -> dict[str, tuple[float, str]]:
    if scores.empty or (study.reading == PUBLISHED and len(scores) < N_MODELS):
        return {}
    ends = (scores.min(), scores.idxmin()), (scores.max(), scores.idxmax())
    return {
        name: (factor * float(value), f"{which}.") for name, (value, which) in zip(names, ends, strict=True) if name
    }


def _overall(study: Study) -> dict[str, tuple[float, str]]:
    out: dict[str, tuple[float, str]] = {}
    for variant in ("Original", "Adversarial"):
        end = variant.lower()
        out |= _mean(study, f"mean_wla_{end}", study.values("wla", variant), 100)
        out |= _mean(study, f"median_error_{end}", study.values("median_error_km", variant))
        for km in (25, 200, 750):
            out |= _mean(study, f"acc{km}_{end}", study.values(f"acc_{km}", variant), 100)
        out |= _mean(study, f"beyond2500_{end}", 1 - study.values("acc_2500", variant), 100)
    gap = (study.values("wla", "Original") - study.values("wla", "Blank")).dropna()
    out |= _mean(study, "original_minus_blank_wla", gap, 100)
    if {"mean_wla_original", "mean_wla_adversarial"} <= set(out):
        before, after = out["mean_wla_original"][0], out["mean_wla_adversarial"][0]
        out["relative_wla_drop"] = (100 * (before - after) / before if before > 0 else _NAN, "Of the two means.")
    if {"median_error_original", "median_error_adversarial"} <= set(out):
        before, after = out["median_error_original"][0], out["median_error_adversarial"][0]
        out["median_error_fold"] = (after / before if before > 0 else _NAN, "Of the two means of medians.")
    return out


def _bias(study: Study) -> dict[str, tuple[float, str]]:
    out: dict[str, tuple[float, str]] = {}
    for variant in ("Similar", "Random", "Adversarial"):
        out |= _mean(study, f"mean_tbs_{variant.lower()}", study.values("tbs_km", variant))
    return out | _ends(study, study.values("tbs_km", "Adversarial"), ("", "max_model_tbs_adversarial"))


def _by_dataset(study: Study) -> dict[str, tuple[float, str]]:
    """Loss by data set, and the model x data set cells in which one variant lies below or above Original."""
    losses: dict[str, float] = {}
    declining = above = n_cells = 0
    for name in study.datasets:
        original, adversarial, similar = (
            study.values("wla", v, dataset=name) for v in ("Original", "Adversarial", "Similar")
        )
        change = (original - adversarial).dropna()
        if len(change):
            losses[name] = 100 * float(change.mean())
        declining, n_cells = declining + int((change > 0).sum()), n_cells + len(change)
        above += int(((similar - original).dropna() > 0).sum())
    whole = n_cells == N_MODELS * 4
    if not losses or (study.reading == PUBLISHED and not whole):
        return {}
    least, most = min(losses, key=losses.__getitem__), max(losses, key=losses.__getitem__)
    cells = f"Of {n_cells} cells."
    return {
        "min_wla_loss_dataset_BaiduSV": (losses[least], f"The least loss, on {least}."),
        "max_wla_loss_dataset_IM2GPS3K": (losses[most], f"The largest loss, on {most}."),
        "cells_declining": (float(declining), cells),
        "similar_above_original_cells": (float(above), cells),
    }


def _by_tier(study: Study) -> dict[str, tuple[float, str]]:
    out: dict[str, tuple[float, str]] = {}
    means = published_frames()["means"] if study.reading == PUBLISHED else pd.DataFrame()
    for tier in ("T1", "T2", "T3"):
        before, after = (_tier_mean(study, means, v, tier) for v in ("Original", "Adversarial"))
        if math.isnan(before) or math.isnan(after):
            continue
        out[f"{tier}_wla_original"] = (100 * before, "Mean over models.")
        out[f"{tier}_wla_drop"] = (100 * (before - after), "Mean over models.")
        out[f"{tier}_relative_drop"] = (
            100 * (before - after) / before if before > 0 else _NAN,
            "Of the two means.",
        )
    return out


def _tier_mean(study: Study, means: pd.DataFrame, variant: str, tier: str) -> float:
    if study.reading != PUBLISHED:
        scores = study.values("wla", variant, tier)
        return float(scores.mean()) if len(scores) else _NAN
    wanted = (means["metric"] == "wla") & (means["variant"] == variant) & (means["tier"] == tier)
    rows = means.loc[wanted, :]
    return float(rows["value"].iloc[0]) if len(rows) else _NAN


def _trapped(study: Study) -> dict[str, tuple[float, str]]:
    rate = study.values("tfr", "Adversarial")
    rates = ("attraction_rate_min", "attraction_rate_max")
    return {
        **_ends(study, rate, ("tfr_min", "tfr_max"), 100),
        **_ends(study, rate, ("", "max_model_tfr")),
        **_ends(study, study.values("tdr_km_mean", "Adversarial"), ("tdr_model_mean_min", "tdr_model_mean_max")),
        **_ends(study, study.values("attraction_rate", "Adversarial"), rates, 100),
    }


def _parts(study: Study) -> pd.DataFrame:
    """What MCRS is made of, a row per model that has all of it."""
    columns = {f"wla_{v}": study.values("wla", v) for v in ("Original", "Blank", "Random", "Adversarial")}
    columns |= {name: study.values(name, "Adversarial") for name in ("tbs_km", "tfr")}
    return pd.DataFrame(columns).dropna()


def _scored(parts: pd.DataFrame, weights: Mapping[str, float], exponent: float) -> dict[str, np.ndarray]:
    able = 0.5 * (parts["wla_Original"] + parts["wla_Blank"]).to_numpy(float)
    names = ("wla_Blank", "wla_Random", "wla_Adversarial", "tbs_km", "tfr")
    robust = np.asarray(robustness(*(parts[name].to_numpy(float) for name in names), weights=weights))
    return {
        "capability": able,
        "robustness": robust,
        "mcrs": np.asarray(mcrs(able, robust, capability_exponent=exponent)),
    }


def _rankings(study: Study) -> dict[str, tuple[float, str]]:
    """Correlations over models, and the lowest agreement of rankings under other weights."""
    parts = _parts(study)
    if len(parts) < 3 or (study.reading == PUBLISHED and len(parts) < N_MODELS):
        return {}
    own = _scored(parts, ROBUSTNESS_WEIGHTS, CAPABILITY_EXPONENT)
    adversarial, tbs, tfr = (parts[name].to_numpy(float) for name in ("wla_Adversarial", "tbs_km", "tfr"))
    pairs = {
        "spearman_tbs_tfr": (tbs, tfr),
        "spearman_R_vs_wla_adversarial": (own["robustness"], adversarial),
        "spearman_mcrs_vs_wla_adversarial": (own["mcrs"], adversarial),
        "spearman_R_vs_tbs": (own["robustness"], tbs),
        "spearman_R_vs_tfr": (own["robustness"], tfr),
    }
    how = f"Over {len(parts)} models."
    out = {name: (rank_agreement(a, b).spearman, how) for name, (a, b) in pairs.items()}
    settings = [(weights_with(w), e) for w in SENSITIVITY_ADVERSARIAL_WEIGHTS for e in SENSITIVITY_EXPONENTS]
    drops = [(weights_without(name), CAPABILITY_EXPONENT) for name in ROBUSTNESS_WEIGHTS]
    for name, tried in (("mcrs_sensitivity", settings), ("mcrs_ablation", drops)):
        found = [rank_agreement(_scored(parts, *setting)["mcrs"], own["mcrs"]) for setting in tried]
        out[f"{name}_min_kendall"] = (min(f.kendall for f in found), f"Lowest of {len(tried)} settings.")
        out[f"{name}_min_spearman"] = (min(f.spearman for f in found), f"Lowest of {len(tried)} settings.")
    return out


def _board(study: Study) -> dict[str, tuple[float, str]]:
    """C, R, MCRS and the rank of each model; of a user's table from its WLA, TBS and TFR, not from its C and R."""
    parts = _parts(study)
    if parts.empty:
        return {}
    own = _scored(parts, ROBUSTNESS_WEIGHTS, CAPABILITY_EXPONENT)
    how = "From WLA, TBS and TFR." if study.reading == PUBLISHED else ""
    out: dict[str, tuple[float, str]] = {}
    for number, model in enumerate(parts.index.astype(str)):
        out[f"capability_{model}"] = (100 * float(own["capability"][number]), how)
        out[f"robustness_{model}"] = (100 * float(own["robustness"][number]), how)
        out[f"mcrs_{model}"] = (float(own["mcrs"][number]), how)
        if len(parts) == N_MODELS:
            out[f"rank_{model}"] = (1.0 + int((own["mcrs"] > own["mcrs"][number]).sum()), how)
    if "Qwen3-VL-30B" in parts.index and len(parts) == N_MODELS:
        place = list(parts.index).index("Qwen3-VL-30B")
        rank = 1.0 + int((own["robustness"] > own["robustness"][place]).sum())
        out["robustness_rank_Qwen3-VL-30B"] = (rank, how)
    return out


def _few_models(study: Study) -> dict[str, tuple[float, str]]:
    """Numbers that the text quotes of single models, and the ablation over four."""
    out: dict[str, tuple[float, str]] = {}
    wla = {v: study.values("wla", v) for v in ("Original", "Blank", "Similar", "Random", "Adversarial")}
    for model in ("Qwen3-VL-235B", "Qwen3-VL-30B"):
        for variant in ("Original", "Adversarial"):
            out[f"wla_{variant.lower()}_{model}"] = (100 * float(wla[variant].reindex([model]).iloc[0]), "")
    mean = {v: 100 * float(scores.reindex(list(_FOUR)).mean(skipna=False)) for v, scores in wla.items()}
    how = f"Mean over {', '.join(_FOUR)}."
    out["blank_ablation_original_wla"] = (mean["Original"], how)
    out["blank_ablation_blank_wla"] = (mean["Blank"], how)
    out["blank_ablation_drop"] = (mean["Original"] - mean["Blank"], how)
    out["blank_ablation_similar_gain"] = (mean["Similar"] - mean["Blank"], how)
    out["blank_ablation_random_loss"] = (mean["Blank"] - mean["Random"], how)
    out["blank_ablation_adversarial_loss"] = (mean["Blank"] - mean["Adversarial"], how)
    return out


def _scenes_of(study: Study) -> dict[str, tuple[float, str]]:
    groups = study.groups
    if groups is None or groups.empty:
        return {}
    n = len(groups)
    traps = int(groups["has_trap"].sum())
    out: dict[str, tuple[float, str]] = {
        "groups": (n, ""),
        "image_variants": (5 * n, "Five variants of each group."),
        "scene_text_spans": (int(groups["n_spans"].sum()), ""),
        "geocodable_groups": (traps, ""),
        "geocodable_share": (100 * traps / n, ""),
    }
    for tier in ("T1", "T2", "T3"):
        count = int((groups["tier"] == tier).sum())
        out |= {f"tier_{tier}_groups": (count, ""), f"tier_{tier}_share": (100 * count / n, "")}
    return out | {f"groups_{name}": (int(k), "") for name, k in groups["dataset"].value_counts().items()}


def _people(study: Study) -> dict[str, tuple[float, str]]:
    """What the annotators' sheets say."""
    out: dict[str, tuple[float, str]] = {}
    if study.agreement is not None and len(study.agreement):
        row = study.agreement.iloc[0]
        out["taxonomy_audit_images"] = (float(row["n"]), "")
        out["taxonomy_interannotator_agreement"] = (100 * float(row["agreement"]), "")
        out["taxonomy_kappa"] = (float(row["kappa"]), "")
    return out


def _further(study: Study) -> dict[str, tuple[float, str]]:
    """Probing, defense and cross-task of the two diagnostic models."""
    if study.tasks.empty:
        return {}
    out: dict[str, tuple[float, str]] = {}
    for short, model in _TWO.items():

        def of(task: str, metric: str, variant: str | None, model: str = model) -> pd.DataFrame:
            rows = pick(study.tasks, metric, variant=variant, reading=study.reading)
            return rows.loc[(rows["model"] == model) & (rows["task"] == task), :]

        wanted: dict[str, tuple[str, str, str | None]] = {
            f"probe_wla_{short}": ("probing", "wla", "Adversarial"),
            f"probe_cda_{short}": ("probing", "cda", "Adversarial"),
            f"defense_cda_{short}": ("defense", "cda", "Adversarial"),
            f"conflict_recall_{short}": ("consistency", "conflict_recall", "Adversarial"),
            f"text_dominance_{short}": ("country", "text_dominance", ""),
        }
        for quantity, (task, metric, variant) in wanted.items():
            rows = of(task, metric, variant)
            here = rows_of(rows, "dataset", "macro")
            if len(here):
                out[quantity] = (100 * float(here["value"].iloc[0]), "")
            each = rows.loc[rows["dataset"] != "macro", "value"].dropna()
            if len(each):
                out[f"{quantity}_min"] = (100 * float(each.min()), f"Over {len(each)} data sets.")
                out[f"{quantity}_max"] = (100 * float(each.max()), f"Over {len(each)} data sets.")
    return out
