"""The `signpost` command. Everything heavy is imported when a command runs, so that help comes at once.

Exit codes: 0 all done, 1 a notebook failed or something is missing, 2 wrong input, 130 interrupted.
"""

from __future__ import annotations

import functools
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from signpost_kit.cli_audit import audit_app
from signpost_kit.cli_geocode import geocode_app
from signpost_kit.errors import SignpostError

if TYPE_CHECKING:
    from signpost_kit.notebooks import Summary
    from signpost_kit.run import Run

__all__ = ["app", "main"]

app = typer.Typer(
    name="signpost",
    help="Measure what a vision-language model does when words disagree with the picture.\n\n"
    "Begin with `signpost run demo`: no key, no GPU, a few minutes. Then open runs/demo/index.html.",
    epilog="`signpost COMMAND --help` shows examples. Profiles are the YAML files in params/.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_debug = False

ProfileArgument = Annotated[
    str, typer.Argument(metavar="PROFILE", help="A name in params/ (demo), a path, or a run's folder.")
]
SetOption = Annotated[
    Optional[list[str]],  # noqa: UP045  typer reads annotations at run time, on Python 3.10 too
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the profile, e.g. source.n=12. Repeatable."),
]
RunDirOption = Annotated[
    str, typer.Option("--run-dir", metavar="FOLDER", help="Folder of the run; default runs/<profile's name>.")
]
RetryOption = Annotated[
    str,
    typer.Option("--retry", metavar="STATUS,...", help="Ask again replies that ended so, e.g. empty,error."),
]
WorkersOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--workers", "-j", min=1, help="Notebooks at once; default: the number of cores."),
]
MaxCostOption = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--max-cost", min=0, metavar="USD", help="Stop before the replies of this run cost more."),
]
BatchOption = Annotated[
    bool,
    typer.Option("--batch", help="Ask through batch endpoints: half the price, within a day."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Redo what is up to date too. Replies are kept.")]
TimeoutOption = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--timeout", min=1, metavar="SECONDS", help="Limit per notebook."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors and the last line only.")]


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """One clear line instead of a traceback for what a user can cause."""

    @functools.wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except SignpostError as error:
            if _debug:
                raise
            _say(f"signpost: error: {' '.join(str(error).split())}")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            again = shlex.join(["signpost", *sys.argv[1:]])
            _say(f"signpost: interrupted; finished work is kept, go on with: {again}")
            raise typer.Exit(130) from None

    return guarded


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _with_limit(sets: list[str] | None, max_cost: float | None, batch: bool = False) -> list[str]:
    """`--max-cost 5` is short for `--set evaluation.max_cost_usd=5`: it then reaches every process of the run."""
    sections = ("evaluation", "replacements")  # whoever asks a paid model
    more = [] if max_cost is None else [f"{section}.max_cost_usd={max_cost}" for section in sections]
    return [*(sets or ()), *more, *(["evaluation.batch=true"] if batch else [])]


