"""`signpost geocode`: what answers of geocoders are kept, and the release's geocode_cache.json in and out.

To reproduce a study, name its file as `targets.frozen`; nothing has to be imported for that. Import it to go on
from its answers: a run with the same settings then asks a server only for what the file does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signpost_kit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from signpost_kit.profiles import Profile
    from signpost_kit.run import Run

__all__ = ["export_answers", "geocode_app", "import_answers", "list_answers"]


def list_answers(*, say: Callable[[str], None] = print) -> None:
    """One line for each kind of answers that this user's runs share."""
    from signpost_kit.geocoding.cache import GeocodeCache
    from signpost_kit.geocoding.lookups import answers_path

    path = answers_path()
    if not path.exists():
        say(f"no answers are kept yet in {path}")
        return
    with GeocodeCache(path) as cache:
        say(f"{len(cache)} answers in {path}")
        for settings, count in cache.settings().items():
            say(f"{count:>8}  {settings}")


def import_answers(file: Path | str, profile: Profile, *, say: Callable[[str], None] = print) -> int:
    """Keep the answers of a geocode_cache.json, or of a run's kept answers, for runs with this profile's settings.

    Answers that are kept already stay. Returns how many are new.

    Raises
    ------
    ConfigError
        The profile asks no server, so it has no use for them, or the file's answers are of other settings.
    DataError, StorageError
        The file or the cache is missing or damaged.
    """
    from signpost_kit.geocoding.cache import GeocodeCache
    from signpost_kit.geocoding.choose import kept_answers, settings_of
    from signpost_kit.geocoding.lookups import answers_path

    section = profile.targets
    if section.geocoder == "gazetteer":
        raise ConfigError(
            "the profile's geocoder is the offline gazetteer, which keeps no answers: add --set "
            "targets.geocoder=nominatim, or use the file alone with --set targets.frozen=FILE"
        )
    entries = kept_answers(Path(file), section, settings_of(section))
    path = answers_path()
    with GeocodeCache(path) as cache:
        new = cache.add(entries)
    say(f"{new} of {len(entries)} answers are new in {path} ({settings_of(section)})")
    return new


def export_answers(run: Run, out: Path | str, *, say: Callable[[str], None] = print) -> int:
    """Write the answers that a run used as a geocode_cache.json; returns how many.

    Raises
    ------
    DataError
        The run has no kept answers yet.
    """
    from signpost_kit.geocoding.cache import GeocodeCache
    from signpost_kit.geocoding.release_cache import write_release_cache
    from signpost_kit.stages.targets import KEPT_ANSWERS

    kept = run.dir / KEPT_ANSWERS
    if not kept.is_file():
        raise DataError(f"the run {run.name!r} has no kept answers: run the stage 'targets' first")
    with GeocodeCache(kept, read_only=True) as cache:
        entries = list(cache.entries())
    write_release_cache(out, entries)
    say(f"{len(entries)} answers of the run {run.name!r} in {out}")
    return len(entries)


def geocode_app(guarded: Callable[[Callable[..., None]], Callable[..., None]], opened: Callable[..., Run]) -> Any:
    """The commands `geocode list`, `import` and `export` as a typer app; parameters as for `audit_app`."""
    app = typer.Typer(help="Kept answers of geocoders: what there is, in and out.", no_args_is_help=True)

    @app.command("list")
    @guarded
    def list_() -> None:
        """Say which answers all runs share."""
        list_answers()

    @app.command("import", epilog="Example: signpost geocode import geocode_cache.json photos")
    @guarded
    def import_(
        file: Annotated[str, typer.Argument(metavar="FILE", help="A geocode_cache.json, or a run's kept answers.")],
        profile: Annotated[str, typer.Argument(metavar="PROFILE", help="Whose geocoder they are of.")],
    ) -> None:
        """Keep the answers of a release for runs with a profile's settings."""
        import_answers(file, opened(profile, None, "").profile)

    @app.command("export", epilog="Example: signpost geocode export photos geocode_cache.json")
    @guarded
    def export(
        profile: Annotated[str, typer.Argument(metavar="PROFILE", help="A name, a path, or a run's folder.")],
        out: Annotated[str, typer.Argument(metavar="FILE", help="The geocode_cache.json to write.")],
        run_dir: Annotated[str, typer.Option("--run-dir", metavar="FOLDER", help="Folder of the run.")] = "",
    ) -> None:
        """Write the answers that a run used, in the release's form."""
        export_answers(opened(profile, None, run_dir), out)

    return app
