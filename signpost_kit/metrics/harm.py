"""Where conflicting text does most harm: accuracy lost and distance gained, by what the scene is like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.frames import TIERS
from signpost_kit.stats.intervals import cluster_bootstrap

__all__ = ["HARM_COLUMNS", "MEAN_OF_MODELS", "MEASURES", "TRAITS", "harm", "harm_by_group", "levels"]

HARM_COLUMNS = (
    *("trait", "level", "place", "model", "measure", "value", "low", "high", "n_groups"),
    *("n_of_trait", "n_all"),
)
MEASURES = ("wla_loss", "tbs_km")
"""WLA of Original minus that of Adversarial (fraction); error under Adversarial minus that under Blank (km)."""
TRAITS = ("text_share", "tier", "script", "trap_distance_km")
MEAN_OF_MODELS = ""
"""In the column `model`: the mean over the models that answered, scene by scene."""

_SHARES = (0.0, 0.005, 0.01, 0.02, 0.05, np.inf)
_SHARE_NAMES = ("<0.5", "0.5–1", "1–2", "2–5", ">5")  # per cent of the picture
_KM = (0.0, 1000.0, 2500.0, 5000.0, 7500.0, 10_000.0, 12_500.0, 15_000.0, np.inf)
_KM_NAMES = ("<1", "1–2.5", "2.5–5", "5–7.5", "7.5–10", "10–12.5", "12.5–15", ">15")  # thousand km
_MOST_SCRIPTS = 6
OTHER_SCRIPTS = "other"


def harm_by_group(scores: pd.DataFrame) -> pd.DataFrame:
    """Rows (model, dataset, group_id, wla_loss, tbs_km): one per model and scene, NaN where a side is missing.

    Positive is harm. `scores` is the frame of that name.
    """
    keys = ["model", "dataset", "group_id"]
    data = scores.astype(dict.fromkeys((*keys, "variant"), str))

    def side(column: str, variant: str) -> pd.Series:
        rows = data.loc[data["variant"] == variant, [*keys, column]]
        return rows.groupby(keys, sort=False)[column].mean()

    out = pd.DataFrame(
        {
            "wla_loss": side("wla", "Original") - side("wla", "Adversarial"),
            "tbs_km": side("error_km", "Adversarial") - side("error_km", "Blank"),
        }
    )
    return out.astype(float).rename_axis(keys).reset_index()


def levels(traits: pd.DataFrame) -> pd.DataFrame:
    """Rows (dataset, group_id, trait, level, place) of each scene; `place` orders the levels of a trait.

    `traits` has dataset, group_id and any of :data:`TRAITS`; a scene whose trait is unknown has no row for it.
    Scripts beyond the six most frequent ones are one level, "other".
    """
    parts = []
    for trait, edges, names in (("text_share", _SHARES, _SHARE_NAMES), ("trap_distance_km", _KM, _KM_NAMES)):
        if trait in traits.columns:
            values = traits[trait].to_numpy(float)
            place = np.searchsorted(np.asarray(edges), values, side="right") - 1
            parts.append(_levels_of(traits, trait, place, names, np.isfinite(values)))
    if "tier" in traits.columns:
        tier = traits["tier"].astype(object).where(traits["tier"].notna(), "").astype(str)
        place = tier.map({name: i for i, name in enumerate(TIERS)}).fillna(-1).to_numpy(int)
        parts.append(_levels_of(traits, "tier", place, TIERS, place >= 0))
    if "script" in traits.columns:
        script = traits["script"].astype(object).where(traits["script"].notna(), "").astype(str)
        counts = script[script != ""].value_counts()
        often = sorted(counts.index, key=lambda name: (-int(counts[name]), name))
        names = often if len(often) <= _MOST_SCRIPTS else [*often[: _MOST_SCRIPTS - 1], OTHER_SCRIPTS]
        ranks = {name: min(i, len(names) - 1) for i, name in enumerate(often)}
        place = script.map(ranks).fillna(-1).to_numpy(int)
        parts.append(_levels_of(traits, "script", place, names, place >= 0))
    columns = ["dataset", "group_id", "trait", "level", "place"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=pd.Index(columns))


def _levels_of(
    traits: pd.DataFrame, trait: str, place: np.ndarray, names: Sequence[str], known: np.ndarray
) -> pd.DataFrame:
    kept = np.flatnonzero(known)
    return pd.DataFrame(
        {
            "dataset": traits["dataset"].astype(str).to_numpy()[kept],
            "group_id": traits["group_id"].astype(str).to_numpy()[kept],
            "trait": trait,
            "level": [names[i] for i in place[kept]],
            "place": place[kept],
        }
    )


def harm(
    scores: pd.DataFrame,
    traits: pd.DataFrame,
    *,
    models: Iterable[str] | None = None,
    n_resamples: int = 1000,
    seed: int = 42,
) -> pd.DataFrame:
    """Mean harm at each level of each trait, per model and for the mean over models, with 95 % intervals.

    Parameters
    ----------
    scores
        The frame of that name.
    traits
        One row per scene: dataset, group_id, and any of text_share (of the picture, 0..1), tier, script,
        trap_distance_km (from the scene to the place on the sign).
    models
        Take only these.
    n_resamples, seed
        Of the bootstrap over scenes within their data set. The estimate is the mean over scenes per data set,
        then over data sets; scenes, not replies, are the unit, so 20 models on 5 scenes are 5 scenes.

    Returns
    -------
    DataFrame
        :data:`HARM_COLUMNS`; `model` is "" for the mean over models, `n_groups` how many scenes the number rests
        on, `n_of_trait` how many have the trait at all, of `n_all`. A level without a scored scene has one
        row, of the mean, with NaN and 0 scenes.
    """
    by_group = harm_by_group(scores)
    if models is not None:
        wanted = list(models)
        unknown = sorted(set(wanted) - set(by_group["model"]))
        if unknown:
            raise DataError(f"the scores hold no model {unknown[0]!r}; they hold: {_listed(by_group['model'])}")
        by_group = by_group[by_group["model"].isin(wanted)]
    names = list(dict.fromkeys(by_group["model"]))
    placed = levels(traits)
    every = len(traits)
    rows = []
    for measure in MEASURES:
        table = by_group.pivot_table(
            index=["dataset", "group_id"], columns="model", values=measure, aggfunc="mean", dropna=False
        ).reindex(columns=names)
        table = table.assign(**{MEAN_OF_MODELS: table.mean(axis=1)})
        for trait, part in placed.groupby("trait", sort=False):
            for place in sorted(part["place"].unique()):
                scenes = part.loc[part["place"] == place, :]
                level = str(scenes["level"].iloc[0])
                index = pd.MultiIndex.from_arrays([scenes["dataset"], scenes["group_id"]])
                values = table.reindex(index).dropna(how="all")
                base: dict[str, object] = {"trait": trait, "level": level, "place": place, "measure": measure}
                base |= {"n_of_trait": len(part), "n_all": every}
                if len(values):
                    rows += _summaries(values, base, n_resamples, seed)
                else:
                    rows.append({**base, "model": MEAN_OF_MODELS, "n_groups": 0})
    return pd.DataFrame(rows, columns=pd.Index(HARM_COLUMNS))


def _summaries(
    values: pd.DataFrame, base: Mapping[str, object], n_resamples: int, seed: int
) -> list[dict[str, object]]:
    data = values.to_numpy(float)
    found = cluster_bootstrap(
        data,
        values.index.get_level_values("group_id").to_numpy(),
        values.index.get_level_values("dataset").to_numpy(),
        n_resamples=n_resamples,
        seed=seed,
    )
    return [
        {**base, "model": model, "value": found.estimate[i], "low": found.low[i], "high": found.high[i],
         "n_groups": int(np.isfinite(data[:, i]).sum())}
        for i, model in enumerate(values.columns)
    ]  # fmt: skip


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names))) or "none"
