"""GeoHint's tables from the `answers` frame, each with its counts and intervals; the study's columns and ours.

Everywhere: the schema of the main tables is the plain one (`forced`); whole sites are drawn for intervals and flip
sign together; a site's regime comes from its no-context answers to that schema, all models together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.metrics.hints import (
    HINT_BANDS,
    error_ratio,
    hint_band,
    interventions,
    rates,
    ratio_summary,
    regimes,
    slopes,
)
from signpost_kit.stats.cluster_median import cluster_median
from signpost_kit.stats.paired import holm
from signpost_kit.stats.split_half import REGIMES, split_half_regimes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAIN_SCHEMA", "NO_HINT", "hint_tables"]

MAIN_SCHEMA = "forced"
NO_HINT = "none"
ALL = "all"
_NEAR = HINT_BANDS[0]
_SHORT = dict(zip(HINT_BANDS, ("near", "mid", "far"), strict=True))


def hint_tables(
    answers: pd.DataFrame, *, n_resamples: int = 2000, n_flips: int = 20_000, seed: int = 42
) -> dict[str, Any]:
    """All tables of GeoHint.

    Parameters
    ----------
    answers
        The `answers` frame of :mod:`signpost_kit.hints.answers` or of the released files, without rows that were
        not asked. Failed replies are misses in every hit rate and are counted in coverage.

    Returns
    -------
    dict of frames (shares 0..1; NaN, never 0, where there is nothing to count)
        `hint_models`: model ("all" pools), n, coverage, and hit, hit_near, hit_mid, hit_far, no_context, echo,
        echo_study, each with _low and _high
        `hint_bands`: regime ("all" too), model, band ("none" first), rate, low, high, n, n_sites
        `hint_regimes`: regime, model, n_sites, no_context, with_context, near, uncorrected, corrected,
        corrected_sd, echo, n; the comparisons are with the near band, as in the study
        `hint_sites`: site, n, rate, regime
        `hint_echo`: reading (kit, study), tier, band, rate, low, high, n
        `hint_ratio`: regime, band, n, median, low, high, geomean, error_geomean_km, ref_geomean_km, n_city, ...
        `hint_slope`: subset, fine_only, the fields of the slope, p_normal, p_holm (over models)
        `hint_warn`, `hint_chain`: change from the plain schema, by subset: before, after, delta, p, p_holm,
        n_pairs, n_sites, reason
    """
    import pandas as pd

    rows = answers.assign(band=np.where(answers["context"] == NO_HINT, NO_HINT, hint_band(answers["ref_km"])))
    plain = rows.loc[rows["schema"] == MAIN_SCHEMA]
    baseline, hinted = plain.loc[plain["context"] == NO_HINT], plain.loc[plain["context"] != NO_HINT]
    by_site = regimes(baseline) if len(baseline) else pd.DataFrame(columns=["site", "n", "rate", "regime"])
    regime = dict(zip(by_site["site"], by_site["regime"], strict=True))
    draw = {"n_resamples": n_resamples, "seed": seed}
    tables = {
        "hint_models": _models(baseline, hinted, draw),
        "hint_bands": _bands(plain, regime, draw),
        "hint_regimes": _regimes(baseline, hinted, regime, draw),
        "hint_sites": by_site,
        "hint_echo": _echo(hinted, draw),
        "hint_ratio": _ratio(hinted, regime, draw),
        "hint_slope": _slope(hinted, regime),
    }
    for name, schema in (("hint_warn", "forced_warn"), ("hint_chain", "forced_chain")):
        tables[name] = _change(plain, rows.loc[rows["schema"] == schema], regime, n_flips, seed)
    return tables


def _with_all(frame: pd.DataFrame, by: str = "model") -> pd.DataFrame:
    """The rows once more under the name "all", when there are several names."""
    import pandas as pd

    return pd.concat([frame, frame.assign(**{by: ALL})]) if len(set(frame[by])) > 1 else frame


def _models(baseline: pd.DataFrame, hinted: pd.DataFrame, draw: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    every = _with_all(hinted)
    parts = {"hit": every, **{f"hit_{_SHORT[b]}": every.loc[every["band"] == b] for b in HINT_BANDS}}
    parts |= {"no_context": _with_all(baseline)}
    columns = [_rate(part, "hit", ["model"], name, draw) for name, part in parts.items()]
    columns += [_rate(every, reading, ["model"], reading, draw) for reading in ("echo", "echo_study")]
    answered = every.assign(coverage=every["status"].eq("ok").astype(float)).groupby("model")["coverage"]
    counts = pd.DataFrame({"n": answered.size(), "coverage": answered.mean()})
    out = pd.concat([counts, *columns], axis=1).reset_index(names="model")
    return out.sort_values("hit", ascending=False, kind="stable", ignore_index=True)


def _rate(part: pd.DataFrame, value: str, by: Sequence[str], name: str, draw: Mapping[str, Any]) -> pd.DataFrame:
    """Share with its bounds, indexed by `by`; a frame without rows gives none."""
    import pandas as pd

    new = {"rate": name, "low": f"{name}_low", "high": f"{name}_high"}
    if part.empty:
        return pd.DataFrame(columns=list(new.values()), dtype=float)
    table = rates(part, value, by, **draw).set_index(list(by))
    return pd.DataFrame({given: table[name] for name, given in new.items()})


def _bands(plain: pd.DataFrame, regime: Mapping[str, str], draw: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    columns = ["regime", "model", "band", "rate", "low", "high", "n", "n_sites"]
    known = plain.assign(regime=plain["site"].map(regime)).loc[lambda f: f["band"] != ""]
    every = _with_all(_with_all(known.dropna(subset=["regime"]), "regime")) if len(known) else known
    if every.empty:
        return pd.DataFrame(columns=columns)
    table = rates(every, "hit", ["regime", "model", "band"], **draw)
    order = {name: i for i, name in enumerate((NO_HINT, *HINT_BANDS))}
    table = table.assign(_place=table["band"].map(order)).sort_values(["regime", "model", "_place"])
    return table.loc[:, columns].reset_index(drop=True)


def _regimes(
    baseline: pd.DataFrame, hinted: pd.DataFrame, regime: Mapping[str, str], draw: Mapping[str, Any]
) -> pd.DataFrame:
    """The study's Table: without and with a hint, the near band's change, corrected by split halves."""
    import pandas as pd

    if baseline.empty or hinted.empty:
        return pd.DataFrame(columns=["regime", "model", "n_sites", "no_context", "with_context", "corrected"])
    near = hinted.loc[hinted["band"] == _NEAR]
    halves = split_half_regimes(baseline, near, seed=draw["seed"])
    table = halves.table.rename(columns={"with_context": "near"})
    known = _with_all(hinted.assign(regime=hinted["site"].map(regime)).dropna(subset=["regime"]))
    keys = ["regime", "model"]
    extra = [_rate(known, value, keys, name, draw) for value, name in (("hit", "with_context"), ("echo", "echo"))]
    counts = pd.DataFrame({"n": known.groupby(keys).size()})
    joined = table.set_index(keys).join([counts, *extra]).reset_index()
    return joined.assign(n_changed=halves.changed, n_disagree=halves.disagree, n_single=halves.n_single)


def _echo(hinted: pd.DataFrame, draw: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    columns = ["reading", "tier", "band", "rate", "low", "high", "n", "n_sites"]
    known = hinted.loc[(hinted["band"] != "") & (hinted["tier"] != "")]
    if known.empty:
        return pd.DataFrame(columns=columns)
    every = _with_all(_with_all(known, "tier"), "band")
    parts = [
        rates(every, value, ["tier", "band"], **draw).assign(reading=reading)
        for reading, value in (("kit", "echo"), ("study", "echo_study"))
    ]
    return pd.concat(parts, ignore_index=True).loc[:, columns]


def _ratio(hinted: pd.DataFrame, regime: Mapping[str, str], draw: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd

    columns = ["regime", "band", "n", "median", "low", "high", "geomean", "error_geomean_km", "ref_geomean_km"]
    columns += ["n_city", "n_missing", "n_zero"]
    rows = []
    known = hinted.assign(regime=hinted["site"].map(regime))
    for name in REGIMES:
        for band in HINT_BANDS:
            part = known.loc[(known["regime"] == name) & (known["band"] == band)]
            error, ref, level = (part[c].to_numpy() for c in ("error_km", "ref_km", "level"))
            summary = ratio_summary(error, ref, level)
            bounds = cluster_median(error_ratio(error, ref, level), part["site"].to_numpy(object), **draw)
            rows.append(
                {"regime": name, "band": band} | summary._asdict() | {"low": bounds.low, "high": bounds.high}
            )
    return pd.DataFrame(rows).loc[:, columns]


def _slope(hinted: pd.DataFrame, regime: Mapping[str, str]) -> pd.DataFrame:
    """The slope over all answers, by model and by regime; all levels and without the city level."""
    import pandas as pd

    if hinted.empty:
        return pd.DataFrame(columns=["subset", "fine_only", "beta", "se", "p", "n", "n_sites"])
    known = hinted.assign(regime=hinted["site"].map(regime))
    views = [hinted.assign(subset=ALL), hinted.assign(subset=hinted["model"])]
    views.append(known.dropna(subset=["regime"]).assign(subset=lambda f: f["regime"]))
    models = set(hinted["model"])
    parts = []
    for fine_only in (False, True):
        for view in views:
            if view.empty:
                continue
            table = slopes(view, ["subset"], fine_only=fine_only)
            normal = slopes(view, ["subset"], fine_only=fine_only, use_t=False)
            parts.append(table.assign(fine_only=fine_only, p_normal=normal["p"].to_numpy()))
    out = pd.concat(parts, ignore_index=True).drop_duplicates(["subset", "fine_only"], ignore_index=True)
    out["p_holm"] = np.nan
    for fine_only in (False, True):
        mine = out["subset"].isin(models) & (out["fine_only"] == fine_only)
        out.loc[mine, "p_holm"] = holm(out.loc[mine, "p"].to_numpy())
    return out


def _change(
    before: pd.DataFrame, after: pd.DataFrame, regime: Mapping[str, str], n_flips: int, seed: int
) -> pd.DataFrame:
    """Paired change of the hit rate, over all pairs, by regime, by model, and by model within a regime."""
    import pandas as pd

    columns = ["subset", "model", "regime", "before", "after", "delta", "p", "p_holm", "n_pairs", "n_sites"]
    if before.empty or after.empty:
        return pd.DataFrame(columns=[*columns, "n_missing", "n_ambiguous", "reason"])
    sides = [f.loc[f["context"] != NO_HINT] for f in (before, after)]
    sides = [side.assign(regime=side["site"].map(regime)) for side in sides]
    if any(side.empty for side in sides):
        return pd.DataFrame(columns=[*columns, "n_missing", "n_ambiguous", "reason"])
    parts = []
    for by in ([], ["regime"], ["model"], ["regime", "model"]):
        first, second = (side.dropna(subset=["regime"]) if "regime" in by else side for side in sides)
        table = interventions(first, second, by=by, n_flips=n_flips, seed=seed)
        table["p_holm"] = holm(table["p"].to_numpy(float)) if "model" in by and len(table) else np.nan
        for name in ("model", "regime"):
            if name not in table:
                table[name] = ALL
        parts.append(table.assign(subset=" x ".join(by) or ALL))
    out = pd.concat(parts, ignore_index=True)
    return out.loc[:, [*columns, "n_missing", "n_ambiguous", "reason"]]
