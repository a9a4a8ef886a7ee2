"""A run: one profile, one folder, and the stages that have been done in it.

    run = open_run("tiny")
    run.ensure("scoring")          # does whatever is missing or out of date, in order
    run.table("macro")

Layout of the folder: profile.yml, benchmark/, stages/<stage>.json, replies.sqlite, tables/<name>.csv,
tables/out/<id>.csv|.tex|.html, notebooks/<id>.ipynb, manifest.json, index.html. Figures go to figures/<name>/
of the project, or to figures/ of the run's folder when that lies outside the project's runs/.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from signpost_kit.errors import ConfigError, DataError, StorageError
from signpost_kit.files import atomic_path, safe_name, storage_error, write_text
from signpost_kit.profiles import Profile, dump_profile, load_profile, project_root
from signpost_kit.run_inputs import stage_hashes
from signpost_kit.run_lock import locked

if TYPE_CHECKING:
    from signpost_kit.benchmark import Benchmark
    from signpost_kit.evaluation import ReplyStore

__all__ = ["RETRY_VARIABLE", "Run", "open_run", "project_root"]

RETRY_VARIABLE = "SIGNPOST_RETRY"
"""Statuses that the evaluation asks again, `empty,error`; set by the driver for the kernels it starts."""

# Read as text whatever they look like: a group may be called "007", a city's country "NA".
_TEXT_COLUMNS = (
    {"model", "dataset", "group_id", "source_id", "variant", "status", "tier", "tier_reason", "metric", "reading"}
    | {"city", "admin", "country", "text", "reason", "title", "name", "query", "geocoder", "item", "stage"}
    | {"detail", "script", "task", "prompt_hash", "image_hash", "key"}
    | {"site", "qid", "path", "context", "schema", "lang", "band", "ref_name", "name_en", "name_local", "auditor"}
    | {"answer_city", "area", "place", "level", "label", "trial_id", "image_id", "arm", "cand", "truth", "cont"}
    | {"visual_evidence", "visual_region", "textual_evidence", "textual_region", "consistent", "trusted_source"}
    | {"consistency_explanation", "trust_explanation", "visual", "conflict", "trusted", "final", "explanation"}
    | {"model_a", "model_b", "provider", "lowest_model", "highest_model", "bin", "x", "y", "dropped", "quantity"}
    | {"kinds", "why", "ai_scene", "ai_status", "ai_overlay_text"}
    | {"visual_country", "textual_country", "final_country", "text_found", "texts", "languages"}
    | {"continent", "verdict", "raw", "evidence", "file", "kind", "example", "image", "ai_why", "human_reason"}
)


@dataclass(frozen=True)
class Run:
    """One profile and one folder. Paths may not exist yet; writing creates them."""

    profile: Profile
    dir: Path
    root: Path
    """The project's folder."""
    retry: tuple[str, ...] = ()
    """Statuses that the evaluation asks again."""
    _written: list[str] = field(default_factory=list, repr=False, compare=False)
    _recorded: set[str] = field(default_factory=set, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The folder's name: the profile's, unless another folder was asked for."""
        return self.dir.name

    @property
    def figures_dir(self) -> Path:
        """Where figures go."""
        runs = self.root / "runs"
        if self.dir.is_relative_to(runs) and self.dir != runs:
            return self.root / "figures" / self.dir.relative_to(runs)
        return self.dir / "figures"

    @property
    def tables_dir(self) -> Path:
        """Where finished tables go (CSV, LaTeX, HTML); the frames behind them are read by :meth:`table`."""
        return self.dir / "tables" / "out"

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages, in order."""
        return tuple(_stages())

    @property
    def store_path(self) -> Path:
        """The file that holds every reply."""
        return self.dir / "replies.sqlite"

    # -- tables -----------------------------------------------------------------------------------------------

    def table(self, name: str) -> pd.DataFrame:
        """The frame that a stage saved under `name`; text that is absent is "", numbers that are absent are NaN.

        Raises
        ------
        DataError
            No such table yet (the stage to run is named), or the file is damaged.
        """
        path = self._table_path(name)
        if not path.is_file():
            have = ", ".join(sorted(p.stem for p in path.parent.glob("*.csv"))) or "none"
            stage = _TABLE_STAGES.get(name, "scoring")
            raise DataError(
                f"the run {self.name!r} has no table {name!r} (it has: {have}): "
                f"run the stage {stage!r} first, e.g. run.ensure({stage!r})"
            )
        try:
            header = pd.read_csv(path, nrows=0).columns
            types: dict[Any, Any] = {column: "str" for column in header if column in _TEXT_COLUMNS}
            frame = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=types, **_exact_floats())
        except (ValueError, pd.errors.ParserError, UnicodeDecodeError) as error:
            raise DataError(f"{path} is damaged ({error}): delete it and run again") from error
        for column in frame.columns:
            kind = frame[column].dtype
            if column in types or pd.api.types.is_object_dtype(kind) or pd.api.types.is_string_dtype(kind):
                frame[column] = frame[column].fillna("")
        return frame

    def save_table(self, name: str, frame: pd.DataFrame) -> Path:
        """Write `frame` (without its index) to tables/<name>.csv, whole or not at all; return the path."""
        path = self._table_path(name)
        with atomic_path(path) as temporary:
            frame.to_csv(temporary, index=False)
        self._written.append(path.relative_to(self.dir).as_posix())
        return path

    def _table_path(self, name: str) -> Path:
        if safe_name(name) != name:
            raise ConfigError(f"{name!r} cannot name a table: use letters, digits, - and _")
        return self.dir / "tables" / f"{name}.csv"

    # -- what the stages share --------------------------------------------------------------------------------

    def benchmark(self) -> Benchmark:
        """The run's benchmark as the latest stage left it."""
        from signpost_kit.benchmark import Benchmark

        return Benchmark.read(self.dir / "benchmark")

    def store(self) -> ReplyStore:
        """The run's replies, opened; use it in a `with` statement."""
        from signpost_kit.evaluation import ReplyStore

        _make_dir(self.dir)
        return ReplyStore(self.store_path)

    # -- stages -----------------------------------------------------------------------------------------------

    def record(
        self,
        stage: str,
        counts: Mapping[str, Any] | None = None,
        rejected: Sequence[Mapping[str, str]] = (),
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """Write stages/<stage>.json: the stage is done with its present inputs. Returns what was written."""
        hashes = stage_hashes(self.profile, self.root, [*_stages(), stage], _needs())
        entry = {
            "stage": stage,
            "inputs_hash": hashes[stage],
            "counts": dict(counts or {}),
            "rejected": [dict(item) for item in rejected],
            "seconds": None if seconds is None else round(seconds, 3),
            "outputs": sorted(set(self._written)),
        }
        write_text(self._stage_path(stage), json.dumps(entry, indent=1, ensure_ascii=False, default=_plain) + "\n")
        self._recorded.add(stage)
        return entry

    def stage_record(self, stage: str) -> dict[str, Any] | None:
        """What :meth:`record` wrote for a stage; None if it has not run or its file is damaged."""
        try:
            entry = json.loads(self._stage_path(stage).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return entry if isinstance(entry, dict) and "inputs_hash" in entry else None

    def is_current(self, stage: str) -> bool:
        """Whether the stage was done with the present inputs and what it wrote is still there."""
        return stage not in self._stale(_upto(stage))

    def forget(self, stages: Iterable[str]) -> None:
        """Drop the records of these stages, so that they run again; replies stay."""
        for stage in stages:
            self._stage_path(stage).unlink(missing_ok=True)

    def ensure(self, stage: str) -> None:
        """Do `stage` and every stage before it that is missing or out of date, in order, in this process.

        Two processes never work on one run at a time: the second waits, then finds the work done.

        Raises
        ------
        ConfigError
            No such stage.
        SignpostError
            Whatever the stages raise.
        """
        names = _upto(stage)
        if (self.dir / "profile.yml").is_file() and not self._stale(names):
            return  # nothing to wait for: another process may be busy with a later stage for hours
        _make_dir(self.dir)
        with locked(self.dir / ".lock"):
            self.save_profile()
            stale = self._stale(names)
            if not stale:
                return
            # A stage that dies half way must not leave records that vouch for what it overwrote.
            self.forget({later for name in stale for later in _after(name)})
            for name in stale:
                self._do(name)

    def save_profile(self) -> Path:
        """Write profile.yml, unless it already says the same; return its path."""
        path, text = self.dir / "profile.yml", dump_profile(self.profile, self.root)
        if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text:
            write_text(path, text)
        return path

    def _do(self, name: str) -> None:
        self._written.clear()
        self._recorded.discard(name)
        start = time.perf_counter()
        _stages()[name](self)
        if name not in self._recorded:
            self.record(name, seconds=time.perf_counter() - start)

    def _stale(self, names: Sequence[str]) -> list[str]:
        """The names that must run, in order: those that are not current, and all that needs them."""
        hashes = stage_hashes(self.profile, self.root, list(names), _needs())
        stale: list[str] = []
        for name in names:
            entry = self.stage_record(name)
            upstream = _needs().get(name, names[: list(names).index(name)])
            if (
                entry is None
                or entry["inputs_hash"] != hashes[name]
                or not self._outputs_present(name, entry)
                or any(before in stale for before in upstream)
            ):
                stale.append(name)
        return stale

    def _outputs_present(self, name: str, entry: Mapping[str, Any]) -> bool:
        wanted = [self.dir / str(relative) for relative in entry.get("outputs", [])]
        if name == "evaluation" or dict(entry.get("counts", {})).get("requests"):
            wanted.append(self.store_path)  # whoever asked anything has its replies there
        elif name in _BENCHMARK_STAGES:
            wanted.append(self.dir / "benchmark" / "groups.jsonl")
        return all(path.is_file() for path in wanted)

    def _stage_path(self, stage: str) -> Path:
        return self.dir / "stages" / f"{stage}.json"


_BENCHMARK_STAGES = ("sources", "screening", "taxonomy", "replacements", "targets", "synthesis")
_TABLE_STAGES = {
    "coverage": "evaluation",
    "targets": "targets",
    **dict.fromkeys(("diversity", "replacements", "writing"), "replacements"),
    **dict.fromkeys(("points", "ladder", "ladder_cells", "context_sites", "context_account"), "ladder"),
    **dict.fromkeys(("answers", "chains"), "hints"),
    **dict.fromkeys(("trials", "claims_asked"), "claims"),
    **{name: name for name in ("probing", "defense", "cross_task")},
    **dict.fromkeys(("sensitivity", "sensitivity_ranks", "ablation", "alpha", "alpha_ranks", "radius"), "analysis"),
    **dict.fromkeys(("bins", "cohort", "cohort_models", "tests", "correlations", "ranks", "standings"), "analysis"),
    **dict.fromkeys(("pairs", "providers", "aggregate", "tasks"), "analysis"),
}


def open_run(profile: str = "tiny", run_dir: str = "", *, sets: Iterable[str] = ()) -> Run:
    """The run of a profile.

    Parameters
    ----------
    profile
        A name in params/ or a path, see :func:`signpost_kit.profiles.load_profile`.
    run_dir
        Folder of the run; empty: runs/<profile's name>. A relative path starts at the project's folder.
    sets
        Changes on top of the profile, `["source.n=6"]`.
    """
    loaded = load_profile(profile, sets)
    root = project_root()
    folder = Path(run_dir).expanduser() if run_dir else Path("runs") / loaded.name
    folder = Path(os.path.normpath(root / folder))
    if folder.exists() and not folder.is_dir():
        raise StorageError(f"the run's folder {folder} is a file: choose another with --run-dir")
    return Run(loaded, folder, root, _retry(os.environ.get(RETRY_VARIABLE, "")))


def _retry(text: str) -> tuple[str, ...]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        return ()
    from signpost_kit.evaluation.store import check_statuses

    return check_statuses(names)


def _stages() -> Mapping[str, Callable[[Run], Any]]:
    from signpost_kit import stages

    return stages.STAGES


def _needs() -> Mapping[str, Sequence[str]]:
    from signpost_kit import stages

    return stages.NEEDS


def _upto(stage: str) -> list[str]:
    """The stage and everything it needs, in order."""
    names = list(_stages())
    if stage not in names:
        raise ConfigError(f"unknown stage {stage!r}; the stages are, in order: {', '.join(names)}")
    wanted = {stage}
    for position in range(names.index(stage), -1, -1):
        if names[position] in wanted:
            wanted |= set(_needs().get(names[position], names[:position]))
    return [name for name in names if name in wanted]


def _after(stage: str) -> list[str]:
    """The stage and everything that needs it, in order."""
    names = list(_stages())
    return [name for name in names if name == stage or stage in _upto(name)]


def _exact_floats() -> dict[str, Any]:
    """What makes read_csv give back the very floats that were written; pandas 3.1 does so by itself."""
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    return {} if version >= (3, 1) else {"float_precision": "round_trip"}


def _make_dir(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(error, path) from error


def _plain(value: Any) -> Any:
    """JSON for numpy scalars and paths in a stage's counts."""
    return value.item() if hasattr(value, "item") else str(value)
