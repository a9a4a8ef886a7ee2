"""Sites split by the very answers that are then compared: how far does that selection move the result?

A site is legible when its no-context hit rate reaches 50 %. With about five answers per site that rate is noisy,
and a site that was lucky once counts as legible AND shows a high no-context rate: the difference "with hint minus
without" comes out too low at legible sites and too high at the others. The correction takes the regime from one
random half of each site's no-context answers and the no-context rate from the other half, many times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.stats.paired import cluster_codes, number_vector

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LEGIBLE_FROM", "REGIMES", "SplitHalf", "split_half_regimes"]

LEGIBLE_FROM = 0.5
"""No-context hit rate from which a site is legible (GeoContext, section 6.1.2)."""
REGIMES = ("illegible", "legible")


class SplitHalf(NamedTuple):
    """The corrected comparison and how stable the regimes are."""

    table: pd.DataFrame
    """regime, model ("all" pools them), n_sites, no_context, with_context, uncorrected (from all answers), then
    over the splits: corrected (mean), corrected_sd, no_context_corrected, n_splits (in which it was defined).
    Shares 0..1; differences are with minus without."""
    changed: float
    """Mean number of sites per split whose regime from one half differs from the regime from all their answers."""
    changed_sd: float
    disagree: float
    """Mean number of sites per split whose two halves differ in regime."""
    n_sites: int
    n_single: int
    """Sites left out of the correction since they have one no-context answer, which has no halves."""
    n_splits: int


def split_half_regimes(
    baseline: pd.DataFrame,
    context: pd.DataFrame,
    *,
    n_splits: int = 200,
    threshold: float = LEGIBLE_FROM,
    seed: int = 42,
) -> SplitHalf:
    """Hit rates with and without a hint by regime, with the split-half correction.

    Parameters
    ----------
    baseline
        No-context answers: columns site, model, hit (0/1 or bool; NaN is left out). A site's regime pools models.
    context
        Answers with a hint, same columns; whoever wants the near band gives only its rows.
    threshold
        A site is legible when its rate is at or above it.

    Returns
    -------
    SplitHalf
        Same seed, same numbers, in whatever order the rows come. An empty cell is NaN. In an odd number of answers
        the larger half goes to either side at random. Sites without a no-context answer have no regime.

    Raises
    ------
    DataError
        A column is missing, a hit is neither 0 nor 1, or there is no no-context answer at all.
    """
    if n_splits < 1:
        raise ConfigError(f"n_splits must be 1 or more, got {n_splits!r}")
    if not 0 < threshold <= 1:
        raise ConfigError(f"threshold must lie above 0 and up to 1, got {threshold!r}")
    without, with_ = _checked(baseline, "baseline"), _checked(context, "context")
    if without.empty:
        raise DataError("there is no answer without context, so no site has a regime; ask for the baseline first")
    sites = sorted(set(without["site"]))
    models = sorted(set(without["model"]) | set(with_["model"]))
    total = _per_site(without, sites)
    legible = total.hits >= threshold * total.n
    halves = _split(without, sites, models, n_splits, seed)
    halved = total.n > 1
    first = _Sums(halves.n.sum(axis=0), halves.hits.sum(axis=0))
    by_half = (first.hits >= threshold * first.n) & halved
    by_other = (total.hits - first.hits >= threshold * (total.n - first.n)) & halved
    changed = (by_half != (legible & halved)).sum(axis=1)
    rows = []
    for regime in REGIMES:
        here, chosen = (legible, by_half) if regime == "legible" else (~legible, ~by_half & halved)
        for i, model in enumerate(models):
            base, hinted = (_per_site(f.loc[f["model"] == model], sites) for f in (without, with_))
            half = _Sums(halves.n[i], halves.hits[i])
            rows.append(_row(regime, model, base, hinted, half, here=here, chosen=chosen))
        rows.append(_row(regime, "all", total, _per_site(with_, sites), first, here=here, chosen=chosen))
    import pandas as pd

    return SplitHalf(
        table=pd.DataFrame(rows),
        changed=float(changed.mean()),
        changed_sd=float(changed.std(ddof=1)) if n_splits > 1 else float("nan"),
        disagree=float((by_half != by_other).sum(axis=1).mean()),
        n_sites=len(sites),
        n_single=int((~halved).sum()),
        n_splits=n_splits,
    )


class _Sums(NamedTuple):
    """Answers and hits per site (g,), or per model, split and site (k, m, g)."""

    n: np.ndarray
    hits: np.ndarray


def _row(
    regime: str, model: str, base: _Sums, hinted: _Sums, first: _Sums, *, here: np.ndarray, chosen: np.ndarray
) -> dict[str, object]:
    """One regime and model: rates from all answers, and over the splits.

    `first` (splits, sites) is the half that gave the regime; `here` (sites,) is the regime from all answers and
    `chosen` (splits, sites) the regime from the half.
    """
    plain = float(_rate(base.hits[here].sum(), base.n[here].sum()))
    helped = float(_rate(hinted.hits[here].sum(), hinted.n[here].sum()))
    rest_n, rest_hits = base.n - first.n, base.hits - first.hits
    without_split = _rate((rest_hits * chosen).sum(axis=1), (rest_n * chosen).sum(axis=1))
    gain = _rate(chosen @ hinted.hits, chosen @ hinted.n) - without_split
    known = ~np.isnan(gain)
    return {
        "regime": regime,
        "model": model,
        "n_sites": int(here.sum()),
        "no_context": plain,
        "with_context": helped,
        "uncorrected": helped - plain,
        "corrected": float(gain[known].mean()) if known.any() else float("nan"),
        "corrected_sd": float(gain[known].std(ddof=1)) if known.sum() > 1 else float("nan"),
        "no_context_corrected": float(without_split[known].mean()) if known.any() else float("nan"),
        "n_splits": int(known.sum()),
    }


def _split(frame: pd.DataFrame, sites: list[str], models: list[str], n_splits: int, seed: int) -> _Sums:
    """Answers and hits in the first half: (model, split, site)."""
    rng = np.random.default_rng(seed)
    # Rows in an order of their own, so that the order in which they came does not matter.
    frame = frame.sort_values(["site", "model", "hit"], kind="stable")
    site, model = _codes(frame["site"], sites), _codes(frame["model"], models)
    hit = frame["hit"].to_numpy(dtype=float)
    size = np.bincount(site, minlength=len(sites))
    start = np.cumsum(size) - size
    # Sites are contiguous: sorting site + uniform shuffles each site's rows within its own stretch.
    shuffled = np.argsort(site + rng.random((n_splits, len(site))), axis=1)
    taken = size // 2 + (size % 2) * rng.integers(0, 2, size=(n_splits, len(sites)))
    first = np.arange(len(site)) - start[site] < taken[:, site]
    cell = (model[shuffled] * n_splits + np.arange(n_splits)[:, None]) * len(sites) + site[shuffled]
    shape = (len(models), n_splits, len(sites))
    n_cells = len(models) * n_splits * len(sites)
    n = np.bincount(cell.ravel(), first.ravel(), minlength=n_cells)
    hits = np.bincount(cell.ravel(), (first * hit[shuffled]).ravel(), minlength=n_cells)
    return _Sums(n.reshape(shape), hits.reshape(shape))


def _per_site(frame: pd.DataFrame, sites: list[str]) -> _Sums:
    """Answers and hits of each site; rows of other sites are left out."""
    code = _codes(frame["site"], sites)
    here, hit = code >= 0, frame["hit"].to_numpy(dtype=float)
    n = np.bincount(code[here], minlength=len(sites)).astype(float)
    return _Sums(n, np.bincount(code[here], hit[here], minlength=len(sites)))


def _codes(labels: pd.Series, names: list[str]) -> np.ndarray:
    """Place of each label in `names`, -1 for another one."""
    place = {name: i for i, name in enumerate(names)}
    return np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.int64)


def _rate(hits: ArrayLike, n: ArrayLike) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(n) > 0, np.asarray(hits) / np.asarray(n), np.nan)


def _checked(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    import pandas as pd

    absent = [name for name in ("site", "model", "hit") if name not in frame.columns]
    if absent:
        raise DataError(f"the {what} answers lack the column(s) {', '.join(absent)}")
    hit = number_vector(frame["hit"].astype(object).where(frame["hit"].notna(), np.nan), "hit")
    wrong = hit[~np.isnan(hit) & (hit != 0) & (hit != 1)]
    if wrong.size:
        raise DataError(f"the {what} answers have the hit {wrong[0]:g}; a hit is 0 or 1")
    cluster_codes(frame["site"], len(frame), "site")
    out = pd.DataFrame({"site": frame["site"].astype(str), "model": frame["model"].astype(str), "hit": hit})
    return out.loc[~np.isnan(hit)]
