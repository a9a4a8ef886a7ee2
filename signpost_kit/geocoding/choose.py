"""Which geocoder a profile means, checked before anything is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.geocoding.cache import Entry, GeocodeCache, Settings
from signpost_kit.geocoding.lookups import AskingFinder, Finder, KeptFinder, OfflineFinder, Patience, answers_path
from signpost_kit.geocoding.nominatim import NominatimSource
from signpost_kit.geocoding.pace import pace_for
from signpost_kit.geocoding.release_cache import RELEASE, read_release_cache
from signpost_kit.geocoding.servers import Address, server_address, user_agent
from signpost_kit.geocoding.wikidata import WikidataSource

if TYPE_CHECKING:
    from signpost_kit.profile_sections import Targets

__all__ = ["check_targets", "kept_answers", "open_finder", "settings_of"]

PUBLIC_INTERVAL_S = 1.0
"""Between two requests to a public server; its rules."""
_NOMINATIM_LIMIT = 40


def check_targets(section: Targets) -> None:
    """Whether a profile's targets can be looked up; no network.

    Raises
    ------
    ConfigError
        No contact, a wrong address, too quick a pace for a public server, or kept answers of other settings.
    DataError, StorageError
        The kept answers are missing or damaged; the cache of answers is damaged.
    """
    if section.frozen is not None:
        _kept(section)
        return
    if section.geocoder == "gazetteer":
        return
    _checked_address(section)
    user_agent(section.contact, section.geocoder.capitalize())
    path = answers_path()
    if path.exists():
        GeocodeCache(path).close()  # not read-only: what a killed process left half-written is rolled back


def open_finder(
    section: Targets,
    *,
    cache: Path | None = None,
    patience: Patience | None = None,
    timeout_s: float = 30.0,
) -> Finder:
    """The geocoder of a profile, ready to use in a `with` statement.

    Parameters
    ----------
    cache
        The file of answers; by default the one that all runs of this user share.
    patience, timeout_s
        How often and how long a server is tried for one text.

    Raises
    ------
    ConfigError, DataError, StorageError
        As :func:`check_targets`.
    """
    if section.frozen is not None:
        return KeptFinder(_kept(section), Path(section.frozen).name)
    if section.geocoder == "gazetteer":
        return OfflineFinder()
    address = _checked_address(section)
    agent = {"contact": section.contact, "language": section.language, "limit": section.limit}
    more = {"url": section.url, "timeout_s": timeout_s}
    if section.geocoder == "nominatim":
        source = NominatimSource(**agent, **more)
        answers = GeocodeCache(cache or answers_path())
    else:
        user_agent(section.contact, "Wikidata")
        answers = GeocodeCache(cache or answers_path())
        source = WikidataSource(**agent, **more, remember=_CountryCodes(answers))
    return AskingFinder(
        source, answers, pace_for(address.place.split("/", 1)[0], section.interval_s), patience=patience
    )


def settings_of(section: Targets) -> Settings:
    """What this profile's answers are kept under."""
    if section.geocoder == "gazetteer":
        return OfflineFinder().settings
    address = server_address(section.geocoder, section.url)
    public = server_address(section.geocoder, None)
    server = "" if address.url == public.url else address.url
    return Settings(section.geocoder, section.language, section.limit, server)


def _checked_address(section: Targets) -> Address:
    address = server_address(section.geocoder, section.url)
    if address.public and section.interval_s < PUBLIC_INTERVAL_S:
        raise ConfigError(
            f"targets.interval_s is {section.interval_s:g}, but {address.host} allows one request a second at "
            "most: set it to 1 or more, or use a server of your own (targets.url)"
        )
    if section.geocoder == "nominatim" and section.limit > _NOMINATIM_LIMIT:
        raise ConfigError(
            f"targets.limit is {section.limit}, Nominatim gives at most {_NOMINATIM_LIMIT} candidates: set it lower"
        )
    return address


def _kept(section: Targets) -> list[Entry]:
    """The answers in the file that is to be used alone."""
    return kept_answers(Path(section.frozen or ""), section, RELEASE, what="check targets.frozen")


def kept_answers(
    path: Path, section: Targets, released: Settings, *, what: str = "check the file's name"
) -> list[Entry]:
    """The answers in a release's geocode_cache.json, or those of a profile's settings in a file of answers.

    Parameters
    ----------
    released
        What a release's answers are taken for; it does not tell.
    what
        The remedy when there is no such file.

    Raises
    ------
    ConfigError
        The file's answers are of other settings.
    DataError, StorageError
        It is missing, empty or damaged.
    """
    if not path.is_file():
        fault = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"the kept answers {path} {fault}: {what}")
    if not _is_sqlite(path):
        return read_release_cache(path, released)
    with GeocodeCache(path, read_only=True) as cache:
        there = cache.settings()
        wanted = settings_of(section)
        if wanted in there:
            return list(cache.entries(wanted))
        if not there:
            raise DataError(f"the kept answers {path} hold none: {what}")
        known = "; ".join(f"{settings} ({count} answers)" for settings, count in there.items())
        raise ConfigError(
            f"the kept answers {path} are of other settings than the profile's ({wanted}); they hold: {known}. "
            "Set targets.geocoder, language, limit and url to one of these"
        )


def _is_sqlite(path: Path) -> bool:
    """By its content; JSON begins with a brace, whatever the file is called. An empty file is neither."""
    with path.open("rb") as handle:
        head = handle.read(16)
    if not head:
        raise DataError(f"the kept answers {path} are empty: put back a copy")
    return head.startswith(b"SQLite")


class _CountryCodes:
    """ISO codes of Wikidata's countries, kept in the same file."""

    _SETTINGS = Settings("wikidata-country", limit=1)

    def __init__(self, cache: GeocodeCache) -> None:
        self._cache = cache

    def __call__(self, qid: str, code: str | None = None) -> str | None:
        if code is not None:
            self._cache.put(Entry(self._SETTINGS, qid, qid, reply=json.dumps(code).encode()))
        entry = self._cache.get(self._SETTINGS, qid)
        return str(json.loads(entry.reply)) if entry else None
