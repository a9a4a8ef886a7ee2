"""Tables of GeoContext from the frames of the stage `context_scoring`, published numbers below the run's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd

from signpost_kit.errors import DataError
from signpost_kit.published import published
from signpost_kit.tables_format import Column, Row, Score, Table

__all__ = [
    "context_frame",
    "image_audit_table",
    "tab_chain",
    "tab_checklist",
    "tab_echo",
    "tab_models",
    "tab_ratio",
    "tab_regimes",
    "tab_slope",
    "tab_verify",
    "tab_warn",
]

RUN, PUBLISHED = "this run", "published"
_NOTE = "Brackets: 95 % intervals from resampled sites."
_BANDS = {"near": "0.5-1.5km", "mid": "1.5-3.0km", "far": "3.0-6.0km"}


def context_frame(run: _HasTables, name: str) -> pd.DataFrame:
    """A frame of the run; without rows when that part of the study was not asked, so that its table says so."""
    try:
        return run.table(name)
    except DataError:
        return pd.DataFrame(columns=_KEYS)


class _HasTables(Protocol):
    def table(self, name: str, /) -> pd.DataFrame: ...


_KEYS = ["model", "regime", "reading", "tier", "band", "fine_only", "ai_usable", "human_usable", "schema", "ref_km"]


def _num(row: Mapping[str, Any], name: str, factor: float = 1.0) -> float:
    value = row.get(name)
    if value is None or isinstance(value, str):
        return math.nan
    return float(value) * factor


def _score(row: Mapping[str, Any], name: str, factor: float = 1.0) -> Score:
    """A number with its bounds, where the frame has them."""
    return Score(*(_num(row, key, factor) for key in (name, f"{name}_low", f"{name}_high")))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]


def _theirs(name: str, with_published: bool) -> list[dict[str, Any]]:
    return _records(published(f"geocontext/{name}")) if with_published else []


def tab_models(models: pd.DataFrame, *, with_published: bool = False) -> Table:
    """Each model with a hint: hit rate over all and by the hint's distance, echo by both readings; without one.

    `models` is the frame `hint_models`. A hit lies less than 1 km from the truth at building or area level.
    """
    columns = [
        Column("n", "Answers", whole=True),
        Column("no_context", "No hint", "%", 1, 1),
        Column("hit", "Hit", "%", 1, 1),
        Column("hit_near", "0.5-1.5 km", "%", 1, 1),
        Column("hit_mid", "1.5-3 km", "%", 1, 1),
        Column("hit_far", "3-6 km", "%", 1, 1),
        Column("echo", "Echo", "%", 1, -1),
        Column("echo_study", "Echo (study's)", "%", 1, -1),
    ]
    shares = [c.key for c in columns if c.unit == "%"]
    rows = []
    for row in _records(models):
        scores = {key: _score(row, key, 100) for key in shares} | {"n": Score(_num(row, "n"))}
        name = str(row["model"])
        rows.append(Row(name, scores, RUN, _num(row, "coverage"), ranked=name != "all"))
    for row in _theirs("geohint_models", with_published):
        keys = {"hit": "hit_pct", "hit_near": "hit_near_pct", "hit_mid": "hit_mid_pct", "hit_far": "hit_far_pct"}
        scores = {key: Score(_num(row, name)) for key, name in keys.items()}
        scores |= {"echo_study": Score(_num(row, "echo_pct")), "n": Score(_num(row, "n"))}
        rows.append(Row(str(row["model"]), scores, PUBLISHED, ranked=False))
    caption = "Hit rate with a true but coarse hint, by model and by the hint's distance."
    note = f"{_NOTE} Echo: the answer names the hint's place; the study's reading matches its first word only."
    return Table("tab_models", caption, tuple(columns), tuple(rows), section_head="Source", note=note)


def tab_regimes(regimes: pd.DataFrame, *, with_published: bool = False) -> Table:
    """With and without a hint at sites that are legible without one and at those that are not.

    `regimes` is the frame `hint_regimes`. The change to the near band is given as it comes out when the same
    answers choose the regime and serve as the baseline, and corrected by split halves.
    """
    columns = (
        Column("n", "Answers", whole=True),
        Column("no_context", "No hint", "%", 1),
        Column("with_context", "Any hint", "%", 1),
        Column("near", "Near hint", "%", 1),
        Column("uncorrected", "Change", "points", 1),
        Column("corrected", "Corrected", "points", 1),
        Column("sd", "SD", "points", 1),
        Column("echo", "Echo", "%", 1),
    )
    rows = []
    for row in _records(regimes):
        keys = ("no_context", "with_context", "near", "uncorrected", "corrected", "echo")
        scores = {key: _score(row, key, 100) for key in keys}
        scores |= {"sd": Score(_num(row, "corrected_sd", 100)), "n": Score(_num(row, "n"))}
        rows.append(Row(str(row["model"]), scores, f"{row['regime']}, {RUN}", ranked=False))
    for row in _theirs("geohint_regimes", with_published):
        keys = {"no_context": "no_context_pct", "with_context": "with_context_pct", "near": "hit_near_pct"}
        keys |= {"uncorrected": "uncorrected_pts", "corrected": "corrected_pts", "sd": "corrected_sd"}
        scores = {key: Score(_num(row, name)) for key, name in keys.items()}
        scores |= {"echo": Score(_num(row, "echo_pct")), "n": Score(_num(row, "n"))}
        rows.append(Row(str(row["model"]), scores, f"{row['regime']}, {PUBLISHED}", ranked=False))
    note = _NOTE
    if len(regimes) and "n_changed" in regimes:
        note += (
            f" Split halves: {regimes['n_changed'].iloc[0]:.1f} sites change side on average; SD over 200 splits; "
            f"{regimes['n_single'].iloc[0]:.0f} site(s) have one answer only and are left out of the correction."
        )
    caption = "Legible and illegible sites: hit rate without a hint, with one, and the corrected change."
    return Table("tab_regimes", caption, columns, tuple(rows), section_head="Sites", note=note)


def tab_echo(echo: pd.DataFrame, *, with_published: bool = False) -> Table:
    """How often answers name the hint's place, by its referenceability and distance. `echo` is `hint_echo`."""
    columns = tuple(Column(band, head, "%", 1, 0) for band, head in _ECHO_HEADS.items())
    rows = []
    for reading, name in (("kit", "distinctive part of the name"), ("study", "study's: first word")):
        mine = echo.loc[echo["reading"] == reading] if len(echo) else echo
        for tier in ("high", "mid", "low", "all"):
            cells = {str(r["band"]): r for r in _records(mine.loc[mine["tier"] == tier])} if len(mine) else {}
            scores = {band: _rate(cells[band]) for band in _ECHO_HEADS if band in cells}
            if scores:
                rows.append(Row(tier, scores, f"{name}, {RUN}", ranked=False))
    for row in _theirs("geohint_echo", with_published):
        scores = {band: Score(_num(row, f"{short}_pct")) for short, band in _BANDS.items()}
        scores["all"] = Score(_num(row, "all_pct"))
        rows.append(Row(str(row["tier"]), scores, f"study's: first word, {PUBLISHED}", ranked=False))
    caption = "Echo rate by the hint's referenceability (rows) and distance (columns)."
    return Table("tab_echo", caption, columns, tuple(rows), label_head="Tier", section_head="Reading", note=_NOTE)


