"""The figures at print size, ready to save: each takes tidy frames and returns a figure.

The drawing itself is in the module of each figure family; here are sizes, panels and headings only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from signpost_kit.figures import balance, cells, conflict, grids, maps, tiers
from signpost_kit.figures.style import DOUBLE, SINGLE, canvas, empty, style
from signpost_kit.frames import VARIANTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["fig01", "fig03", "fig12", "fig13", "fig16", "fig17", "fig_answers", "fig_coverage", "fig_variants"]

_VARIANTS_UP_TO = 12  # models for which the coverage of each variant fits a page
_PAGE = 9.3  # inches
_PANELS = 6  # with more models than this, fig. 13 shows their mean


def fig01(story: pd.DataFrame) -> Figure:
    """One scene, five versions, five answers (`story` from :func:`signpost_kit.figures.story.story_frame`)."""
    with style():
        figure, _ = canvas(DOUBLE, 5.35)
        figure.clear()
        grid = figure.add_gridspec(3, 5, height_ratios=(0.95, 0.48, 2.55))
        pictures = [figure.add_subplot(grid[0, i]) for i in range(5)]
        signs = [figure.add_subplot(grid[1, i]) for i in range(5)]
        maps.quintuplet(story, pictures, signs, figure.add_subplot(grid[2, :]))
    return figure


def fig03(
    macro: pd.DataFrame,
    *,
    radius_km: float = 50.0,
    reading: str = cells.READING,
    published: pd.DataFrame | None = None,
) -> Figure:
    """Conflict profile of every model, from the frame `macro`; `published` rows stand below in grey."""
    with style():
        height = min(0.95 + 0.19 * max(conflict.profile_rows(macro, published), 3), _PAGE)
        figure, axes = canvas(DOUBLE, height, columns=2, width_ratios=(1.25, 1))
        conflict.conflict_profile(macro, axes, radius_km=radius_km, reading=reading, published=published)
    return figure


def fig12(macro: pd.DataFrame, *, published: pd.DataFrame | None = None, reading: str = cells.READING) -> Figure:
    """Capability against robustness, from the frame `macro`; `published` adds the study's models behind."""
    many = macro["model"].nunique() + (0 if published is None else len(published)) > 6
    with style():
        figure, ax = canvas(DOUBLE, 4.8 if many else 3.6)
        balance.capability_robustness(macro, ax, published=published, reading=reading)
    return figure


def fig13(
    by_tier: pd.DataFrame,
    groups: pd.DataFrame,
    *,
    reading: str = cells.READING,
    published: pd.DataFrame | None = None,
) -> Figure:
    """WLA by tier from the frame `tiers`: a panel per model up to six, beyond that their mean over all of them.

    `published`: the study's mean by tier, as grey rings.
    """
    rows = _macro_only(by_tier)
    shares = cells.group_shares(groups)
    models = (
        cells.in_order(cells.pick(rows, "wla", variant="Original", tier=None), grouped=False)[0]
        if len(rows)
        else []
    )
    with style():
        if not models:
            figure, ax = canvas(SINGLE, 2.2)
            empty(ax, "No scores by tier: no scene has a tier, or none was answered.")
        elif len(models) > _PANELS:
            figure, ax = canvas(SINGLE, 2.9)
            mean = cells.mean_over_models(rows)
            tiers.tier_profile(mean, ax, shares=shares, faint=rows, reading=reading, published=published)
            ax.set_title(f"Mean of {len(models)} models (small: each model)", pad=16)
            _tier_legend(ax)
        else:
            figure = _tier_panels(rows, models, shares, reading, published)
    return figure


