"""The study's scores as far as they are at hand: in an imported release, or in tables that a user has added."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pandas as pd

from signpost_kit.figures.cells import pick, rows_of
from signpost_kit.metrics.ratios import ANSWERED
from signpost_kit.published import published
from signpost_kit.published_frames import PUBLISHED, published_frames, study_name, users_tables

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["N_GROUPS", "N_MODELS", "Study", "published_study", "study_of_run"]

N_MODELS, N_GROUPS = 20, 5111


@dataclass(frozen=True)
class Study:
    """Scores of published models, in the run's own frames; names of models and data sets as published."""

    basis: str
    """What the scores come from, for the reader."""
    macro: pd.DataFrame
    cells: pd.DataFrame
    tiers: pd.DataFrame
    tasks: pd.DataFrame = field(default_factory=pd.DataFrame)
    groups: pd.DataFrame | None = None
    """One row per scene: dataset, tier, has_trap, n_spans; None where only tables are known."""
    agreement: pd.DataFrame | None = None
    """Of :func:`signpost_kit.audits.tier_agreement`."""
    edits: pd.DataFrame | None = None
    """Of :func:`signpost_kit.audits.edit_summary`."""
    reading: str = ANSWERED
    incomplete: str = ""
    """What the scores lack of the study's, which may be why a number differs; "" when nothing."""
    empty: str = ""
    """Why there are no scores of published models at all."""

    @property
    def models(self) -> list[str]:
        """The published models that have a score."""
        return sorted(set(self.macro["model"].astype(str))) if len(self.macro) else []

    def values(self, metric: str, variant: str = "", tier: str = "", dataset: str = "macro") -> pd.Series:
        """One score of each model that has it, by model."""
        frame = self.tiers if tier else self.macro if dataset == "macro" else self.cells
        if frame.empty:
            return pd.Series(dtype=float)
        rows = pick(frame, metric, variant=variant, tier=tier, reading=self.reading)
        rows = rows_of(rows, "dataset", dataset)
        return rows.drop_duplicates("model").set_index("model")["value"].astype(float).dropna()

    @property
    def datasets(self) -> list[str]:
        """The published data sets that scores are known of."""
        if self.cells.empty:
            return []
        known = [str(name) for name in published("signpost/composition")["dataset"]]
        return [name for name in known if name in set(self.cells["dataset"].astype(str))]


def study_of_run(run: Run) -> Study:
    """The scores of an imported release; a run of anything else has none that could be compared.

    Frames of the stages scoring and analysis are read; what is not there is left out.
    """
    name = run.profile.source.kind
    if name != "signpost-release":
        why = (
            f"This run is no imported release (its source is {name!r}): import the study's with "
            "signpost import FOLDER, and make this page for the run that it names."
        )
        nothing = pd.DataFrame()
        return Study("", nothing, nothing, nothing, empty=why)
    from signpost_kit.audits import edit_summary, filled_audits, tier_agreement

    frames = {name: _study_rows(_table(run, name)) for name in ("macro", "cells", "tiers", "tasks")}
    audits = filled_audits(run.dir)
    groups = _scenes(run)
    release = str(run.profile.source.path or run.name).rstrip("/").rsplit("/", 1)[-1]
    made = Study(
        f"release {release}",
        frames["macro"],
        frames["cells"],
        frames["tiers"],
        frames["tasks"],
        groups,
        None if audits.tiers is None else tier_agreement(audits.tiers, n_resamples=0),
        None if audits.edits is None else edit_summary(audits.edits, n_resamples=0),
    )
    empty = "" if made.models else "The imported release has replies of none of the 20 published models."
    return replace(made, incomplete=_incomplete(made, frames["macro"]), empty=empty)


def published_study() -> Study:
    """Scores in tables of the paper that a user has added (`params/published/signpost/tab01.csv` ...)."""
    frames = published_frames()
    tables = users_tables()
    basis = f"added {', '.join(tables)}"
    return Study(basis, frames["macro"], frames["cells"], frames["tiers"], reading=PUBLISHED)


def _study_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of published models on published data sets, spelt as published."""
    if frame.empty:
        return frame
    sets = {_plain(str(name)): str(name) for name in published("signpost/composition")["dataset"]} | {
        "macro": "macro"
    }
    named = frame.assign(
        model=frame["model"].map({name: study_name(str(name)) for name in frame["model"].unique()}),
        dataset=[sets.get(_plain(str(name)), "") for name in frame["dataset"]],
    )
    return named.loc[(named["model"] != "") & (named["dataset"] != ""), :].reset_index(drop=True)


def _table(run: Run, name: str) -> pd.DataFrame:
    from signpost_kit.errors import DataError

    try:
        return run.table(name)
    except DataError:
        return pd.DataFrame()


def _scenes(run: Run) -> pd.DataFrame:
    sets = {_plain(str(name)): str(name) for name in published("signpost/composition")["dataset"]}
    rows = [
        {
            "dataset": sets.get(_plain(group.dataset), group.dataset),
            "tier": group.tier,
            "has_trap": group.trap is not None,
            "n_spans": len(group.spans),
        }
        for group in run.benchmark().groups
    ]
    return pd.DataFrame(rows, columns=pd.Index(["dataset", "tier", "has_trap", "n_spans"]))


def _incomplete(study: Study, macro: pd.DataFrame) -> str:
    parts = []
    n = 0 if study.groups is None else len(study.groups)
    if n != N_GROUPS:
        parts.append(f"{n:,} of the study's {N_GROUPS:,} groups")
    if len(study.models) != N_MODELS:
        parts.append(f"{len(study.models)} of 20 models")
    if len(macro):
        wla = pick(macro, "wla", reading=study.reading)
        asked, answered = float(wla["n_asked"].sum()), float(wla["n_answered"].sum())
        if asked and answered < asked:
            parts.append(f"{min(100 * answered / asked, 99.9):.1f} % of requests answered")
    return f"There are {', '.join(parts)}." if parts else ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
