"""Two models on the same groups: difference of every score, its interval, and a permutation p.

Both models' scores are computed on the groups that both answered (for each part of a score on its own: MCRS needs
six). The interval resamples groups within their dataset, the same for both models. The test flips the signs of what
whole groups contribute to the difference: to that of a mean their own difference, to that of a score made of means,
such as MCRS, what their differences in all parts add up to (:func:`contributions`). So two models may differ in
every part as long as it evens out in the score, and exchanging two models that are alike is a special case.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.frames import VARIANTS
from signpost_kit.metrics.cube import Cube
from signpost_kit.metrics.mcrs import capability, mcrs, robustness
from signpost_kit.metrics.ratios import ANSWERED, Key, Ratio
from signpost_kit.stats.intervals import dataset_rng, mean_over_datasets, percentile_bounds, ratio, segment_sums
from signpost_kit.stats.paired import few_clusters_reason, holm
from signpost_kit.stats.resampling import Resamples

__all__ = ["COMPARED", "compare_pairs", "contributions"]

_LINEAR: tuple[tuple[str, str], ...] = (
    *(("wla", variant) for variant in VARIANTS),
    ("tbs_km", "Adversarial"),
    ("tfr", "Adversarial"),
    ("tdr_km_mean", "Adversarial"),
)
_FRACTIONS = np.array([metric in ("wla", "tfr") for metric, _ in _LINEAR])
COMPARED: tuple[tuple[str, str], ...] = (
    *_LINEAR,
    ("drop_points", "Adversarial"),
    ("capability", ""),
    ("robustness", ""),
    ("mcrs", ""),
)
"""Metric and variant of each compared score."""
_MADE_OF = {
    "drop_points": ("Original", "Adversarial"),
    "capability": ("Original", "Blank"),
    "robustness": ("Blank", "Random", "Adversarial"),
    "mcrs": ("Original", "Blank", "Random", "Adversarial"),
}
"""Variants whose WLA a derived score needs: the groups it rests on."""
_PAIRS_AT_ONCE = 48
_FLIPS_AT_ONCE = 500
_TIE = 1e-6  # of the sum of sizes: flips whose sum equals the observed one but for rounding are ties, and count
_STEPS = 32
_NUDGE = np.array([1e-4 if fraction else 0.1 for fraction in _FRACTIONS])
"""Steps of the way along which a slope is averaged, and of the slope itself (fractions, km)."""


def compare_pairs(
    cube: Cube,
    scores: list[Ratio],
    resamples: Resamples,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    reading: str = ANSWERED,
    n_flips: int = 20_000,
    seed: int = 42,
) -> pd.DataFrame:
    """Every pair of models (or the `pairs` named) in every score of :data:`COMPARED`.

    Parameters
    ----------
    scores
        Of :func:`signpost_kit.metrics.ratios.ratios`.
    n_flips
        Random sign vectors behind p = (b + 1) / (n_flips + 1), two-sided. Same seed, same p.

    Returns
    -------
    model_a, model_b, metric, variant, difference (a minus b; units as in the tables of scores), low, high, p,
    p_holm (over the pairs, for each score), probability (share of resamples in which a is higher; ties count half),
    n_groups, coverage, reason, reading. `n_groups` is the number of groups with anything in common that the score
    needs, `coverage` its share of those both were asked about; no such group: NaN with a reason. One model: no
    rows.

    Raises
    ------
    DataError
        A pair names a model that is not there.
    ConfigError
        n_flips is below 1.
    """
    if n_flips < 1:
        raise ConfigError(f"n_flips must be 1 or more, got {n_flips!r}")
    wanted = _indices(cube.models, pairs)
    found = {s.key: s for s in scores}
    linear = [found[Key(metric, variant, "", reading)] for metric, variant in _LINEAR]
    parts = []
    for first in range(0, len(wanted), _PAIRS_AT_ONCE):
        block = np.array(wanted[first : first + _PAIRS_AT_ONCE])
        parts.append(_compared(cube, linear, block, resamples, flips=(n_flips, seed)))
    if not parts:
        return _empty().assign(reading=reading)
    out = pd.concat(parts, ignore_index=True)
    order = {name: n for n, name in enumerate(COMPARED)}
    out["p_holm"] = out.groupby(["metric", "variant"])["p"].transform(lambda p: holm(p.to_numpy(dtype=float)))
    place = [order[key] for key in zip(out["metric"], out["variant"], strict=True)]
    out = out.iloc[np.argsort(place, kind="stable")].reset_index(drop=True)
    return out.loc[:, list(_empty().columns)].assign(reading=reading)


class _Shared(NamedTuple):
    """What two models have in common, (score, pair, group)."""

    first: np.ndarray
    second: np.ndarray
    common: np.ndarray
    """Both answered (or were asked, where a failure counts as 0)."""
    asked: np.ndarray
    """Both were asked."""


def _compared(
    cube: Cube, linear: list[Ratio], block: np.ndarray, resamples: Resamples, *, flips: tuple[int, int]
) -> pd.DataFrame:
    """The rows of some pairs, score by score."""
    shared = _shared(linear, block)
    means = [_means(part, shared.common, cube.starts) for part in (shared.first, shared.second)]
    values = _scores(means[0]) - _scores(means[1])
    draws = [_scores(part) for part in _drawn(shared, resamples)]
    low, high = percentile_bounds(draws[0] - draws[1])
    won = (draws[0] > draws[1]) + 0.5 * (draws[0] == draws[1])
    known = ~np.isnan(draws[0] - draws[1])
    p = _sign_flip_p(shared, cube, means, values, flips=flips)
    n_groups = _group_counts(shared.common)
    names = np.array([str(name) for name in cube.models], dtype=object)
    columns = {
        "model_a": np.tile(names[block[:, 0]], len(COMPARED)),
        "model_b": np.tile(names[block[:, 1]], len(COMPARED)),
        "metric": np.repeat([metric for metric, _ in COMPARED], len(block)),
        "variant": np.repeat([variant for _, variant in COMPARED], len(block)),
        "difference": values.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
        "p": p.ravel(),
        "probability": ratio((won * known).sum(axis=-1), known.sum(axis=-1).astype(float)).ravel(),
        "n_groups": n_groups.ravel(),
        "coverage": ratio(n_groups.astype(float), _group_counts(shared.asked).astype(float)).ravel(),
    }
    out = pd.DataFrame(columns)
    counted = zip(out["n_groups"], out["difference"], strict=True)
    out["reason"] = [_reason(int(n), bool(np.isnan(value))) for n, value in counted]
    return out


def _shared(linear: list[Ratio], block: np.ndarray) -> _Shared:
    shape = (len(linear), len(block), linear[0].numerator.shape[1])
    first, second = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    common, asked = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for k, score in enumerate(linear):
        held = np.asarray(score.denominator) > 0
        common[k] = held[block[:, 0]] & held[block[:, 1]]
        put = np.asarray(score.asked) > 0
        asked[k] = put[block[:, 0]] & put[block[:, 1]]
        numerator = np.asarray(score.numerator)
        first[k] = np.where(common[k], numerator[block[:, 0]], 0.0)
        second[k] = np.where(common[k], numerator[block[:, 1]], 0.0)
    return _Shared(first, second, common, asked)


def _means(part: np.ndarray, common: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(score, pair) mean over datasets of the mean over common groups."""
    cells = ratio(segment_sums(part, starts), segment_sums(common, starts))
    return mean_over_datasets(np.moveaxis(cells, -1, 0))


