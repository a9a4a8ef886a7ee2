"""What the tests of tables share: a small simulated study with its frames, and a stand-in for its run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from signpost_kit.benchmark.groups import Benchmark, Group, Span, Trap
from signpost_kit.errors import DataError
from signpost_kit.frames import VARIANTS

STAGES = ("sources", "screening", "taxonomy", "replacements", "targets", "synthesis")


def all_frames(study: Any) -> dict[str, pd.DataFrame]:
    """Every frame that a run of this study would have."""
    from signpost_kit.metrics.analysis import analyse

    made = analyse(study.scores, study.groups, n_resamples=60, n_flips=99)
    own = {"cells": study.cells, "macro": study.macro, "tiers": study.tiers, "scores": study.scores}
    return {name: read_back(frame) for name, frame in (made | own).items()}


def read_back(frame: pd.DataFrame) -> pd.DataFrame:
    """As `Run.table` gives it: text that is absent is "", numbers that are absent are NaN."""
    out = frame.copy()
    for column in out.columns:
        if not pd.api.types.is_numeric_dtype(out[column]):
            out[column] = out[column].astype(object).where(out[column].notna(), "").astype(str)
    return out


def groups_of(frame: pd.DataFrame) -> tuple[Group, ...]:
    """The scenes of a frame of groups, each with two signs."""
    out = []
    for i, row in enumerate(frame.to_dict("records")):
        span = Span(f"Sign <{i}> & Söhne", replacements={"adversarial": f"Place_{i}"}, tier=row["tier"])
        other = Span("STOP", tier="T1")
        trap = Trap(row["trap_lat"], row["trap_lon"], f"Place {i}") if row["trap_lat"] == row["trap_lat"] else None
        images = {variant: f"images/{variant}/{i}.png" for variant in VARIANTS}
        out.append(Group(row["group_id"], row["dataset"], row["lat"], row["lon"], city="Ålesund", country="NO",
                         spans=(span, other), tier=row["tier"], trap=trap, images=images))  # fmt: skip
    return tuple(out)


@dataclass
class StandIn:
    """As much of a run as the tables' notebooks use."""

    dir: Path
    frames: dict[str, pd.DataFrame]
    bench: Benchmark
    profile: Any
    root: Path = Path(__file__).parents[3]
    ensured: list[str] = field(default_factory=list)

    name = "stand-in"

    @property
    def tables_dir(self) -> Path:
        return self.dir / "tables" / "out"

    @property
    def store_path(self) -> Path:
        return self.dir / "replies.sqlite"

    def store(self) -> Any:
        from signpost_kit.evaluation import ReplyStore

        return ReplyStore(self.store_path)

    def ensure(self, stage: str) -> None:
        self.ensured.append(stage)

    def table(self, name: str) -> pd.DataFrame:
        if name not in self.frames:
            raise DataError(f"no table {name!r}: run the stage first")
        return self.frames[name].copy()

    def benchmark(self) -> Benchmark:
        return self.bench

    def stage_record(self, stage: str) -> dict[str, Any]:
        return {"counts": {"rejected": 3}} if stage == "sources" else {"counts": {}}


def profile_of(models: list[str]) -> Any:
    """A profile as far as tables read it."""
    from signpost_kit.profiles import load_profile

    return load_profile("tiny", {"models": ["reader"]}).model_copy(update={"models": models})


def stand_in(folder: Path, study: Any, frames: dict[str, pd.DataFrame] | None = None) -> StandIn:
    """A run's folder with the groups of every construction stage."""
    from signpost_kit.stages.common import save_groups

    groups = groups_of(study.groups)
    models = [str(name) for name in dict.fromkeys(study.scores["model"])]
    run = StandIn(folder, all_frames(study) if frames is None else frames,
                  Benchmark("stand-in", groups, folder / "benchmark"), profile_of(models))  # fmt: skip
    for stage in STAGES:
        save_groups(run, stage, groups)  # pyright: ignore[reportArgumentType]
    return run


@pytest.fixture(scope="session")
def three(request: pytest.FixtureRequest) -> SimpleNamespace:
    """Three models on two data sets of 14 scenes: the study, its frames."""
    study = request.getfixturevalue("make_study")(["GPT-5", "reader", "my_model <b>"], 14)
    return SimpleNamespace(study=study, frames=all_frames(study), groups=study.groups, scores=study.scores)


@pytest.fixture(scope="session")
def make_study() -> Callable[..., Any]:
    """To simulate a study: models, scenes per data set, traps or not, all failing or not."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("simulated_study", Path(__file__).parents[1] / "conftest.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Study


@pytest.fixture
def run_of(tmp_path: Path) -> Callable[..., StandIn]:
    """A stand-in run of a study."""
    return lambda study, frames=None: stand_in(tmp_path / "run", study, frames)


@pytest.fixture
def own_csv(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """own_csv(id, text): the project's published numbers, and a table that a user added to them."""
    import shutil

    shutil.copytree(project / "params" / "published", tmp_path / "params" / "published")
    shutil.copy(project / "params" / "taxonomy.yml", tmp_path / "params" / "taxonomy.yml")
    shutil.copy(project / "params" / "models.yml", tmp_path / "params" / "models.yml")
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> Path:
        path = tmp_path / "params" / "published" / "signpost" / f"{name}.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def rendered(table: Any) -> str:
    """All three formats, checked for what must never be printed."""
    import re

    html, latex, text = table.to_html(), table.to_latex(), table.to_csv()
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", html, re.DOTALL)
    assert html.count("<table") == 1 and r"\toprule" in latex and text.count("\n") == len(table.rows) + 1
    for cell in cells:
        assert not re.fullmatch(r"\s*(nan|inf|-inf|none|<na>)\s*", cell, re.IGNORECASE), cell
    assert not re.search(r"(?<![a-z])(nan|inf)(?![a-z])", latex.lower().replace(r"\infty", ""))
    assert "<b>" not in html.replace("&lt;b&gt;", "") and not re.search(r"(?<!\\)[#_](?!\w*\})", _body(latex))
    return html


def _body(latex: str) -> str:
    return latex.split(r"\midrule", 1)[-1].split(r"\bottomrule", maxsplit=1)[0]


@pytest.fixture(name="rendered")
def _rendered() -> Callable[[Any], str]:
    return rendered