def _version(wanted: bool) -> None:
    if wanted:
        from signpost_kit import __version__

        print(f"signpost_kit {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    global _debug
    _debug = debug


@app.command(epilog="Examples: signpost run demo · signpost run photos --set source.path=FOLDER")
@_guarded
def run(
    profile: ProfileArgument,
    *,
    only: Annotated[
        str,
        typer.Option("--only", metavar="WHAT", help="stages, figures, tables, or ids: fig03,tab01,evaluation."),
    ] = "",
    sets: SetOption = None,
    run_dir: RunDirOption = "",
    workers: WorkersOption = None,
    force: ForceOption = False,
    retry: RetryOption = "",
    max_cost: MaxCostOption = None,
    batch: BatchOption = False,
    timeout: TimeoutOption = None,
    quiet: QuietOption = False,
) -> None:
    """Execute stages, figures and tables, then the report.

    What is up to date is not done again, and no reply is asked for twice; an interrupted run goes on where it was.
    """
    opened = _open(profile, _with_limit(sets, max_cost, batch), run_dir, retry)
    _execute(opened, only=only or None, workers=workers, force=force, timeout_s=timeout, quiet=quiet)


@app.command(epilog="Example: signpost figures demo --force")
@_guarded
def figures(
    profile: ProfileArgument,
    *,
    sets: SetOption = None,
    run_dir: RunDirOption = "",
    workers: WorkersOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Redraw the figures and tables of a run.

    Stages that are missing or out of date are done first.
    """
    opened = _open(profile, sets, run_dir)
    _execute(opened, only="figures,tables", workers=workers, force=force, timeout_s=None, quiet=quiet)


@app.command(epilog="Example: signpost evaluate photos --set source.path=FOLDER --set models=reader,prior")
@_guarded
def evaluate(
    profile: ProfileArgument,
    *,
    sets: SetOption = None,
    run_dir: RunDirOption = "",
    retry: RetryOption = "",
    max_cost: MaxCostOption = None,
    batch: BatchOption = False,
) -> None:
    """Ask the models, and nothing else.

    Runs in this process with a progress bar: no notebooks, no figures.
    """
    from signpost_kit.preflight import check_keys, check_run

    opened = _open(profile, _with_limit(sets, max_cost, batch), run_dir, retry)
    check_run(opened)
    check_keys(opened)
    from signpost_kit.cli_evaluate import ask_all

    complete = ask_all(opened, warn=_say)
    print(f"replies: {_near(opened.store_path)}")
    if not complete:
        raise typer.Exit(1)


@app.command(epilog="Example: signpost report demo")
@_guarded
def report(profile: ProfileArgument, run_dir: RunDirOption = "") -> None:
    """Write the report of a run anew."""
    from signpost_kit.report import write_report

    opened = _open(profile, None, run_dir)
    _must_exist(opened, opened.dir / "manifest.json")
    print(_near(Path(write_report(opened))))


@app.command(epilog="Examples: signpost models · signpost models --check gpt-4o gemini-2.5-flash")
@_guarded
def models(
    names: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="[NAME]...", help="Only these; default: all."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Ask each one tiny question; without names: all that have a key.")
    ] = False,
) -> None:
    """List the models that a profile may name, or ask them one question each."""
    from signpost_kit.cli_models import run_models

    if not run_models(names or (), check=check):
        raise typer.Exit(1)


@app.command(epilog="Example: signpost estimate photos --set source.path=FOLDER --set models=[gpt-4o] --width 4")
@_guarded
def estimate(
    profile: ProfileArgument,
    *,
    sets: SetOption = None,
    run_dir: RunDirOption = "",
    retry: RetryOption = "",
    max_cost: MaxCostOption = None,
    width: Annotated[
        float, typer.Option("--width", metavar="POINTS", help="How wide a 95 % interval of WLA may be.")
    ] = 5.0,
    difference: Annotated[
        float,
        typer.Option("--difference", metavar="POINTS", help="How far apart two models are to be told apart."),
    ] = 5.0,
) -> None:
    """Say what a run will ask and cost, before the first paid request, and how many scenes it needs.

    Pictures are built if they are not there; no model is asked.
    """
    from signpost_kit.cli_estimate import estimate_run, show
    from signpost_kit.cli_planning import show_plan
    from signpost_kit.preflight import check_run

    opened = _open(profile, _with_limit(sets, max_cost), run_dir, retry)
    check_run(opened)
    frame, specs = estimate_run(opened)
    print(show(frame, specs, max_cost_usd=opened.profile.evaluation.max_cost_usd))
    print()
    print(show_plan(opened, width=width, difference=difference))


@app.command()
@_guarded
def doctor() -> None:
    """Check what this machine has and lacks.

    Python, packages, fonts, OCR, kernel, disk, and which keys are set (they are never shown).
    """
    from signpost_kit.doctor import check_all

    findings = check_all()
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        print(f"{finding.mark:5} {finding.what:{width}}  {finding.detail}")
    if any(finding.mark == "FAIL" for finding in findings):
        raise typer.Exit(1)


@app.command("export", epilog="Example: signpost export demo replies/")
@_guarded
def export_(
    profile: ProfileArgument,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where the JSON lines go.")],
    run_dir: RunDirOption = "",
    task: Annotated[str, typer.Option("--task", help="Which task's replies.")] = "coordinate",
    layout: Annotated[
        str, typer.Option("--layout", metavar="NAME", help="replies, or signpost: groups and pictures too.")
    ] = "replies",
) -> None:
    """Write the replies as JSON lines, or the whole benchmark as it is released.

    The layout is the one of the released data: FOLDER/<dataset>/results/<model>/.
    """
    opened = _open(profile, None, run_dir)
    if layout != "replies":
        from signpost_kit.cli_release import export_release
        from signpost_kit.errors import ConfigError

        if layout != "signpost":
            raise ConfigError(f"--layout is {layout!r}; allowed: replies, signpost")
        print(_near(export_release(opened, Path(folder).expanduser().absolute())))
        return
    _must_exist(opened, opened.store_path)
    with opened.store() as store:
        written = store.export_jsonl(Path(folder), opened.benchmark(), task=task)
    for path in written:
        print(_near(path))


@app.command(
    "import", epilog="Examples: signpost import demo replies/town · signpost import downloads/signpost-bench"
)
@_guarded
def import_(
    profile: Annotated[
        str, typer.Argument(metavar="PROFILE|RELEASE", help="Of the run; or, alone, the folder of a release.")
    ],
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="A .jsonl file, or a folder of them.")] = "",
    run_dir: RunDirOption = "",
    dataset: Annotated[str, typer.Option("--dataset", help="Dataset of the rows, where the path is mute.")] = "",
) -> None:
    """Read replies from JSON lines, or make a run of a released benchmark.

    Damaged lines are named and left out; replies that the run has already stay as they are.
    """
    if not path:
        from signpost_kit.cli_release import import_release

        where = str(Path(run_dir).expanduser().absolute()) if run_dir else ""
        if not import_release(profile, run_dir=where):
            raise typer.Exit(1)
        return
    from signpost_kit.preflight import check_writable

    opened = _open(profile, None, run_dir)
    if not Path(path).exists():
        from signpost_kit.errors import DataError

        raise DataError(f"{path} does not exist: give a .jsonl file or a folder of them")
    check_writable(opened.dir)
    with opened.store() as store:
        done = store.import_jsonl(Path(path), dataset=dataset)
    for line in done.bad:
        _say(f"signpost: left out: {line}")
    print(f"{done.rows} replies from {done.files} file(s), {done.present} were there already")
    if done.bad:
        raise typer.Exit(1)


def _open(profile: str, sets: list[str] | None, run_dir: str, retry: str = "") -> Run:
    """The run, with `--run-dir` taken from the current folder; `--retry` makes the evaluation run again."""
    from signpost_kit.run import RETRY_VARIABLE, open_run

    os.environ.pop(RETRY_VARIABLE, None)
    if retry:
        os.environ[RETRY_VARIABLE] = retry  # kernels inherit it
    opened = open_run(profile, str(Path(run_dir).expanduser().absolute()) if run_dir else "", sets=sets or ())
    asking = {"evaluation", "probing", "defense", "cross_task", "hints", "claims"}
    if opened.profile.replacements.kind == "generate":
        asking.add("replacements")
    for stage in sorted(asking):
        record = opened.stage_record(stage)
        unfinished = stage != "replacements" and record and record.get("rejected")
        if record and (opened.retry or unfinished):
            opened.forget([stage])
    return opened


def _execute(opened: Run, **options: Any) -> None:
    from signpost_kit.notebooks import run_notebooks

    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        summary = run_notebooks(opened, **options)
    finally:
        signal.signal(signal.SIGTERM, before)
    _conclude(summary)


def _interrupt(*_: object) -> None:
    """A polite kill is treated like Ctrl-C: workers and kernels are stopped first."""
    raise KeyboardInterrupt


def _conclude(summary: Summary) -> None:
    failed = summary.of("failed")
    for entry in failed:
        kept = summary.run.dir / entry["executed"]
        _say(f"signpost: {entry['id']} failed: {entry['message']} (see {_near(kept)})")
    for note in summary.notes:
        _say(f"signpost: {note}")
    counted = [f"{len(summary.of(status))} {word}" for status, word in _WORDS if summary.of(status)]
    where = f"; report: {_near(summary.report)}" if summary.report else f"; {_near(summary.run.dir)}"
    print(f"{summary.run.name}: {', '.join(counted)} in {summary.seconds:.0f} s{where}", flush=True)
    if not summary.ok:
        raise typer.Exit(1)


_WORDS = (("ok", "done"), ("cached", "up to date"), ("failed", "failed"), ("skipped", "skipped"))


def _must_exist(opened: Run, path: Path) -> None:
    if not path.is_file():
        from signpost_kit.errors import DataError

        raise DataError(f"the run {opened.name!r} has no {path.name} yet: signpost run {opened.profile.name} first")


def _near(path: Path) -> str:
    """The path as one would type it here."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


app.add_typer(audit_app(_guarded, _open), name="audit")
app.add_typer(geocode_app(_guarded, _open), name="geocode")


def main() -> None:
    """Entry point of the `signpost` command."""
    app()


if __name__ == "__main__":
    main()