_ECHO_HEADS = {"0.5-1.5km": "0.5-1.5 km", "1.5-3.0km": "1.5-3 km", "3.0-6.0km": "3-6 km", "all": "All"}


def _rate(row: Mapping[str, Any]) -> Score:
    return Score(*(_num(row, key, 100) for key in ("rate", "low", "high")))


def tab_ratio(ratio: pd.DataFrame, *, with_published: bool = False) -> Table:
    """Error in units of the hint's distance, by regime and band; 1: the hint itself. `ratio` is `hint_ratio`."""
    columns = (
        Column("n", "Answers", whole=True),
        Column("median", "Median ratio", "", 2),
        Column("geomean", "Geom. mean", "", 2),
        Column("error", "Error", "km", 2),
        Column("ref", "Hint", "km", 2),
        Column("n_city", "City level", whole=True),
    )
    rows = []
    for row in _records(ratio):
        median = Score(*(_num(row, key) for key in ("median", "low", "high")))
        scores = {
            "median": median,
            "geomean": Score(_num(row, "geomean")),
            "error": Score(_num(row, "error_geomean_km")),
        }
        scores |= {
            "ref": Score(_num(row, "ref_geomean_km")),
            "n": Score(_num(row, "n")),
            "n_city": Score(_num(row, "n_city")),
        }
        rows.append(Row(str(row["band"]), scores, f"{row['regime']}, {RUN}", ranked=False))
    for row in _theirs("geohint_ratio", with_published):
        scores = {"median": Score(_num(row, "median_ratio")), "error": Score(_num(row, "err_km_geomean"))}
        scores |= {"ref": Score(_num(row, "ref_km_geomean")), "n": Score(_num(row, "n"))}
        rows.append(Row(f"{row['band_km']}km", scores, f"{row['regime']}, {PUBLISHED}", ranked=False))
    caption = "Error over the hint's distance, answers finer than city level."
    note = f"{_NOTE} Error and hint: geometric means in km."
    return Table("tab_ratio", caption, columns, tuple(rows), label_head="Band", section_head="Sites", note=note)