def _macro_only(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows over all data sets: the macro rows where there are any."""
    if "dataset" in frame.columns and (frame["dataset"] == "macro").any():
        return cells.rows_of(frame, "dataset", "macro")
    return frame


def _tier_legend(ax: Any) -> None:
    ax.set_ylabel("WLA (%)")
    ax.legend(
        *tiers.legend_entries(ax),
        loc="lower left",
        bbox_to_anchor=(-0.12, 1.0),
        ncols=4,
        columnspacing=0.6,
        handletextpad=0.1,
    )


def _tier_panels(
    rows: pd.DataFrame, models: list[str], shares: Any, reading: str, published: pd.DataFrame | None
) -> Figure:
    columns = min(len(models), 3)
    lines = math.ceil(len(models) / columns)
    width = SINGLE if columns == 1 else DOUBLE
    figure, grid = canvas(width, 0.5 + 2.05 * lines, rows=lines, columns=columns, sharey=True, squeeze=False)
    panels = list(grid.flat)
    for model, ax in zip(models, panels, strict=False):
        mine = cells.rows_of(rows, "model", model)
        tiers.tier_profile(mine, ax, shares=shares, reading=reading, published=published)
        ax.set_title(model)
        for label in ax.get_xticklabels():
            label.set_fontsize(6)
    for ax in panels[len(models) :]:
        ax.remove()
    for line in grid:
        line[0].set_ylabel("WLA (%)")
    figure.legend(*tiers.legend_entries(panels[0]), loc="outside upper left", ncols=2 if columns == 1 else 4,
                  columnspacing=1.0, handletextpad=0.3)  # fmt: skip
    return figure


def fig16(
    by_dataset: pd.DataFrame, *, reading: str = cells.READING, published: pd.DataFrame | None = None
) -> Figure:
    """Adversarial WLA of each model in each data set, from the frame `cells`; `published` ones below in grey."""
    n_models = max(by_dataset["model"].nunique(), 3) if len(by_dataset) else 3
    n_models += len(grids.published_rows(by_dataset, published)["model"].unique())
    n_sets = by_dataset.loc[by_dataset["dataset"] != "macro", "dataset"].nunique() if len(by_dataset) else 1
    with style():
        figure, ax = canvas(SINGLE if n_sets <= 1 else DOUBLE, min(0.55 + 0.2 * n_models, _PAGE))
        grids.dataset_grid(by_dataset, ax, reading=reading, published=published)
    return figure


def fig17(macro: pd.DataFrame, *, reading: str = cells.READING, published: pd.DataFrame | None = None) -> Figure:
    """Adversarial TBS by provider, from the frame `macro`; `published` rows stand below in grey."""
    with style():
        height = min(0.6 + 0.17 * max(conflict.profile_rows(macro, published, "tbs_km"), 4), _PAGE)
        figure, ax = canvas(SINGLE, height)
        conflict.text_bias(macro, ax, reading=reading, published=published)
    return figure


def fig_variants(sheet: pd.DataFrame) -> Figure:
    """Contact sheet of five versions per scene (`sheet` from :func:`signpost_kit.figures.story.sheet_frame`)."""
    n = max(sheet["group_id"].nunique(), 1)
    with style():
        figure, axes = canvas(DOUBLE, 0.25 + 1.12 * n, rows=n, columns=len(VARIANTS), squeeze=False)
        maps.contact_sheet(sheet, axes)
    return figure


def fig_answers(answers: pd.DataFrame, *, radius_km: float = 50.0) -> Figure:
    """One model's answers on two maps: Original above Adversarial."""
    asked = [v for v in ("Original", "Adversarial") if (answers["variant"].astype(str) == v).any()] or ["Original"]
    with style():
        figure, axes = canvas(DOUBLE, 3.85 * len(asked), rows=len(asked), squeeze=False)
        for variant, ax in zip(asked, axes[:, 0], strict=True):
            maps.answers_map(answers, ax, variant=variant, radius_km=radius_km)
    return figure


def fig_coverage(predictions: pd.DataFrame) -> Figure:
    """How every question ended, per model and variant; of more than twelve models only the total of each."""
    shares = cells.status_shares(predictions)
    models = shares["model"].nunique() if len(shares) else 1
    if models > _VARIANTS_UP_TO:
        shares = cells.rows_of(shares, "variant", "all").assign(variant="all")
    else:
        shares = shares.loc[shares["variant"] != "all", :]
    bars = len(shares[["model", "variant"]].drop_duplicates()) if len(shares) else 6
    lines = 0.2 * bars if models > _VARIANTS_UP_TO else 0.114 * (bars + 0.8 * models)
    with style():
        figure, ax = canvas(DOUBLE, min(0.8 + max(lines, 0.8), _PAGE))
        grids.answer_coverage(shares, ax)
    return figure