def _drawn(shared: _Shared, resamples: Resamples) -> tuple[np.ndarray, np.ndarray]:
    """The same of every resample, (score, pair, draw), for both models."""
    n_scores, n_pairs, n_groups = shared.first.shape
    # Where all was answered, the common groups are the same for all pairs: one row instead of many.
    flat = shared.common.reshape(-1, n_groups)
    rows, place = np.unique(np.packbits(flat, axis=1), axis=0, return_inverse=True)
    distinct = np.unpackbits(rows, axis=1, count=n_groups).astype(np.float32)
    columns = np.concatenate([shared.first.reshape(-1, n_groups), shared.second.reshape(-1, n_groups), distinct])
    numerator = np.arange(2 * len(flat)).reshape(2, n_scores, n_pairs)
    denominator = 2 * len(flat) + np.broadcast_to(place.reshape(n_scores, n_pairs), numerator.shape)
    draws = resamples.ratios(columns, numerator, denominator, cells=[]).macro
    return draws[0], draws[1]


def _scores(linear: np.ndarray) -> np.ndarray:
    """(compared score, ...) from the (linear score, ...) means; fractions may leave 0..1 by rounding."""
    fractions = _FRACTIONS.reshape(-1, *([1] * (linear.ndim - 1)))
    linear = np.where(fractions, np.clip(linear, 0.0, 1.0), linear)
    of = dict(zip(_LINEAR, linear, strict=True))
    original, blank, _, random, adversarial = (of["wla", variant] for variant in VARIANTS)
    able = capability(original, blank)
    robust = robustness(blank, random, adversarial, of["tbs_km", "Adversarial"], of["tfr", "Adversarial"])
    derived = [100.0 * (original - adversarial), able, robust, mcrs(able, robust)]
    return np.concatenate([linear, np.stack([np.asarray(part) for part in derived])])