def tab_slope(slope: pd.DataFrame, *, with_published: bool = False) -> Table:
    """The distance slope: all answers, by model, by regime; and without the city level. `slope` is `hint_slope`."""
    columns = (
        Column("n", "Answers", whole=True),
        Column("beta", "Slope", "log10 km/km", 4),
        Column("p", "p", "", 4, is_p=True),
        Column("p_holm", "p (Holm)", "", 4, is_p=True),
        Column("p_normal", "p (normal)", "", 4, is_p=True),
        Column("share", "Way to the hint", "%", 0),
        Column("factor", "Factor 0.5-6 km", "", 2),
        Column("spearman", "Spearman", "", 2),
        Column("fine", "Slope, fine levels", "log10 km/km", 4),
    )
    fine = {str(r["subset"]): r for r in _records(slope.loc[slope["fine_only"]])} if len(slope) else {}
    rows = []
    for row in _records(slope.loc[~slope["fine_only"].astype(bool)]) if len(slope) else []:
        beta = Score(*(_num(row, key) for key in ("beta", "low", "high")))
        scores = {"beta": beta, "n": Score(_num(row, "n")), "share": Score(_num(row, "share", 100))}
        scores |= {key: Score(_num(row, key)) for key in ("p", "p_holm", "p_normal", "factor", "spearman")}
        other = fine.get(str(row["subset"]), {})
        scores["fine"] = Score(*(_num(other, key) for key in ("beta", "low", "high")))
        rows.append(Row(str(row["subset"]), scores, RUN, ranked=False))
    for row in _theirs("geohint_slope", with_published):
        scores = {
            "beta": Score(_num(row, "beta")),
            "n": Score(_num(row, "n")),
            "fine": Score(_num(row, "beta_fine_only")),
        }
        scores["p_normal"] = Score(_num(row, "p"))
        rows.append(Row(str(row["subset"]), scores, PUBLISHED, ranked=False))
    note = (
        "Errors clustered by site; p from t with sites - 1 degrees of freedom, Holm over models; the study's p "
        "are from the normal. Way to the hint: 0 ignores it, 100 always answers it."
    )
    caption = "How the error grows with the hint's distance: slope of log10(error) on the distance in km."
    return Table("tab_slope", caption, columns, tuple(rows), label_head="Answers", section_head="Source", note=note)


