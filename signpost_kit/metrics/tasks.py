"""Scores of the further tasks (SIGNPOST-Bench, sections 5 and 6, appendix G): probing, defense, cross-task.

Conflict here means what the reply itself says: `consistent` "no" when probing, `conflict` "yes" in defense.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from signpost_kit.errors import ConfigError
from signpost_kit.frames import VARIANTS
from signpost_kit.metrics.cross_task import cross_task_scores
from signpost_kit.metrics.localization import wla
from signpost_kit.metrics.paper import ACC_KM, TFR_RADIUS_KM, WLA_ALPHA
from signpost_kit.metrics.ratios import Ratio
from signpost_kit.metrics.task_replies import (
    TASK_COLUMNS,
    Contrast,
    Replies,
    lay_out,
    score_frame,
    text_column,
    yes_no_column,
)

__all__ = ["CONFLICT_VARIANTS", "PLAIN_TASK", "TASK_COLUMNS", "TRUSTED", "task_tables"]

PLAIN_TASK = "coordinate"
"""The plain question, on the pictures that probing or defense was asked about."""
CONFLICT_VARIANTS = ("Random", "Adversarial")
"""Variants whose text contradicts the scene. Section 5."""
TRUSTED = ("Visual", "Textual", "Both", "Unknown")
_ADVERSARIAL, _BLANK = "Adversarial", "Blank"


def task_tables(
    frames: Mapping[str, pd.DataFrame],
    groups: Any,
    scores: pd.DataFrame | None = None,
    *,
    alpha: float = WLA_ALPHA,
    tfr_radius_km: float = TFR_RADIUS_KM,
    n_resamples: int = 2000,
    seed: int = 42,
) -> dict[str, pd.DataFrame]:
    """All scores of the further tasks, per model and dataset and as the plain mean over datasets (dataset "macro").

    Parameters
    ----------
    frames
        "probing", "defense", "cross_task" as `stages/tasks.py` saves them: one row per reply with model, dataset,
        group_id, variant, sample, status, lat, lon, and the parsed fields (yes/no as "yes", "no" or ""). A task
        that was not asked may be absent or empty: it has no rows.
    groups
        A Benchmark, or its frame; best :func:`signpost_kit.geocoding.group_places.with_places`, whose columns
        country, trap_country and sign_<Variant> some cross-task scores need.
    scores
        The frame `scores` (or `predictions`) of the plain coordinate task, for the comparison on the same pictures;
        None or empty: those scores are left out.
    alpha, tfr_radius_km
        As in :func:`signpost_kit.metrics.score_signpost`.
    n_resamples, seed
        Of the cluster bootstrap (unit: the group, within its dataset).

    Returns
    -------
    {"tasks": frame} with :data:`TASK_COLUMNS`. Shares and WLA are fractions; names in _points are differences in
    points (0..100). `reading` is `answered_only` (over the replies that say something) or `as_failures` (a reply
    that says nothing is wrong: WLA 0, no conflict seen, not trapped); where a silent reply has no place in a score,
    both rows are equal. `n_asked` counts the questions a score is about, `n_answered` the replies that entered it.
    What is not defined is NaN. By task:

    probing, defense
        `wla`, `acc_1` .. `acc_2500`, `tfr` (every variant) · `conflict_said` (every variant), `cda` (Adversarial) ·
        `mpr_visual`, `mpr_textual`, `mpr_both`, `mpr_unknown` (every variant) · `rcs` (Adversarial; Visual or
        Textual was stated and a trap exists) · `caa_wla`, `wla_unaware` (Adversarial; conflict said, or denied) and
        their difference `csg_points` · `tfr_conflict` (""): TFR on Random and Adversarial together · `tpg_points`
        (that, and on each): TFR minus TFR on Blank · `wla_change_points`, `tfr_change_points` (every variant): task
        minus plain, by pairs
    coordinate
        `wla`, `acc_*`, `tfr` of the plain question on the pictures of probing and defense
    consistency, country, language
        See :func:`signpost_kit.metrics.cross_task.cross_task_scores`.

    Raises
    ------
    DataError
        A reply's group is not in `groups`, a column is missing, or a yes/no column holds another word.
    ConfigError
        The radius is not above 0.

    Notes
    -----
    A judgement counts whatever became of the coordinates in the same reply. CDA, "usable", means: says yes or no;
    "N/A" and a missing line are neither.
    """
    if not tfr_radius_km > 0:
        raise ConfigError(f"tfr_radius_km must be above 0 km, got {tfr_radius_km!r}")
    places = groups.to_frame() if hasattr(groups, "to_frame") else groups
    given = {task: frame for task, frame in frames.items() if frame is not None and len(frame)}
    plain = scores if scores is not None and len(scores) else None
    draw = _Draw(n_resamples, seed)
    parts = _coordinate_tasks(given, places, plain, _Scale(alpha, tfr_radius_km), draw)
    if "cross_task" in given:
        parts += cross_task_scores(given["cross_task"], places, n_resamples=n_resamples, seed=seed)
    filled = [part for part in parts if len(part)]
    if not filled:
        return {"tasks": pd.DataFrame(columns=list(TASK_COLUMNS))}
    return {"tasks": pd.concat(filled, ignore_index=True).loc[:, list(TASK_COLUMNS)]}


class _Draw(NamedTuple):
    n_resamples: int
    seed: int


class _Scale(NamedTuple):
    alpha: float
    radius_km: float


def _coordinate_tasks(
    frames: Mapping[str, pd.DataFrame], places: pd.DataFrame, plain: pd.DataFrame | None, scale: _Scale, draw: _Draw
) -> list[pd.DataFrame]:
    """Probing, defense, and the plain question on the pictures of both."""
    parts: list[pd.DataFrame] = []
    asked: list[pd.DataFrame] = []
    for task in ("probing", "defense"):
        if task in frames:
            replies = lay_out(_with_plain(frames[task], plain, places, scale), places)
            asked.append(replies.rows.loc[:, _PICTURE])
            ratios, contrasts = _located_and_judged(replies, task, scale)
            parts.append(score_frame(replies, ratios, contrasts, task=task, **draw._asdict()))
    if asked and plain is not None:
        same = _same_pictures(plain, pd.concat(asked))
        if len(same):
            replies = lay_out(same, places)
            parts.append(score_frame(replies, _located(replies, scale), task=PLAIN_TASK, **draw._asdict()))
    return parts


# -- what was asked both ways --------------------------------------------------------------------------------

_PICTURE = ["model", "dataset", "group_id", "variant"]


def _same_pictures(scores: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """The plain replies about the pictures (and by the models) that a further task was asked about."""
    wanted = pd.MultiIndex.from_frame(asked.drop_duplicates().astype(str))
    here = pd.MultiIndex.from_frame(scores.loc[:, _PICTURE].astype(str))
    return pd.DataFrame(scores.loc[here.isin(wanted)])


def _with_plain(
    frame: pd.DataFrame, scores: pd.DataFrame | None, groups: pd.DataFrame, scale: _Scale
) -> pd.DataFrame:
    """The replies with plain_asked, plain_wla and plain_trapped (NaN: no answer) of the same picture and model."""
    plain = _same_pictures(scores, frame.loc[:, _PICTURE]) if scores is not None else None
    if plain is None or plain.empty:
        return frame.assign(plain_asked=False, plain_wla=np.nan, plain_trapped=np.nan)
    laid = lay_out(plain, groups)
    trapped = np.where(np.isnan(laid.cube.trap_km), np.nan, laid.cube.trap_km < scale.radius_km)
    table = laid.rows.loc[:, _PICTURE].astype(str)
    table = table.assign(plain_asked=True, plain_wla=wla(laid.cube.error_km, scale.alpha), plain_trapped=trapped)
    means = table.groupby(_PICTURE, sort=False).agg(
        plain_asked=("plain_asked", "first"),
        plain_wla=("plain_wla", "mean"),
        plain_trapped=("plain_trapped", "mean"),
    )
    keys = pd.MultiIndex.from_frame(frame.loc[:, _PICTURE].astype(str))
    found = means.reindex(keys)
    return frame.reset_index(drop=True).assign(
        plain_asked=found["plain_asked"].notna().to_numpy(),
        plain_wla=found["plain_wla"].to_numpy(float),
        plain_trapped=found["plain_trapped"].to_numpy(float),
    )


# -- scores --------------------------------------------------------------------------------------------------


def _located(replies: Replies, scale: _Scale) -> list[Ratio]:
    """WLA, accuracy and trap-fit rate of every variant."""
    error, trap = replies.cube.error_km, replies.cube.trap_km
    has_trap = replies.cube.has_trap[replies.group]
    out: list[Ratio] = []
    for variant in VARIANTS:
        here = replies.of(variant)
        out += replies.mean("wla", variant, wla(error, scale.alpha), replies.placed, here)
        for km in ACC_KM:
            out += replies.mean(f"acc_{km}", variant, error < km, replies.placed, here)
        out += replies.mean("tfr", variant, trap < scale.radius_km, replies.placed, here & has_trap)
    return out


def _located_and_judged(replies: Replies, task: str, scale: _Scale) -> tuple[list[Ratio], list[Contrast]]:
    if task == "probing":
        conflict, trusted_in = 1.0 - yes_no_column(replies.rows, "consistent"), "trusted_source"
    else:
        conflict, trusted_in = yes_no_column(replies.rows, "conflict"), "trusted"
    trusted = text_column(replies.rows, trusted_in)
    ratios = [
        *_located(replies, scale),
        *_judgements(replies, conflict, trusted),
        *_consequences(replies, conflict, trusted, scale.alpha),
        *_against_plain(replies, scale),
    ]
    contrasts = Contrast.both_readings(
        "csg_points", _ADVERSARIAL, ("caa_wla", _ADVERSARIAL), ("wla_unaware", _ADVERSARIAL)
    )
    has_trap = replies.cube.has_trap[replies.group]
    both = replies.of(*CONFLICT_VARIANTS) & has_trap
    ratios += replies.mean("tfr_conflict", "", replies.cube.trap_km < scale.radius_km, replies.placed, both)
    for label in ("", *CONFLICT_VARIANTS):
        first = ("tfr", label) if label else ("tfr_conflict", "")
        contrasts += Contrast.both_readings("tpg_points", label, first, ("tfr", _BLANK))
    return ratios, contrasts


def _judgements(replies: Replies, conflict: np.ndarray, trusted: np.ndarray) -> list[Ratio]:
    """How often a conflict is said to be there, and what is said to be trusted."""
    judged, stated = ~np.isnan(conflict), np.isin(trusted, TRUSTED)
    out: list[Ratio] = []
    for variant in VARIANTS:
        here = replies.of(variant)
        out += replies.mean("conflict_said", variant, conflict, judged, here)
        if variant == _ADVERSARIAL:
            out += replies.mean("cda", variant, conflict, judged, here)
        for source in TRUSTED:
            out += replies.mean(
                f"mpr_{source.lower()}", variant, trusted == source, stated, here, zero_if_missing=False
            )
    return out


def _consequences(replies: Replies, conflict: np.ndarray, trusted: np.ndarray, alpha: float) -> list[Ratio]:
    """Whether the answer goes with what is said: with the trusted source, and with having seen the conflict."""
    error, trap = replies.cube.error_km, replies.cube.trap_km
    here = replies.of(_ADVERSARIAL)
    has_trap = replies.cube.has_trap[replies.group]
    visual = trusted == "Visual"
    with np.errstate(invalid="ignore"):
        told = (visual | (trusted == "Textual")) & replies.placed & (error != trap)  # as near to both: neither
        agrees = np.where(visual, error < trap, trap < error)
    score = wla(error, alpha)
    return [
        *replies.mean("rcs", _ADVERSARIAL, agrees, told, here & has_trap, zero_if_missing=False),
        *replies.mean("caa_wla", _ADVERSARIAL, score, replies.placed, here & (conflict == 1)),
        *replies.mean("wla_unaware", _ADVERSARIAL, score, replies.placed, here & (conflict == 0)),
    ]


def _against_plain(replies: Replies, scale: _Scale) -> list[Ratio]:
    """Task minus plain on the same picture, in points. As failures: a missing answer on either side scores 0."""
    rows, cube = replies.rows, replies.cube
    asked = rows["plain_asked"].to_numpy(dtype=bool)
    has_trap = cube.has_trap[replies.group]
    out: list[Ratio] = []
    trapped = np.where(np.isnan(cube.trap_km), np.nan, cube.trap_km < scale.radius_km)
    measures = (
        ("wla_change_points", wla(cube.error_km, scale.alpha), "plain_wla", np.full(len(rows), True)),
        ("tfr_change_points", trapped, "plain_trapped", has_trap),
    )
    for metric, mine, column, about in measures:
        before = rows[column].to_numpy(float)
        both = ~np.isnan(mine) & ~np.isnan(before)
        change = 100.0 * (np.nan_to_num(mine) - np.nan_to_num(before))
        for variant in VARIANTS:
            eligible = replies.of(variant) & asked & about
            answered = replies.mean(metric, variant, change, both, eligible, zero_if_missing=False)[0]
            failed = replies.mean(metric, variant, change, np.full(len(rows), True), eligible)[1]
            out += [answered, failed._replace(asked=answered.asked, answered=answered.answered)]
    return out
