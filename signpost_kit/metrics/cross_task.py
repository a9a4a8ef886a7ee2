"""Scores of the three cross-task questions (SIGNPOST-Bench, appendix G): consistency, country, language.

Countries are compared by ISO code, languages by the scripts they are written in; names are never looked for inside
other names.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from signpost_kit.fonts import scripts_in
from signpost_kit.frames import VARIANTS
from signpost_kit.metrics.ratios import ANSWERED, AS_FAILURES, Key, Ratio
from signpost_kit.metrics.task_replies import Replies, lay_out, score_frame, text_column, yes_no_column
from signpost_kit.parsing.country_names import country_code, country_codes, names_no_place
from signpost_kit.parsing.language_names import scripts_of_language

__all__ = ["CROSS_TASKS", "cross_task_scores"]

CROSS_TASKS = ("consistency", "country", "language")
_CONFLICT = ("Random", "Adversarial")
_TRUSTED = ("Visual", "Textual", "Both", "Unknown")


def cross_task_scores(
    frame: pd.DataFrame, groups: pd.DataFrame, *, n_resamples: int = 2000, seed: int = 42
) -> list[pd.DataFrame]:
    """Scores of the tasks that the frame `cross_task` holds, a frame each.

    Parameters
    ----------
    frame
        One row per reply, with a column `task`.
    groups
        The groups' frame; with country and trap_country (ISO codes) for `final_truth` and `final_trap`, with
        sign_<Variant> for `script_named`.

    Returns
    -------
    Frames with :data:`signpost_kit.metrics.task_replies.TASK_COLUMNS`:

    consistency
        `accuracy` (every variant, and "" for all): Random and Adversarial are in conflict, the others are not ·
        `conflict_recall` (Random, Adversarial, and "" for both) · `precision`, `f1` (""; NaN for a model that
        judged no picture without conflict, since then nothing can be flagged wrongly)
    country
        `text_dominance` (Random, Adversarial, and "" for both): trusted source Textual, of the replies that state
        one · `region_scene`, `region_text`, `region_both`, `region_neither` (every variant): whether the final
        country is the one that the reply's sights, writing, both or neither suggest · `final_truth`, `final_trap`
        (every variant; the trap's where it lies in another country than the scene)
    language
        `text_found` (every variant) · `script_named` (every variant with a sign): one of the languages named is
        written in a script that the sign is written in
    """
    out = []
    measures = {"consistency": _consistency, "country": _country, "language": _language}
    for task in CROSS_TASKS:
        mine = frame.loc[text_column(frame, "task") == task]
        if mine.empty:
            continue
        replies = lay_out(mine, groups)
        out.append(score_frame(replies, measures[task](replies), task=task, n_resamples=n_resamples, seed=seed))
    return out


# -- consistency ---------------------------------------------------------------------------------------------


def _consistency(replies: Replies) -> list[Ratio]:
    consistent = yes_no_column(replies.rows, "consistent")
    judged, flagged = ~np.isnan(consistent), consistent == 0
    clash = replies.of(*_CONFLICT)
    right = np.where(clash, flagged, ~flagged)
    everywhere = np.full(len(clash), True)
    out = replies.mean("accuracy", "", right, judged, everywhere)
    for variant in VARIANTS:
        out += replies.mean("accuracy", variant, right, judged, replies.of(variant))
    for label in ("", *_CONFLICT):
        here = replies.of(label) if label else clash
        out += replies.mean("conflict_recall", label, flagged, judged, here)
    return [*out, *_detection(replies, judged, flagged)]


def _detection(replies: Replies, judged: np.ndarray, flagged: np.ndarray) -> list[Ratio]:
    """Precision and F1 of "in conflict", from sums of true and false flags over pictures."""
    clash = np.isin(VARIANTS, _CONFLICT)[None, :, None]
    asked, n_judged, n_flagged = (replies.sums(part) for part in (np.ones(len(judged)), judged, judged & flagged))
    counts = asked.sum(axis=1), n_judged.sum(axis=1)
    clean = np.where(clash, 0, n_judged).sum(axis=1)
    testable = np.zeros_like(clean)
    for first, last in zip(replies.cube.starts[:-1], replies.cube.starts[1:], strict=True):
        testable[:, first:last] = clean[:, first:last].sum(axis=1, keepdims=True) > 0
    out = []
    for reading, n in ((ANSWERED, n_judged), (AS_FAILURES, asked)):
        share = n_flagged / np.maximum(n, 1)
        true, false = (np.where(part, share, 0).sum(axis=1) for part in (clash, ~clash))
        pictures = np.where(clash, n > 0, False).sum(axis=1)
        out.append(Ratio(Key("precision", "", "", reading), true * testable, (true + false) * testable, *counts))
        both = 2 * true + false + (pictures - true)
        out.append(Ratio(Key("f1", "", "", reading), 2 * true * testable, both * testable, *counts))
    return out


# -- country -------------------------------------------------------------------------------------------------


def _country(replies: Replies) -> list[Ratio]:
    rows = replies.rows
    trusted = text_column(rows, "trusted_source")
    stated = np.isin(trusted, _TRUSTED)
    out: list[Ratio] = []
    for label in ("", *_CONFLICT):
        here = replies.of(label) if label else replies.of(*_CONFLICT)
        out += replies.mean("text_dominance", label, trusted == "Textual", stated, here)
    final = np.array([country_code(words) for words in text_column(rows, "final_country")], dtype=object)
    named = final != ""
    sides, known = zip(
        *(_side(text_column(rows, f"{side}_country"), final) for side in ("visual", "textual")), strict=True
    )
    scene, text = sides
    usable = named & known[0] & known[1]
    regions = {
        "region_scene": scene & ~text,
        "region_text": text & ~scene,
        "region_both": scene & text,
        "region_neither": ~scene & ~text,
    }
    truth, trap = replies.of_group("country"), replies.of_group("trap_country")
    for variant in VARIANTS:
        here = replies.of(variant)
        for metric, values in regions.items():
            out += replies.mean(metric, variant, values, usable, here, zero_if_missing=False)
        out += replies.mean("final_truth", variant, final == truth, named, here & (truth != ""))
        elsewhere = here & (truth != "") & (trap != "") & (truth != trap)
        out += replies.mean("final_trap", variant, final == trap, named, elsewhere)
    return out


def _side(said: np.ndarray, final: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per reply: does one side's evidence suggest the final country; and can that be told?

    "none" suggests no country. Words that name a region which is no country, and an empty field, cannot be told.
    """
    suggests = np.array([code in country_codes(words) for words, code in zip(said, final, strict=True)], dtype=bool)
    told = np.array(
        [bool(words) and (bool(country_codes(words)) or names_no_place(words)) for words in said], dtype=bool
    )
    return suggests, told


# -- language ------------------------------------------------------------------------------------------------


def _language(replies: Replies) -> list[Ratio]:
    found = yes_no_column(replies.rows, "text_found")
    said = ~np.isnan(found)
    languages = text_column(replies.rows, "languages")
    written = [_scripts(names) for names in languages]
    out: list[Ratio] = []
    for variant in VARIANTS:
        here = replies.of(variant)
        out += replies.mean("text_found", variant, found, said, here)
        signs = [_written(sign) for sign in replies.of_group(f"sign_{variant}")]
        shared = np.array([bool(a & b) for a, b in zip(written, signs, strict=True)], dtype=bool)
        readable = np.array([bool(scripts) for scripts in signs], dtype=bool)
        out += replies.mean("script_named", variant, shared, said, here & readable)
    return out


def _written(sign: str) -> frozenset[str]:
    """Scripts of a sign; Han beside kana is Japanese, so that "Chinese" does not name it."""
    scripts = frozenset(scripts_in(sign))
    return scripts - {"Han"} if "Japanese" in scripts else scripts


def _scripts(languages: str) -> frozenset[str]:
    """Scripts of the languages in "French; Arabic"."""
    return frozenset(script for name in languages.split(";") for script in scripts_of_language(name.strip()))