def _changes(id: str, frame: pd.DataFrame, caption: str, theirs: Sequence[Row]) -> Table:
    columns = (
        Column("n", "Pairs", whole=True),
        Column("before", "Before", "%", 1),
        Column("after", "After", "%", 1),
        Column("delta", "Change", "points", 2),
        Column("p", "p", "", 4, is_p=True),
        Column("p_holm", "p (Holm)", "", 4, is_p=True),
        Column("n_sites", "Sites", whole=True),
    )
    rows = []
    for row in _records(frame):
        scores = {key: Score(_num(row, key, 100)) for key in ("before", "after", "delta")}
        scores |= {key: Score(_num(row, key)) for key in ("p", "p_holm", "n_sites")} | {
            "n": Score(_num(row, "n_pairs"))
        }
        label = str(row["model"]) if row["model"] != "all" else "all models"
        rows.append(Row(label, scores, f"{row['regime']} sites, {RUN}", ranked=False))
    note = "Strictly paired on picture, model and hint; whole sites flip sign together; p = (b + 1) / (m + 1)."
    return Table(id, caption, columns, (*rows, *theirs), section_head="Sites", note=note)


def tab_warn(warn: pd.DataFrame, *, with_published: bool = False) -> Table:
    """What a warning that the user may be wrong does to the hit rate, paired. `warn` is `hint_warn`."""
    caption = "The effect of a warning on the hit rate with a hint."
    theirs = [*_their_changes("warn", with_published)]
    for row in _theirs("geohint_warn_by_model", with_published):
        for regime in ("all", "illegible", "legible"):
            scores = {
                "delta": Score(_num(row, f"{regime}_pts")),
                "n": Score(_num(row, "n_pairs") if regime == "all" else math.nan),
            }
            theirs.append(Row(str(row["model"]), scores, f"{regime} sites, {PUBLISHED}", ranked=False))
    return _changes("tab_warn", warn, caption, theirs)


def tab_chain(chain: pd.DataFrame, *, with_published: bool = False) -> Table:
    """What an evidence checklist before the answer does to the hit rate, paired. `chain` is `hint_chain`."""
    caption = "The effect of an evidence checklist on the hit rate with a hint."
    return _changes("tab_chain", chain, caption, _their_changes("chain", with_published))


def _their_changes(intervention: str, with_published: bool) -> list[Row]:
    """The study's paired rows: its table has one line per side."""
    frame = pd.DataFrame(_theirs("geohint_interventions", with_published))
    if frame.empty:
        return []
    rows = []
    mine = frame.loc[frame["intervention"] == intervention]
    for regime, part in mine.groupby("regime", sort=False):
        before = part.loc[part["schema"] == "forced"].iloc[0]
        after = part.loc[part["schema"] != "forced"].iloc[0]
        scores = {
            "before": Score(before["overall_pct"]),
            "after": Score(after["overall_pct"]),
            "delta": Score(after["delta_pts"]),
        }
        scores |= {"p": Score(after["p"]), "n": Score(after["n_pairs"])}
        rows.append(Row("all models", scores, f"{regime} sites, {PUBLISHED}", ranked=False))
    return rows


def tab_checklist(checklist: pd.DataFrame) -> Table:
    """How far replies keep to the evidence checklist, by model and slot; from the frame `checklist`."""
    columns = (
        Column("n", "Replies", whole=True),
        Column("present", "Said", "%", 1),
        Column("not_visible", "Not visible", "%", 1),
        Column("absent", "Left out", "%", 1),
    )
    rows = [
        Row(
            "the checklist itself" if row["category"] == "any" else str(row["category"]),
            {key: Score(_num(row, key, 100)) for key in ("present", "not_visible", "absent")}
            | {"n": Score(_num(row, "n"))},
            str(row["model"]),
            ranked=False,
        )
        for row in _records(checklist)
    ]
    caption = "Compliance with the evidence checklist."
    return Table("tab_checklist", caption, columns, tuple(rows), label_head="Slot", section_head="Model")


