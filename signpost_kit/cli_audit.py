"""`signpost audit`: sheets for people to fill in, and their answers back into the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

if TYPE_CHECKING:
    from signpost_kit.run import Run

__all__ = ["audit_app", "make_sheets", "take_sheets"]

Say = Callable[[str], None]
_TIER_STAGE, _EDIT_STAGE = "taxonomy", "synthesis"


def audits_dir(run: Run) -> Path:
    """Where a run keeps its sheets, their keys and the answers."""
    return run.dir / "audits"


def make_sheets(
    run: Run,
    *,
    quotas: Sequence[int] | None = None,
    edits: int | None = None,
    annotators: int = 2,
    seed: int = 42,
    only: str = "",
    say: Say = print,
) -> list[Path]:
    """Write the sheets of both audits; return the annotators' files.

    Parameters
    ----------
    quotas
        Pictures of T1, T2, T3; None: 100, 150, 100.
    edits
        Edited pictures; None: 120.
    annotators
        Of the tiers. Edited pictures are rated by one.
    only
        `taxonomy`, `edits`, or `images` (of the second study's sites); empty: the first two.

    Raises
    ------
    ConfigError, DataError
        A number is wrong, or there is nothing to look at.
    """
    from signpost_kit.audits import (
        EDIT_SAMPLE,
        TIER_QUOTAS,
        sample_edits,
        sample_tiers,
        write_edit_sheets,
        write_tier_sheets,
    )
    from signpost_kit.audits.sheets import EDITS, IMAGES, TIERS_AUDIT
    from signpost_kit.errors import ConfigError
    from signpost_kit.frames import TIERS

    if only not in ("", TIERS_AUDIT, EDITS, IMAGES):
        raise ConfigError(f"--only is {only!r}; allowed: {TIERS_AUDIT}, {EDITS}, {IMAGES}")
    if only == IMAGES:
        return _image_sheets(run, annotators=annotators, seed=seed, say=say)
    if quotas is not None and len(quotas) != len(TIERS):
        raise ConfigError(f"--tiers needs {len(TIERS)} numbers, for {', '.join(TIERS)}; got {len(quotas)}")
    run.ensure(_TIER_STAGE if only == TIERS_AUDIT else _EDIT_STAGE)
    benchmark = run.benchmark()
    files: list[Path] = []
    if only != EDITS:
        wanted = TIER_QUOTAS if quotas is None else dict(zip(TIERS, quotas, strict=True))
        sample = sample_tiers(benchmark.groups, quotas=wanted, seed=seed)
        for tier, (n, there) in sample.short.items():
            say(f"{tier}: {n} pictures wanted, there are {there}")
        made = write_tier_sheets(
            benchmark, sample.groups, audits_dir(run) / TIERS_AUDIT, annotators=annotators, seed=seed
        )
        say(f"{made.n} pictures for {annotators} annotator(s): {made.folder}")
        files += [*made.sheets, *made.pages]
    if only != TIERS_AUDIT:
        n = EDIT_SAMPLE if edits is None else edits
        chosen = sample_edits(benchmark.groups, n=n, seed=seed)
        if len(chosen) < n:
            say(f"{n} edited pictures wanted, there are {len(chosen)}")
        made = write_edit_sheets(benchmark, chosen, audits_dir(run) / EDITS, seed=seed)
        say(f"{made.n} edited pictures: {made.folder}")
        files += [*made.sheets, *made.pages]
    say("give each annotator the page (.html) or the sheet (.csv), never key.csv; "
        f"then: signpost audit read {run.profile.name} FILES")  # fmt: skip
    return files


def _image_sheets(run: Run, *, annotators: int, seed: int, say: Say) -> list[Path]:
    """Sheets of the pictures of all sites."""
    from signpost_kit.audits import write_image_sheets
    from signpost_kit.audits.sheets import IMAGES
    from signpost_kit.stages.context_common import sites_of_run

    run.ensure("sources")
    pictures = [(site.site, name, file) for site in sites_of_run(run) for name, file in site.pictures]
    made = write_image_sheets(pictures, audits_dir(run) / IMAGES, annotators=annotators, seed=seed)
    say(f"{made.n} pictures for {annotators} annotator(s): {made.folder}; then: "
        f"signpost audit read {run.profile.name} FILES")  # fmt: skip
    return [*made.sheets, *made.pages]


def take_sheets(run: Run, files: Sequence[str | Path], *, partial: bool = False, say: Say = print) -> list[Path]:
    """Read filled sheets, keep the answers in the run and say how far the judges agree; return what was written.

    Raises
    ------
    DataError
        A sheet cannot be used; its rows are named and nothing is kept.
    """
    from signpost_kit.audits import edit_summary, filled_audits, read_sheets, tier_agreement
    from signpost_kit.audits.filled import save_answers
    from signpost_kit.audits.sheets import IMAGES

    answers = read_sheets(files, sorted(audits_dir(run).glob("*/key.csv")), partial=partial)
    written = save_answers(answers, audits_dir(run))
    if any(answer["audit"] == IMAGES for answer in answers):
        from signpost_kit.ladder.images import image_audit_of

        found_images = image_audit_of(run)
        run.save_table("image_audit", found_images)
        say(f"image audit: {int(found_images['human_usable'].notna().sum())} pictures judged by people")
    (run.dir / "notebooks" / "tab16.ipynb").unlink(missing_ok=True)  # so that the next run draws it anew
    found = filled_audits(run.dir)
    if found.tiers is not None:
        for line in tier_agreement(found.tiers).to_dict("records"):
            interval = f"[{line['kappa_low']:.3f}, {line['kappa_high']:.3f}]"
            numbers = f"{100 * line['agreement']:.1f} %, kappa {line['kappa']:.3f} {interval}"
            say(f"{line['pair']}: {numbers if line['n'] else line['reason']} (n = {line['n']})")
    if found.edits is not None:
        for line in edit_summary(found.edits).to_dict("records"):
            if line["kind"] == "mean":
                say(f"{line['measure']}: {line['value']:.2f} ± {line['sd']:.2f} (n = {line['n']})")
            else:
                say(f"{line['measure']}: {100 * line['value']:.1f} % (n = {line['n']})")
    return written


def audit_app(guarded: Callable[[Callable[..., None]], Callable[..., None]], opened: Callable[..., Run]) -> Any:
    """The commands `audit sheets` and `audit read` as a typer app.

    Parameters
    ----------
    guarded
        Turns what a user can cause into one clear line.
    opened
        `opened(profile, sets, run_dir)` gives the run.
    """
    app = typer.Typer(help="Sheets for people to judge tiers and edits, and their answers.", no_args_is_help=True)

    @app.command(epilog="Example: signpost audit sheets demo --tiers 20,30,20 --edits 24")
    @guarded
    def sheets(
        profile: Profile,
        *,
        tiers: Annotated[str, typer.Option("--tiers", metavar="N,N,N", help="Pictures of T1, T2, T3.")] = "",
        edits: Annotated[Optional[int], typer.Option("--edits", help="Edited pictures; default 120.")] = None,  # noqa: UP045
        annotators: Annotated[int, typer.Option("--annotators", min=1, max=2, help="Of the tiers.")] = 2,
        seed: Annotated[int, typer.Option("--seed", min=0, help="Of the draw and the orders.")] = 42,
        only: Annotated[str, typer.Option("--only", metavar="AUDIT", help="taxonomy, edits, or images.")] = "",
        run_dir: RunDir = "",
    ) -> None:
        """Draw pictures and write sheets: 100 + 150 + 100 for the tiers, 120 edited ones, unless told otherwise."""
        run = opened(profile, None, run_dir)
        make_sheets(run, quotas=_numbers(tiers), edits=edits, annotators=annotators, seed=seed, only=only)

    @app.command(epilog="Example: signpost audit read demo annotator1.csv annotator2.csv edits.csv")
    @guarded
    def read(
        profile: Profile,
        files: Annotated[list[str], typer.Argument(metavar="FILES...", help="Filled sheets (CSV).")],
        partial: Annotated[bool, typer.Option("--partial", help="Take sheets that are not finished.")] = False,
        run_dir: RunDir = "",
    ) -> None:
        """Read filled sheets into the run; tab16 shows them."""
        take_sheets(opened(profile, None, run_dir), files, partial=partial)

    return app


Profile = Annotated[str, typer.Argument(metavar="PROFILE", help="A name in params/, a path, or a run's folder.")]
RunDir = Annotated[str, typer.Option("--run-dir", metavar="FOLDER", help="Folder of the run.")]


def _numbers(text: str) -> list[int] | None:
    if not text:
        return None
    from signpost_kit.errors import ConfigError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise ConfigError(f"--tiers is {text!r}; give three whole numbers such as 100,150,100") from error
