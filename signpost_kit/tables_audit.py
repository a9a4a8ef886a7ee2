"""Tables of what people judged: Table 16 (tiers) and the audit of edited pictures, beside the published numbers."""

from __future__ import annotations

import math

import pandas as pd

from signpost_kit.tables_format import Column, Row, Score, Table

__all__ = ["tab16", "tab16_edits"]

_OWN, _PUBLISHED = "This run", "Published, other scenes"
_HOW = "make sheets with `signpost audit sheets PROFILE`, read them with `signpost audit read PROFILE FILES`"
_MEASURES = {
    "naturalness": ("Naturalness of the text (1–5, 5 best)", "edit_naturalness"),
    "artefacts": ("Artefacts (1–5, 1 best)", "edit_artifact"),
    "context_damage": ("Damage around the text (1–5, 1 best)", "edit_context_damage"),
}


def tab16(agreement: pd.DataFrame | None, *, facts: pd.DataFrame | None = None, note: str = "") -> Table:
    """Table 16, taxonomy audit: per cent agreement and Cohen's kappa, with 95 % intervals.

    Parameters
    ----------
    agreement
        From :func:`signpost_kit.audits.tier_agreement`; None where no sheet was filled: the note then says how.
    facts
        quantity, value (`signpost/aggregate_facts`): adds the published row of annotator 1 x 2.
    """
    rows = []
    for line in agreement.to_dict("records") if agreement is not None else []:
        scores = {
            "n": Score(float(line["n"])),
            "agreement": Score(*(line[f"agreement{end}"] for end in ("", "_low", "_high"))).scaled(100.0),
            "kappa": Score(*(line[f"kappa{end}"] for end in ("", "_low", "_high"))),
        }
        asked = line["n"] + line["n_missing"]
        rows.append(Row(str(line["pair"]), scores, _OWN, line["n"] / asked if asked else math.nan, ranked=False))
    known = _facts(facts)
    if known:
        scores = {
            "n": Score(known.get("taxonomy_audit_images", math.nan)),
            "agreement": Score(known.get("taxonomy_interannotator_agreement", math.nan)),
            "kappa": Score(known.get("taxonomy_kappa", math.nan)),
        }
        rows.append(Row("annotator 1 × 2", scores, _PUBLISHED, ranked=False))
    columns = (
        Column("n", "Pictures", "", 0, whole=True),
        Column("agreement", "Agreement", "%", 1),
        Column("kappa", "κ", "", 3),
    )
    reasons = [] if agreement is None else [f"{r['pair']}: {r['reason']}" for r in _reasoned(agreement)]
    said = "Brackets: 95 % intervals from pictures resampled within their automatic tier."
    if agreement is None:
        said = f"No filled sheet of this run: {_HOW}."
    notes = [said, *reasons, *([note] if note else [])]
    return Table("tab16", "Taxonomy audit: agreement on tiers.", columns, tuple(rows),
                 label_head="Pair", section_head="Source", note=" ".join(notes))  # fmt: skip


def tab16_edits(summary: pd.DataFrame | None, *, facts: pd.DataFrame | None = None) -> Table:
    """The audit of edited pictures: mean and sample SD of the three scales, shares of readability.

    Parameters
    ----------
    summary
        From :func:`signpost_kit.audits.edit_summary`; None where no sheet was filled: the note then says how.
    facts
        quantity, value (`signpost/aggregate_facts`): adds the published rows.
    """
    rows = []
    for line in summary.to_dict("records") if summary is not None else []:
        value = Score(line["value"], line["low"], line["high"])
        share = line["kind"] == "share"
        scores = {"n": Score(float(line["n"])), "sd": Score(line["sd"])}
        scores["share" if share else "mean"] = value.scaled(100.0) if share else value
        label = _MEASURES.get(line["measure"], (line["measure"].replace("readability", "Text can be read:"),))[0]
        asked = line["n"] + line["n_missing"]
        rows.append(Row(label, scores, _OWN, line["n"] / asked if asked else math.nan, ranked=False))
    known = _facts(facts)
    n = Score(known.get("edit_audit_images", math.nan))
    for label, key in _MEASURES.values() if known else ():
        mean, sd = (Score(known.get(f"{key}_{end}", math.nan)) for end in ("mean", "sd"))
        rows.append(Row(label, {"n": n, "mean": mean, "sd": sd}, _PUBLISHED, ranked=False))
    if known:
        full = Score(known.get("edit_fully_readable", math.nan))
        rows.append(Row("Text can be read: full", {"n": n, "share": full}, _PUBLISHED, ranked=False))
    columns = (
        Column("n", "Ratings", "", 0, whole=True),
        Column("mean", "Mean", "", 2),
        Column("sd", "SD", "", 2),
        Column("share", "Share", "%", 1),
    )
    note = "Brackets: 95 % intervals. SD is that of the sample."
    if summary is None:
        note = f"No filled sheet of this run: {_HOW}."
    return Table("tab16_edits", "Audit of edited pictures.", columns, tuple(rows),
                 label_head="Measure", section_head="Source", note=note)  # fmt: skip


def _facts(facts: pd.DataFrame | None) -> dict[str, float]:
    if facts is None:
        return {}
    return dict(zip(facts["quantity"].astype(str), facts["value"].astype(float), strict=True))


def _reasoned(agreement: pd.DataFrame) -> list[dict[str, object]]:
    return [{str(k): v for k, v in row.items()} for row in agreement.to_dict("records") if row["reason"]]
