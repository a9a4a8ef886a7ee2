"""What GeoHint's answers are looked up in online, and the answers that were used, kept with the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError
from signpost_kit.geocoding.cache import Entry, GeocodeCache
from signpost_kit.geocoding.lookups import Finder

if TYPE_CHECKING:
    from signpost_kit.profile_sections import Targets
    from signpost_kit.profiles import Profile
    from signpost_kit.run import Run

__all__ = ["KEPT_ANSWERS", "KeepingFinder", "finder_of", "lookup_section"]

KEPT_ANSWERS = "hint_geocode_cache.sqlite"
"""In the run's folder: the answers that were used. As `context.hints.frozen` they give the same distances."""


class KeepingFinder(Finder):
    """Another finder whose answers are also written into a file of the run, each before it is used.

    Parameters
    ----------
    finder
        Who knows the answers.
    path
        The file; made when it is absent. An answer that is used replaces an older one to the same text.
    """

    def __init__(self, finder: Finder, path: Path) -> None:
        self.name = finder.name
        self._finder = finder
        self._kept = GeocodeCache(path)
        self._seen: dict[str, Entry] = {}

    def find(self, text: str) -> Entry:
        """The answer, kept; failures are passed on and not kept."""
        found = self._seen.get(text)
        if found is None:
            found = self._finder.find(text)
            self._kept.add([found], replace=True)
            self._seen[text] = found
        return found

    def close(self) -> None:
        """Close both."""
        self._finder.close()
        self._kept.close()


def lookup_section(profile: Profile) -> Targets | None:
    """How GeoHint's answers are looked up, in the terms of `targets`; None: in the run's own ladder.

    What `targets` says of the language, the number of candidates and the pace holds here too; its server only for
    the same geocoder. Who runs this stands in targets.contact or context.ladder.contact. For `check_targets` before
    a run.
    """
    from signpost_kit.profile_sections import Targets

    hints = profile.context.hints
    if hints is None or hints.geocoder == "local":
        return None
    base = profile.targets
    return Targets(
        geocoder=hints.geocoder,
        contact=base.contact or profile.context.ladder.contact,
        url=base.url if base.geocoder == hints.geocoder else None,
        language=base.language,
        limit=base.limit,
        interval_s=base.interval_s,
        frozen=hints.frozen,
    )


def finder_of(run: Run, kind: str) -> Finder:
    """The finder that a run's answers are looked up in: gazetteer, nominatim or wikidata, or kept answers alone.

    The answers that are used are in the run's folder when the stage has ended, so that distances can be rebuilt.

    Raises
    ------
    ConfigError
        The profile looks names up in something else, there is no contact, or kept answers are of other settings.
    DataError, StorageError
        The kept answers are missing or damaged, or the run's folder cannot be written.
    """
    from signpost_kit.geocoding.choose import open_finder

    section = lookup_section(run.profile)
    if section is None or section.geocoder != kind:
        raise ConfigError(f"the profile does not look names up in {kind!r}: set context.hints.geocoder")
    path = run.dir / KEPT_ANSWERS
    if section.frozen is not None and Path(section.frozen).resolve() == path.resolve():
        return open_finder(section)  # the run's own answers, used again: there is nothing to add
    return KeepingFinder(open_finder(section), path)
