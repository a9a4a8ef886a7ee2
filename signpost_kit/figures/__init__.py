"""Figures: a function takes a tidy frame and axes and draws, nothing else.

:mod:`~signpost_kit.figures.paper` has each figure at print size (`fig03(run.table("macro"))`),
:mod:`~signpost_kit.figures.style` the one look and `save`, the other modules the drawing of one family each.
Importing this draws nothing and loads no plotting library.
"""

from __future__ import annotations

from signpost_kit.figures.cells import published_models
from signpost_kit.figures.gallery import fig_gallery, gallery_frame
from signpost_kit.figures.paper import (
    fig01,
    fig03,
    fig12,
    fig13,
    fig16,
    fig17,
    fig_answers,
    fig_coverage,
    fig_variants,
)
from signpost_kit.figures.story import answers_frame, choose_story, sheet_frame, story_frame
from signpost_kit.figures.style import SavedFigure, canvas, empty, save, style

__all__ = [
    "SavedFigure",
    "answers_frame",
    "canvas",
    "choose_story",
    "empty",
    "fig01",
    "fig03",
    "fig12",
    "fig13",
    "fig16",
    "fig17",
    "fig_answers",
    "fig_coverage",
    "fig_gallery",
    "fig_variants",
    "gallery_frame",
    "published_models",
    "save",
    "sheet_frame",
    "story_frame",
    "style",
]
