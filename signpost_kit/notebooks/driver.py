"""The driver: executes the graph of notebooks with papermill, several at once, and writes the manifest.

    summary = run_notebooks(open_run("demo"))
    summary.ok, summary.failed

A notebook that fails does not stop what does not depend on it; its executed copy is kept with the error on top.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from signpost_kit import manifest
from signpost_kit.errors import ConfigError, SignpostError
from signpost_kit.files import hash_file
from signpost_kit.notebooks.cache import Cache, is_done, outputs_of, remove_outputs
from signpost_kit.notebooks.graph import Notebook, about_studies, check_parameters, discover, order, select
from signpost_kit.notebooks.pool import Pool
from signpost_kit.notebooks.progress import Display
from signpost_kit.notebooks.worker import Outcome, Task
from signpost_kit.preflight import ASKING, check_keys, check_run
from signpost_kit.run import Run
from signpost_kit.run_lock import locked

__all__ = ["Summary", "default_workers", "run_notebooks"]

_LIMITS_S = {"stage": 24 * 3600.0, "figure": 900.0, "table": 900.0}
"""Time limit of one notebook by kind, unless another is given; asking a slow paid model may take hours."""


@dataclass
class Summary:
    """How an execution went."""

    run: Run
    entries: list[dict[str, Any]]
    """One per selected notebook, as in the manifest, in the order they finished."""
    status: str
    """ok, failed or interrupted."""
    seconds: float
    report: Path | None = None
    """index.html, if it could be written."""
    notes: list[str] = field(default_factory=list)
    """What went wrong outside of the notebooks, one line each."""

    @property
    def ok(self) -> bool:
        """Whether everything that was asked for is there."""
        return self.status == "ok" and not self.notes

    def of(self, status: str) -> list[dict[str, Any]]:
        """The entries with that status."""
        return [entry for entry in self.entries if entry["status"] == status]


def default_workers() -> int:
    """As many notebooks at once as this process may use cores."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def run_notebooks(
    run: Run,
    *,
    only: str | Iterable[str] | None = None,
    workers: int | None = None,
    force: bool = False,
    timeout_s: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    quiet: bool = False,
    report: bool = True,
) -> Summary:
    """Execute the notebooks of a run.

    Parameters
    ----------
    only
        Ids, stage names, or `stages`, `figures`, `tables`; None: what the profile lists, else all. Stages that
        these need and that are missing or out of date come along.
    workers
        Notebooks at once; None: as many as there are cores.
    force
        Do what is chosen again even if it is up to date. Replies are kept in any case.
    timeout_s
        Limit per notebook; None: 15 minutes for figures and tables, a day for stages.
    parameters
        More parameters for the selected notebooks, each of which must have them.
    report
        Write index.html in the end.

    Raises
    ------
    ConfigError, DataError, StorageError
        Before anything has started: a notebook, parameter or source is wrong, a folder cannot be written, the
        store is damaged, another command is at work on the run.
    KeyboardInterrupt
        After workers and kernels have been stopped and the manifest has been written.
    """
    notebooks = discover(run.root)
    named = only if only is not None else run.profile.notebooks
    chosen = select(notebooks, named) if named is not None else about_studies(notebooks, run.profile.studies)
    chosen = _with_stale_stages(run, notebooks, chosen)
    given = {"profile": _shown(run, run.dir / "profile.yml"), "run_dir": _shown(run, run.dir)}
    given |= dict(parameters or {})
    for notebook in chosen.values():
        check_parameters(notebook, given)
    if workers is not None and workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}")
    check_run(run)
    if any(notebook.stage in ASKING for notebook in chosen.values()):
        check_keys(run)
    run.dir.mkdir(parents=True, exist_ok=True)
    with locked(run.dir / ".driver.lock", wait=False):
        run.save_profile()
        if force:
            run.forget(notebook.stage for notebook in chosen.values() if notebook.stage)
        drive = _Drive(
            run,
            notebooks,
            chosen,
            parameters=given,
            workers=workers or default_workers(),
            force=force,
            timeout_s=timeout_s,
            quiet=quiet,
        )
        return drive.finish(report=report)