def tab_verify(claims: pd.DataFrame, summary: pd.DataFrame, *, with_published: bool = False) -> Table:
    """GeoVerify: H, F, controls, d' by decoy distance, radius, criterion, confidence in false claims, read-out.

    `claims` and `summary` are the frames `claims` and `claims_summary`.
    """
    bands = ("0.15-0.3km", "0.3-0.7km", "0.7-1.5km", "1.5-3.0km", "3.0-6.0km")
    columns = [
        Column("h", "H", "%", 1, 1),
        Column("f", "F", "%", 1, -1),
        Column("mismatched", "F other continent", "%", 1, -1),
        Column("grey", "F grey", "%", 1, -1),
        *(Column(b, f"d' {b.removesuffix('km').replace('.0', '')}", "", 2, 1) for b in bands),
        Column("c1", "c nearest", "", 2),
        Column("c5", "c farthest", "", 2),
        Column("sure", "F with conf. 0.8+", "%", 1, -1),
    ]
    cells = {(str(r["model"]), str(r["band"])): r for r in _records(claims)}
    rows, readings = [], []
    for row in _records(summary):
        model = str(row["model"])
        overall = cells.get((model, "all"), {})
        scores = {"h": _score(overall, "hit_rate", 100), "f": _score(overall, "false_alarm_rate", 100)}
        scores |= {band: _score(cells.get((model, band), {}), "dprime") for band in bands}
        plain = {"mismatched": ("mismatched_f", 100), "grey": ("grey_f", 100), "sure": ("fa_confident_share", 100)}
        plain |= {"c1": ("criterion_nearest", 1), "c5": ("criterion_farthest", 1)}
        scores |= {key: Score(_num(row, name, factor)) for key, (name, factor) in plain.items()}
        rows.append(Row(model, scores, RUN, _num(row, "coverage"), ranked=model != "pooled"))
        radius = row.get("radius")
        radius = radius if isinstance(radius, str) and radius else "none"
        readings.append(f"{model}: {row['verdict']} ({row['reason']}), radius {radius}")
    for row in _theirs("geoverify", with_published):
        names = dict(zip(bands, ("0.15_0.3", "0.3_0.7", "0.7_1.5", "1.5_3", "3_6"), strict=True))
        scores = {band: Score(_num(row, f"dprime_{name}")) for band, name in names.items()}
        keys = {"h": "hit_pct", "f": "false_alarm_pct", "mismatched": "swapped_image_pct", "grey": "gray_field_pct"}
        keys |= {"c1": "criterion_nearest", "c5": "criterion_farthest", "sure": "fa_confidence_ge_0.8_pct"}
        scores |= {key: Score(_num(row, name)) for key, name in keys.items()}
        rows.append(Row(str(row["model"]), scores, PUBLISHED, ranked=False))
    said = "; ".join(readings) or "nothing was judged"
    note = f"{_NOTE} d' with half a count added. Pre-registered reading: {said}."
    caption = "Claims about where a photo was taken: acceptance, sensitivity by decoy distance (km), criterion."
    return Table("tab_verify", caption, tuple(columns), tuple(rows), section_head="Source", note=note)


def image_audit_table(audit: pd.DataFrame) -> Table:
    """Which pictures a person and a model kept, and how far they agree. `audit` is the frame `image_audit`."""
    from signpost_kit.stats import cohen_kappa

    columns = (Column("keep", "Person keeps", whole=True), Column("drop", "Person excludes", whole=True))
    if audit.empty:
        return Table("tab_image_audit", "The audit of pictures.", columns, (), label_head="Model")
    both = audit.dropna(subset=["ai_usable", "human_usable"])
    rows = []
    for value, name in ((1.0, "usable"), (0.0, "not usable")):
        mine = both.loc[both["ai_usable"] == value, "human_usable"]
        counts = {"keep": Score(float((mine == 1).sum())), "drop": Score(float((mine == 0).sum()))}
        rows.append(Row(name, counts, ranked=False))
    agree = float((both["ai_usable"] == both["human_usable"]).mean()) if len(both) else np.nan
    kappa = cohen_kappa(both["ai_usable"].to_numpy(), both["human_usable"].to_numpy()) if len(both) else None
    text = f"{len(both)} of {len(audit)} pictures judged by both; agreement {agree:.1%}"
    if kappa is not None:
        text += f", kappa {kappa.kappa:.3f} [{kappa.low:.3f}, {kappa.high:.3f}]"
    return Table(
        "tab_image_audit", "The audit of pictures.", columns, tuple(rows), label_head="Model says", note=text + "."
    )
