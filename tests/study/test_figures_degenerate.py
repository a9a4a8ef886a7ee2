"""Figures of next to nothing: they say what is missing, and never raise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from signpost_kit import figures
from signpost_kit.benchmark.groups import Benchmark, Group
from signpost_kit.figures import published_models, save
from signpost_kit.figures.agreement import fig_agreement
from signpost_kit.figures.arcs import arcs_frame, fig_arcs
from signpost_kit.figures.cells import published_beside
from signpost_kit.figures.cost import fig_cost
from signpost_kit.figures.errors import fig_error_cdf
from signpost_kit.figures.harm import fig_harm
from signpost_kit.figures.print_check import print_faults, shown_texts
from signpost_kit.figures.samples import examples_frame, fig_examples, fig_samples, samples_frame
from signpost_kit.metrics.error_cdf import error_cdf
from signpost_kit.metrics.harm import harm
from signpost_kit.metrics.misled import misled, misled_agreement


def bench(study) -> Benchmark:
    return Benchmark(
        "s", tuple(Group(r.group_id, r.dataset, r.lat, r.lon) for r in study.groups.itertuples()), Path()
    )


def agreement(study):
    table = misled(study.scores)
    return fig_agreement(table, misled_agreement(table))


def trapped(study):
    table = misled(study.scores, criterion="trapped")
    return fig_agreement(table, misled_agreement(table))


FIGURES: dict[str, Callable] = {
    "fig03": lambda s: figures.fig03(s.macro, published=published_beside("macro")),
    "fig12": lambda s: figures.fig12(s.macro),
    "fig13": lambda s: figures.fig13(s.tiers, s.groups, published=published_beside("tiers")),
    "fig16": lambda s: figures.fig16(s.cells, published=published_beside("cells")),
    "fig17": lambda s: figures.fig17(s.macro, published=published_beside("macro")),
    "coverage": lambda s: figures.fig_coverage(s.scores),
    "answers_map": lambda s: figures.fig_answers(figures.answers_frame(s.scores, s.groups)),
    "error_cdf": lambda s: fig_error_cdf(error_cdf(s.scores, n_resamples=20)),
    "harm": lambda s: fig_harm(harm(s.scores, s.groups, n_resamples=20)),
    "agreement": agreement,
    "agreement_trapped": trapped,
    "cost": lambda s: fig_cost(s.macro, pd.DataFrame({"model": ["m"], "usd_per_1000": [1.0], "coverage": [1.0]}),
                               published=published_models()),
    "arcs": lambda s: fig_arcs(arcs_frame(s.scores, bench(s))),
    "fig14": lambda s: fig_samples(samples_frame(bench(s))),
    "fig15": lambda s: fig_examples(examples_frame(bench(s))),
}  # fmt: skip


class _Part:
    """A study of which only some rows are left, scored anew."""

    def __init__(self, study, scores: pd.DataFrame) -> None:
        from signpost_kit.metrics import score_signpost

        sets = scores["dataset"].unique()
        self.groups, self.scores = study.groups[study.groups["dataset"].isin(sets)], scores
        names = ["model", "dataset", "group_id", "variant", "lat", "lon", "status"]
        frames = score_signpost(scores[names], self.groups, n_resamples=20)
        self.cells, self.macro, self.tiers = frames["cells"], frames["macro"], frames["tiers"]


CASES = ("one variant", "one data set", "no trap", "all failures", "one scene", "no tier")


@pytest.fixture(scope="module")
def cases() -> dict:
    return {}


def make(case: str, study_of, cases: dict):
    if case in cases:
        return cases[case]
    study = study_of(["m", "n"], 6, traps=case != "no trap", failing=case == "all failures")
    scores = study.scores
    if case == "one variant":
        study = _Part(study, scores[scores["variant"] == "Original"])
    if case == "one data set":
        study = _Part(study, scores[scores["dataset"] == "BaiduSV"])
    if case == "one scene":
        study = _Part(study, scores[(scores["group_id"] == "g0001") & (scores["model"] == "m")])
    if case == "no tier":
        study.groups = study.groups.assign(tier="", script="", text_share=float("nan"))
        study = _Part(study, scores)
    cases[case] = study
    return study


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", sorted(FIGURES))
def test_next_to_nothing_is_drawn_and_saved(study_of, cases, tmp_path: Path, case: str, name: str) -> None:
    figure = FIGURES[name](make(case, study_of, cases))
    save(figure, tmp_path, name)
    assert print_faults(figure) == []
    assert shown_texts(figure)


SAID = {
    ("all failures", "fig03"): "No model answered",
    ("all failures", "fig12"): "No capability and robustness",
    ("all failures", "fig13"): "No scores by tier",
    ("all failures", "fig16"): "no Adversarial picture was answered",
    ("all failures", "fig17"): "No text bias score",
    ("all failures", "coverage"): "refused",
    ("all failures", "answers_map"): "None of 12",
    ("all failures", "error_cdf"): "No answer with a distance",
    ("all failures", "harm"): "No scene was answered in both",
    ("all failures", "agreement"): "No scene was answered",
    ("all failures", "cost"): "No MCRS",
    ("all failures", "arcs"): "No scene was answered",
    ("one variant", "agreement"): "No scene was answered",
    ("one variant", "harm"): "No scene was answered in both",
    ("one variant", "arcs"): "No scene was answered",
    ("one variant", "fig17"): "No text bias score",
    ("no trap", "fig03"): "No trap-fit rate",
    ("no trap", "harm"): "No scene has a geocoded target",
    ("no trap", "agreement_trapped"): "No scene was answered",
    ("no tier", "fig13"): "No scores by tier",
    ("no tier", "harm"): "No outlines",
    ("one scene", "agreement"): "Agreement needs two models",
    ("one scene", "fig14"): "no picture",
    ("one scene", "fig15"): "No scene of this tier",
}


@pytest.mark.parametrize(("case", "name"), sorted(SAID))
def test_what_is_missing_is_said(study_of, cases, case: str, name: str) -> None:
    figure = FIGURES[name](make(case, study_of, cases))
    said = " | ".join(" ".join(text.get_text().split()) for text in shown_texts(figure))
    assert SAID[case, name] in said


def test_no_rows_at_all(study_of) -> None:
    nothing = study_of(["m"], 2)
    empty = nothing.scores.iloc[:0]
    table = misled(empty)
    for figure in (
        fig_error_cdf(error_cdf(empty)),
        fig_harm(harm(empty, nothing.groups)),
        fig_agreement(table, misled_agreement(table)),
        fig_cost(nothing.macro.iloc[:0], pd.DataFrame()),
        fig_arcs(arcs_frame(empty, bench(nothing))),
        fig_samples(samples_frame(Benchmark("s", (), Path()))),
        fig_examples(examples_frame(Benchmark("s", (), Path()))),
    ):
        assert print_faults(figure) == [] and shown_texts(figure)