class _Drive:
    """One execution: what waits, what is done, and what is written about it."""

    def __init__(
        self,
        run: Run,
        notebooks: Mapping[str, Notebook],
        chosen: Mapping[str, Notebook],
        *,
        parameters: Mapping[str, Any],
        workers: int,
        force: bool,
        timeout_s: float | None,
        quiet: bool,
    ) -> None:
        self.run = run
        self.notebooks = notebooks
        self.chosen = chosen
        self.parameters = dict(parameters)
        self.workers = workers
        self.force = force
        self.timeout_s = timeout_s
        self.earlier = manifest.read(run)
        self.cache = Cache(run, notebooks, self.earlier)
        self.display = Display(len(chosen), quiet=quiet)
        self.waiting = self._longest_first(order(chosen))
        self.entries: dict[str, dict[str, Any]] = {}
        self.started, self.begin = manifest.now(), time.perf_counter()

    def finish(self, *, report: bool) -> Summary:
        """Execute everything, then write manifest and report, whatever happened."""
        status = "interrupted"
        try:
            self._execute()
            status = "failed" if any(e["status"] in ("failed", "skipped") for e in self.entries.values()) else "ok"
        finally:
            self.display.close()
            for partial in (self.run.dir / "notebooks").glob(".*.partial.ipynb"):
                partial.unlink(missing_ok=True)
            for name in self.chosen:
                if name not in self.entries:
                    self._settle(name, "interrupted", message="not finished", shown=False)
            summary = Summary(self.run, list(self.entries.values()), status, time.perf_counter() - self.begin)
            self._write(summary, report=report and status != "interrupted")
        return summary

    def _execute(self) -> None:
        with Pool(min(self.workers, len(self.chosen))) as pool:
            while self.waiting or pool.running:
                self._start_ready(pool)
                self.display.running(pool.lines)
                if pool.running:
                    for outcome in pool.outcomes(timeout=1.0):  # so that the clock on the screen goes on
                        self._finished(outcome)

    def _start_ready(self, pool: Pool) -> None:
        """Settle what need not or cannot run, start what can."""
        progress = True
        while progress:
            progress = False
            for name in list(self.waiting):
                needs = [need for need in self.chosen[name].needs if need in self.chosen]
                states = [self.entries.get(need) for need in needs]
                broken = next((e for e in states if e and e["status"] in ("failed", "skipped")), None)
                if broken is None and not all(states):
                    continue
                if broken is not None:
                    cause = broken.get("cause") or broken["id"]
                    self._settle(name, "skipped", message=f"needs {cause}, which failed", cause=cause)
                elif self._kept(name):
                    pass
                elif pool.idle:
                    pool.start(self._task(self.chosen[name]))
                else:
                    continue
                self.waiting.remove(name)
                progress = True

    def _kept(self, name: str) -> bool:
        notebook = self.chosen[name]
        if self.force or not self.cache.is_fresh(notebook, key := self.cache.key(notebook)):
            return False
        entry = dict(self.cache.earlier(notebook) or {})
        self._settle(name, "cached", seconds=entry["seconds"], key=key, outputs=entry["outputs"])
        self.entries[name]["finished"] = entry["finished"]
        return True

    def _task(self, notebook: Notebook) -> Task:
        remove_outputs(self.run, notebook)
        return Task(
            id=notebook.id,
            source=notebook.path,
            target=self.run.dir / "notebooks" / f"{notebook.id}.ipynb",
            parameters=self.parameters,
            timeout_s=self.timeout_s or _LIMITS_S[notebook.kind],
        )

    def _finished(self, outcome: Outcome) -> None:
        notebook = self.chosen[outcome.id]
        outputs = {}
        if outcome.ok:
            outputs = {manifest.relative(p, self.run): hash_file(p) for p in outputs_of(self.run, notebook)}
        # The key is taken afterwards: a notebook opened on an empty run makes the tables that it depends on.
        self._settle(
            outcome.id,
            "ok" if outcome.ok else "failed",
            seconds=outcome.seconds,
            message=manifest.redact(outcome.message, self.run.root),
            key=self.cache.key(notebook) if outcome.ok else "",
            outputs=outputs,
            starts=outcome.starts,
        )

    def _settle(
        self,
        name: str,
        status: str,
        *,
        seconds: float = 0.0,
        message: str = "",
        cause: str = "",
        key: str = "",
        outputs: Mapping[str, str] | None = None,
        starts: int = 0,
        shown: bool = True,
    ) -> None:
        notebook = self.chosen[name]
        self.entries[name] = {
            "id": name,
            "title": notebook.title,
            "kind": notebook.kind,
            "status": status,
            "seconds": round(seconds, 2),
            "message": message,
            "cause": cause,
            "key": key,
            "outputs": dict(outputs or {}),
            "kernel_starts": starts,
            "executed": f"notebooks/{name}.ipynb" if status in ("ok", "failed", "cached") else "",
            "finished": manifest.now(),
        }
        if shown:
            self.display.finished(self.entries[name])

    def _write(self, summary: Summary, *, report: bool) -> None:
        data = manifest.build(
            self.run,
            status=summary.status,
            started=self.started,
            seconds=summary.seconds,
            command={"only": sorted(self.chosen), "force": self.force, "workers": self.workers},
            notebooks=self._all_entries(),
        )
        manifest.write(self.run, data)
        if report:
            try:
                from signpost_kit.report import write_report

                summary.report = Path(write_report(self.run))
            except SignpostError as error:
                summary.notes.append(f"the report could not be written: {error}")

    def _all_entries(self) -> list[dict[str, Any]]:
        """This execution's entries, and the earlier ones of notebooks that were not asked for, in graph order."""
        known = {e["id"]: e for e in self.earlier.get("notebooks", []) if e["id"] in self.notebooks}
        known |= self.entries
        return [known[name] for name in self.notebooks if name in known]

    def _longest_first(self, ids: list[str]) -> list[str]:
        """Start what took longest last time first; the graph still decides what may start."""
        took = {e["id"]: float(e.get("seconds") or 0) for e in self.earlier.get("notebooks", [])}
        place = {name: position for position, name in enumerate(self.notebooks)}
        return sorted(ids, key=lambda name: (-took.get(name, 0.0), place[name]))


def _with_stale_stages(
    run: Run, notebooks: Mapping[str, Notebook], chosen: Mapping[str, Notebook]
) -> dict[str, Notebook]:
    """`chosen` and the stage notebooks they need whose stage is not up to date.

    Each chosen notebook could do the missing stages by itself; this way a stage that fails does so once.
    """
    wanted, queue = set(chosen), list(chosen)
    while queue:
        for need in notebooks[queue.pop()].needs:
            if need not in wanted and notebooks[need].stage and not is_done(run, notebooks[need]):
                wanted.add(need)
                queue.append(need)
    return {name: notebook for name, notebook in notebooks.items() if name in wanted}


def _shown(run: Run, path: Path) -> str:
    """A path for a notebook's parameters: from the project's folder where possible, so that it travels."""
    return path.relative_to(run.root).as_posix() if path.is_relative_to(run.root) else str(path)
