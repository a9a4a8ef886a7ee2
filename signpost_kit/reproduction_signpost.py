"""SIGNPOST-Bench's numbers recomputed: from what else is published, from added tables, from a release's replies.

rows = reproduce_signpost()                     # published numbers alone
rows = reproduce_signpost(study_of_run(run))    # and the replies of an imported release
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from signpost_kit.frames import VARIANTS
from signpost_kit.metrics.mcrs import mcrs
from signpost_kit.metrics.paper import SENSITIVITY_EXPONENTS, WLA_ALPHA
from signpost_kit.published import published, published_text
from signpost_kit.reproduction import Claim, Found, claims_of, compare, exactly, merged
from signpost_kit.reproduction_scores import from_scores, reasons
from signpost_kit.reproduction_study import Study, published_study
from signpost_kit.rounding import Printed, Range, carried, nearest_mean, printed
from signpost_kit.stats.ranks import rank_agreement

__all__ = ["FROM_PUBLISHED", "reproduce_signpost", "signpost_claims"]

FROM_PUBLISHED = "published"
_BOARD = "Table 13"
_TEXT = "Text"


def reproduce_signpost(study: Study | None = None) -> pd.DataFrame:
    """Every published number with what came out, see :func:`signpost_kit.reproduction.compare`.

    Parameters
    ----------
    study
        Of :func:`signpost_kit.reproduction_study.study_of_run`; None, or one without any of the published models:
        the published numbers alone, with the tables that a user has added.

    Raises
    ------
    DataError
        A published table is damaged.
    """
    users = published_study()
    parts = [_from_published(), from_scores(users, claims=_quantities())]
    if study is not None and study.models:
        parts.append(from_scores(study, claims=_quantities()))
    found = merged(parts)
    claims = signpost_claims(scores_known={name for name, results in found.items() if results})
    return compare(claims, found, missing=reasons(study))


def signpost_claims(*, scores_known: set[str] | frozenset[str] = frozenset()) -> list[Claim]:
    """All published numbers: the text's, then the leaderboard's.

    Capability, robustness and the groups of a data set stand for themselves where something came out for them
    (`scores_known`), else all of a column together.
    """
    claims = [*claims_of("signpost/aggregate_facts", _TEXT), *claims_of("signpost/quoted_facts", _TEXT)]
    sets = published_text("signpost/composition")
    claims += [
        Claim(f"groups_{row['dataset']}", printed(row["groups"], exact=True), "count", "sec 4", _TEXT)
        for row in sets.to_dict("records")
    ]
    board = published_text("signpost/mcrs_leaderboard").to_dict("records")
    source = "app G, table 13"
    for row in board:
        claims.append(Claim(f"mcrs_{row['model']}", printed(row["mcrs"]), "0-100", source, _BOARD))
    for row in board:
        claims.append(Claim(f"rank_{row['model']}", printed(row["rank"], exact=True), "rank", source, _BOARD))
    for column, name in (("capability_pct", "capability"), ("robustness_pct", "robustness")):
        each = [Claim(f"{name}_{r['model']}", printed(r[column]), "percent", source, _BOARD) for r in board]
        known = [claim for claim in each if claim.quantity in scores_known]
        rest = len(each) - len(known)
        claims += known
        if rest:
            label = f"{name} of {rest} models"
            claims.append(Claim(label, Printed(math.nan, 0.0), "percent", source, _BOARD, rest))
    return claims


def _quantities() -> set[str]:
    board = published("signpost/mcrs_leaderboard")["model"].astype(str)
    each = {f"{name}_{model}" for name in ("mcrs", "rank", "capability", "robustness") for model in board}
    return {claim.quantity for claim in signpost_claims()} | each


class _Facts:
    """The published single numbers by name, digits as printed."""

    def __init__(self) -> None:
        self._all = {claim.quantity: claim.number for claim in signpost_claims()}

    def __getitem__(self, name: str) -> Printed:
        return self._all[name]

    def value(self, name: str) -> float:
        return self._all[name].value


def _said(range_: Range, how: str, bound: str = "") -> list[Found]:
    return [Found(range_, FROM_PUBLISHED, how, bound)]


def _from_published() -> dict[str, list[Found]]:
    facts = _Facts()
    return {**_counts(facts), **_ratios(facts), **_audits(facts), **_leaderboard(facts), **_models(facts)}


def _counts(facts: _Facts) -> dict[str, list[Found]]:
    """Totals from their parts."""
    groups, n_models = facts.value("groups"), facts.value("models")
    sets = published("signpost/composition")
    sizes = [int(n) for n in sets["groups"]]
    tiers = {tier: facts.value(f"tier_{tier}_groups") for tier in ("T1", "T2", "T3")}
    out = {
        "groups": _said(exactly(sum(sizes)), f"{' + '.join(f'{n:,}' for n in sizes)}, the data sets of section 4."),
        "image_variants": _said(
            exactly(groups * len(VARIANTS)), f"{groups:,.0f} groups of {len(VARIANTS)} variants."
        ),
        "evaluations": _said(
            exactly(groups * len(VARIANTS) * n_models), f"{groups:,.0f} × {len(VARIANTS)} × {n_models:g} models."
        ),
    }
    for name, n in zip(sets["dataset"].astype(str), sizes, strict=True):
        out[f"groups_{name}"] = _said(exactly(groups - (sum(sizes) - n)), f"{groups:,.0f} less the others.")
    for tier, n in tiers.items():
        rest = [m for other, m in tiers.items() if other != tier]
        out[f"tier_{tier}_groups"] = _said(
            exactly(groups - sum(rest)),
            f"{groups:,.0f} less the other two tiers, {rest[0]:,.0f} and {rest[1]:,.0f}.",
        )
        out[f"tier_{tier}_share"] = _said(exactly(100 * n / groups), f"{n:,.0f} of {groups:,.0f}.")
    return out


def _ratios(facts: _Facts) -> dict[str, list[Found]]:
    """What follows from two or three published numbers."""
    groups, traps = facts.value("groups"), facts.value("geocodable_groups")
    top, top_d = facts["tfr_max"], facts["max_model_tfr"]
    blank = facts["blank_ablation_original_wla"], facts["blank_ablation_blank_wla"]
    original, adversarial = facts["mean_wla_original"], facts["mean_wla_adversarial"]
    before, after = facts["median_error_original"], facts["median_error_adversarial"]
    board = published_text("signpost/mcrs_leaderboard")["capability_pct"]
    able = [printed(text) for text in board]
    mean_c = float(np.mean([c.value for c in able]))
    half_c = max(c.half for c in able)
    return {
        "geocodable_share": _said(exactly(100 * traps / groups), f"{traps:,.0f} of {groups:,.0f}."),
        "relative_wla_drop": _said(
            carried(lambda a, b: 100 * (a - b) / a, original, adversarial),
            f"({original.text} − {adversarial.text}) / {original.text}.",
        ),
        "median_error_fold": _said(
            carried(lambda a, b: b / a, before, after), f"{after.text} km / {before.text} km."
        ),
        "T3_relative_drop": _said(
            carried(lambda drop, a: 100 * drop / a, facts["T3_wla_drop"], facts["T3_wla_original"]),
            f"{facts['T3_wla_drop'].text} of {facts['T3_wla_original'].text}, the drop of the means.",
        ),
        "original_minus_blank_wla": _said(
            carried(lambda a, c: 2 * (a - c), original, Printed(mean_c, half_c)),
            f"Twice {original.text} less {mean_c:.2f}, the mean C: C is the mean of Original and Blank.",
        ),
        "max_model_tfr": _said(carried(lambda x: x / 100, top), f"The highest TFR of section 6, {top.text} %."),
        "tfr_max": _said(carried(lambda x: 100 * x, top_d), f"The highest TFR of appendix D, {top_d.text}."),
        "wla_half_distance": _said(
            exactly(math.log(2) / WLA_ALPHA),
            "ln 2 / 0.005 = 138.6 km: the paper leaves the decimals out instead of rounding.",
        ),
        "blank_ablation_drop": _said(carried(lambda a, b: a - b, *blank), f"{blank[0].text} − {blank[1].text}."),
    }


def _audits(facts: _Facts) -> dict[str, list[Found]]:
    """Counts of the audits, and whether means of whole ratings can be what is printed."""
    n, pictures = int(facts.value("edit_audit_images")), int(facts.value("taxonomy_audit_images"))
    full, partial = facts.value("edit_fully_readable_images"), facts.value("edit_partially_readable_images")
    none = facts.value("edit_unreadable_images")
    tiers = [facts.value(f"taxonomy_audit_{tier}_images") for tier in ("T1", "T2", "T3")]
    out = {
        "edit_audit_images": _said(exactly(full + partial + none), "105 fully, 15 partially, 0 not readable."),
        "edit_fully_readable": _said(exactly(100 * full / n), f"{full:g} of {n}."),
        "edit_partially_readable": _said(exactly(100 * partial / n), f"{partial:g} of {n}."),
        "edit_fully_readable_images": _said(exactly(n - partial - none), f"{n} less the others."),
        "edit_partially_readable_images": _said(exactly(n - full - none), f"{n} less the others."),
        "edit_unreadable_images": _said(exactly(n - full - partial), f"{n} less the others."),
        "taxonomy_audit_images": _said(exactly(sum(tiers)), "100 T1, 150 T2, 100 T3."),
    }
    for scale in ("naturalness", "artifact", "context_damage"):
        mean = facts[f"edit_{scale}_mean"]
        value = nearest_mean(mean, n)
        out[f"edit_{scale}_mean"] = _said(
            exactly(value), f"The nearest mean of {n} whole ratings, {value * n:.0f} / {n}.",
            "possible",
        )  # fmt: skip
    for tier, k in zip(("T1", "T2", "T3"), tiers, strict=True):
        out[f"taxonomy_audit_{tier}_images"] = _said(
            exactly(pictures - (sum(tiers) - k)), f"{pictures} less the others."
        )
    agreed = nearest_mean(facts["taxonomy_interannotator_agreement"], pictures, factor=100)
    out["taxonomy_interannotator_agreement"] = _said(
        exactly(agreed),
        f"The nearest share of {pictures} pictures, {agreed * pictures / 100:.0f} of them.",
        "possible",
    )
    return out


def _leaderboard(facts: _Facts) -> dict[str, list[Found]]:
    """MCRS from C and R, ranks from MCRS, and the agreement of rankings as far as C and R tell it."""
    text = published_text("signpost/mcrs_leaderboard")
    rows = text.to_dict("records")
    scores = np.array([float(row["mcrs"]) for row in rows])
    robust = np.array([float(row["robustness_pct"]) for row in rows])
    able = np.array([float(row["capability_pct"]) for row in rows])
    out: dict[str, list[Found]] = {}
    for row, score in zip(rows, scores, strict=True):
        c, r = printed(row["capability_pct"]), printed(row["robustness_pct"])
        got = carried(lambda c, r: float(mcrs(c / 100, r / 100)), c, r)
        out[f"mcrs_{row['model']}"] = _said(got, f"100 C^0.40 R^0.60 of C = {c.text} and R = {r.text}.")
        out[f"rank_{row['model']}"] = _said(exactly(1 + int((scores > score).sum())), "By the printed MCRS.")
    rank = 1 + int((robust > robust[text["model"] == "Qwen3-VL-30B"]).sum())
    out["robustness_rank_Qwen3-VL-30B"] = _said(exactly(rank), "By the printed R.")
    top = np.argsort(-scores)[:3]
    out["top3_capability_above"] = _said(exactly(able[top].min()), "The lowest C of the first three.", "above")
    out["top3_robustness_above"] = _said(exactly(robust[top].min()), "The lowest R of the first three.", "above")
    return out | _settings(able, robust, scores)


def _settings(able: np.ndarray, robust: np.ndarray, scores: np.ndarray) -> dict[str, list[Found]]:
    """The lowest agreement over the exponents; other weights need the parts of R."""
    found = [
        rank_agreement(np.asarray(mcrs(able / 100, robust / 100, capability_exponent=exponent)), scores)
        for exponent in SENSITIVITY_EXPONENTS
    ]
    how = "Over the exponents 0.30, 0.40 and 0.50, from C and R; other weights in R need its components."
    return {
        "mcrs_sensitivity_min_kendall": _said(exactly(min(f.kendall for f in found)), how),
        "mcrs_sensitivity_min_spearman": _said(exactly(min(f.spearman for f in found)), how),
    }


def _models(facts: _Facts) -> dict[str, list[Found]]:
    listed = published("signpost/models")
    sizes: Mapping[str, int] = {str(k): int(v) for k, v in listed["provider"].value_counts().items()}
    out = {
        "models": _said(exactly(len(listed)), "Rows of table 3."),
        "providers": _said(exactly(len(sizes)), "Providers in table 3."),
    }
    out |= {f"models_{name}": _said(exactly(n), "Rows of table 3.") for name, n in sizes.items()}
    cells = facts.value("models") * len(published("signpost/composition"))
    told = f"{cells:g} cells are 20 models on 4 data sets; which of them do, only replies tell."
    for name in ("cells_declining", "similar_above_original_cells"):
        out[name] = [Found(None, FROM_PUBLISHED, told)]
    return out
