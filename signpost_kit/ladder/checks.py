"""What the second study's ladder and look-ups need, checked before the first stage begins; no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from signpost_kit.profiles import Profile

__all__ = ["check_ladder", "check_lookup", "ladder_models"]


def ladder_models(profile: Profile) -> list[str]:
    """The models that audit names and pictures; their keys are needed besides those of the profile's models."""
    options = profile.context.ladder
    named = (options.auditor if options.points == "wikidata" else None, options.image_auditor)
    return [name for name in dict.fromkeys(named) if name]


def check_ladder(profile: Profile) -> None:
    """Whether a profile's ladder can be made.

    Raises
    ------
    ConfigError
        No auditor, contact or path; an auditor that is unknown or evaluated; a wrong address, language or pace.
    DataError
        The file of points or of kept decisions is missing or holds nothing.
    """
    from signpost_kit.ladder.around import AroundSource
    from signpost_kit.ladder.audit import check_auditor
    from signpost_kit.ladder.decisions import read_decisions

    options = profile.context.ladder
    if "geocontext" not in profile.studies or profile.source.kind == "geocontext-release":
        return
    evaluated = () if profile.context.respondents else tuple(profile.models)
    if options.image_auditor:
        check_auditor(options.image_auditor, evaluated)
    if options.points == "file":
        if not options.path:
            raise ConfigError(
                "context.ladder.path is missing: the folder with the ladder files, or a CSV of points"
            )
        if not Path(options.path).exists():
            raise DataError(f"the ladder files {options.path} do not exist: check context.ladder.path")
    if options.points != "wikidata":
        return
    if not options.auditor:
        raise ConfigError(
            "context.ladder.auditor is missing: name the model of words that says which places people refer to, "
            "e.g. --set context.ladder.auditor=NAME (signpost models lists them)"
        )
    check_auditor(options.auditor, evaluated)
    source = AroundSource(contact=options.contact, language=options.language or "", url=options.url)
    source.check_pace(options.interval_s)
    if options.decisions:
        read_decisions(Path(options.decisions))


def check_lookup(profile: Profile) -> None:
    """Whether the answers of GeoHint can be looked up as the profile says; see `geocoding.choose.check_targets`."""
    from signpost_kit.geocoding.choose import check_targets
    from signpost_kit.stages.context_lookup import lookup_section

    section = lookup_section(profile)
    if section is not None and profile.source.kind != "geocontext-release":
        check_targets(section)