def contributions(first: np.ndarray, second: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """What each group adds to the difference of two models in each score.

    A score's difference is the sum over its parts of (difference in the part) x (mean slope of the score along the
    straight way from the second model to the first), and each part's difference is a sum over groups. Summing the
    products over parts, not over groups, leaves what each group adds.

    Parameters
    ----------
    first, second
        (linear score, pair) of the two models.
    parts
        (linear score, pair, group): what each group adds to the difference of the linear scores.

    Returns
    -------
    (compared score, pair, group) float32; the sum over groups is the difference, but for the numerical slope of the
    derived ones (a few per mille). NaN where a score is not defined.
    """
    n_linear = len(_LINEAR)
    upper, lower = np.where(_FRACTIONS, 1.0, np.inf), np.where(_FRACTIONS, 0.0, -np.inf)
    way = (np.arange(_STEPS) + 0.5) / _STEPS
    at = second[:, None] + way[:, None] * (first - second)[:, None]  # (linear score, step, pair)
    ends = []
    for sign, bound, cut in ((1, upper, np.minimum), (-1, lower, np.maximum)):
        moved = np.repeat(at[:, None], n_linear, axis=1)  # (linear score, the one that is moved, step, pair)
        for k in range(n_linear):
            moved[k, k] = cut(at[k] + sign * _NUDGE[k], bound[k])
        ends.append((_scores(moved)[n_linear:], np.stack([moved[k, k] for k in range(n_linear)])))
    slopes = ((ends[0][0] - ends[1][0]) / (ends[0][1] - ends[1][1])).mean(axis=2)
    # A part that a score does not use has slope 0 whatever its value; NaN in it must not spread.
    used = np.array([[key in _parts_of(metric) for key in _LINEAR] for metric, _ in COMPARED[n_linear:]])
    slopes = np.where(used[..., None], slopes, 0.0).astype(np.float32)
    return np.concatenate([parts, np.einsum("ckp,kpg->cpg", slopes, parts, optimize=True)])


def _parts_of(metric: str) -> set[tuple[str, str]]:
    """The linear scores that a derived one is made of."""
    wla = {("wla", variant) for variant in _MADE_OF[metric]}
    return wla | (
        {("tbs_km", "Adversarial"), ("tfr", "Adversarial")} if metric in ("robustness", "mcrs") else set()
    )


def _sign_flip_p(
    shared: _Shared, cube: Cube, means: list[np.ndarray], observed: np.ndarray, *, flips: tuple[int, int]
) -> np.ndarray:
    """(compared score, pair) two-sided p over random signs of whole groups."""
    n_flips, seed = flips
    sizes = segment_sums(shared.common, cube.starts)  # (score, pair, dataset)
    weight = ratio(np.ones_like(sizes), sizes) / np.maximum((sizes > 0).sum(axis=-1, keepdims=True), 1)
    weight = np.repeat(np.nan_to_num(weight).astype(np.float32), np.diff(cube.starts), axis=-1)
    added = contributions(means[0], means[1], (shared.first - shared.second) * weight)
    flat = np.ascontiguousarray(added.reshape(-1, added.shape[-1]), dtype=np.float32)
    total, size = flat.sum(axis=1, dtype=np.float64), np.abs(flat).sum(axis=1, dtype=np.float64)
    reached = (np.abs(total) - _TIE * size)[:, None]
    b = np.zeros(len(flat), dtype=np.int64)
    for signs in _sign_blocks(cube, n_flips, seed):
        b += (np.abs(flat @ signs.T) >= reached).sum(axis=1)
    p = ((b + 1) / (n_flips + 1)).reshape(observed.shape)
    return np.where(np.isnan(observed), np.nan, p)


def _sign_blocks(cube: Cube, n_flips: int, seed: int) -> Iterator[np.ndarray]:
    """Random signs (flips, groups), each dataset's from a stream of its own, the same whenever called."""
    lengths = np.diff(cube.starts)
    streams = [dataset_rng(seed, name, 2) for name in cube.datasets]
    for first in range(0, n_flips, _FLIPS_AT_ONCE):
        size = min(_FLIPS_AT_ONCE, n_flips - first)
        bits = [rng.integers(0, 256, size=(size, -(-n // 8)), dtype=np.uint8)
                for rng, n in zip(streams, lengths, strict=True)]  # fmt: skip
        signs = [np.unpackbits(part, axis=1, count=int(n)) for part, n in zip(bits, lengths, strict=True)]
        yield np.concatenate(signs, axis=1).astype(np.float32) * 2 - 1


def _group_counts(common: np.ndarray) -> np.ndarray:
    """(compared score, pair) groups that a score rests on."""
    linear = common.sum(axis=-1)
    place = {key: n for n, key in enumerate(_LINEAR)}
    derived = [
        np.any(common[[place["wla", variant] for variant in _MADE_OF[metric]]], axis=0).sum(axis=-1)
        for metric, _ in COMPARED[len(_LINEAR) :]
    ]
    return np.concatenate([linear, np.stack(derived)])


def _reason(n_groups: int, undefined: bool) -> str:
    if n_groups == 0:
        return "no group that both answered"
    return "a part of the score has no group that both answered" if undefined else few_clusters_reason(n_groups)


def _indices(models: Sequence[object], pairs: Sequence[tuple[str, str]] | None) -> list[tuple[int, int]]:
    names = [str(name) for name in models]
    if pairs is None:
        return list(itertools.combinations(range(len(names)), 2))
    unknown = sorted({name for pair in pairs for name in pair} - set(names))
    if unknown:
        raise DataError(f"no scores of the model {unknown[0]!r}; there are {', '.join(names)}")
    return [(names.index(a), names.index(b)) for a, b in pairs]


def _empty() -> pd.DataFrame:
    text, numbers = ["model_a", "model_b", "metric", "variant"], ["difference", "low", "high", "p", "p_holm"]
    types = dict.fromkeys(text, "str") | dict.fromkeys([*numbers, "probability"], "float64")
    types |= {"n_groups": "int64", "coverage": "float64", "reason": "str"}
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in types.items()})
