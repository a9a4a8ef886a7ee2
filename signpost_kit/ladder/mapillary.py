"""Pictures of Mapillary by their ids: asked about and fetched politely, within limits, resumable.

The study releases ids and positions, not pixels. A token comes from the environment variable MAPILLARY_TOKEN; it
goes into the header of requests to the API and nowhere else (addresses of pictures are signed by Mapillary itself).
Pictures are under CC-BY-SA 4.0: who uses them names the contributors, which `attribution.csv` lists. Source:
Mapillary API v4, entity endpoint `/:image_id`.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.benchmark.downloads import DownloadLimits, download_all
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import inside, write_bytes, write_text
from signpost_kit.geocoding.servers import number, server_address
from signpost_kit.models.pauses import pause_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["API_URL", "LICENCE", "TOKEN_VARIABLE", "Fetched", "fetch_pictures", "read_ids"]

API_URL = "https://graph.mapillary.com"
TOKEN_VARIABLE = "MAPILLARY_TOKEN"
LICENCE = (
    "Pictures from Mapillary (www.mapillary.com), by its contributors (attribution.csv), under CC-BY-SA 4.0 "
    "(creativecommons.org/licenses/by-sa/4.0): name them, and share what you make of them alike."
)
SIZES = {1024: "thumb_1024_url", 2048: "thumb_2048_url", 0: "thumb_original_url"}
"""Longest side in pixels -> field; 0: as it was uploaded."""
_FIELDS = ("id", "camera_type", "is_pano", "captured_at", "computed_geometry", "geometry", "creator", "sequence")
_ID = re.compile(r"\d{6,20}")
_FOLDER, _ABOUT = "files", "about"
_MAX_BYTES = 1 << 20
_IN_A_ROW = 5


@dataclass(frozen=True)
class Fetched:
    """What became of a list of ids."""

    pictures: pd.DataFrame
    """image (id), site, file (relative to the folder), lat, lon, perspective, captured_at (ISO date), creator."""
    missing: pd.DataFrame
    """image, site, reason."""
    folder: Path


def read_ids(path: Path) -> pd.DataFrame:
    """A list of ids: a CSV with image (or image_id, id, path) and perhaps site; paths as released end in <id>.jpg.

    Returns
    -------
    image, site; each id once, in the order of the file.

    Raises
    ------
    DataError
        No such column, or rows without an id (they are named).
    """
    import pandas as pd

    from signpost_kit.audits.cells import read_sheet

    rows: dict[str, tuple[str, str]] = {}
    faults = []
    for line, row in read_sheet(path):
        column = next((name for name in ("image", "image_id", "id", "path") if name in row), "")
        if not column:
            raise DataError(f"{path} has no column image, image_id, id or path")
        parts = [part for part in row[column].replace("\\", "/").split("/") if part]
        ident = parts[-1].rsplit(".", 1)[0] if parts else ""
        if not _ID.fullmatch(ident):
            faults.append(f"row {line}: {row[column]!r}")
            continue
        rows.setdefault(ident, (ident, row.get("site") or (parts[-2] if len(parts) > 1 else "")))
    if faults:
        raise DataError(f"{path}: no id of Mapillary (digits) in {'; '.join(faults[:5])}")
    return pd.DataFrame(list(rows.values()), columns=["image", "site"])


def fetch_pictures(
    ids: pd.DataFrame,
    folder: Path,
    *,
    api_url: str = API_URL,
    longest_side: int = 2048,
    limits: DownloadLimits | None = None,
    interval_s: float = 0.1,
    timeout_s: float = 30.0,
    progress: bool = True,
    pause: Callable[[float], None] = time.sleep,
) -> Fetched:
    """Fetch the pictures of a list into `folder`; what is there already is not asked for again.

    Parameters
    ----------
    ids
        image, site (:func:`read_ids`).
    folder
        Pictures go to `files/`, what Mapillary says of each to `about/`; attribution.csv and LICENCE.txt beside.
    longest_side
        1024 or 2048 pixels, or 0 for the original size.
    limits
        Of the downloads; see :class:`~signpost_kit.benchmark.downloads.DownloadLimits`.
    interval_s
        Least time between two questions to the API.
    pause
        Called to wait, in seconds (for tests).

    Raises
    ------
    ConfigError
        No token, the token is refused, or an argument is wrong.
    DataError
        Mapillary asks for a long pause or does not answer; what was fetched is kept: call again.
    StorageError
        The folder cannot be written.
    """
    import pandas as pd

    if longest_side not in SIZES:
        raise ConfigError(f"longest_side is {longest_side}; allowed: {', '.join(map(str, SIZES))}")
    wanted = {str(image): str(site) for image, site in zip(ids["image"], ids["site"], strict=True)}
    odd = [image for image in wanted if not _ID.fullmatch(image)]
    if odd:
        raise DataError(f"{odd[0]!r} is no id of Mapillary (digits)")
    api = _Api(
        folder / _ABOUT,
        api_url,
        size_field=SIZES[longest_side],
        interval_s=interval_s,
        timeout_s=timeout_s,
        pause=pause,
    )
    kept = _kept(folder, wanted)
    with api:
        about, addresses, missing = _ask_all(api, wanted, kept)
    files = dict(kept)
    for done in download_all(addresses, folder / _FOLDER, limits=limits, progress=progress, pause=pause):
        if done.file:
            files[done.id] = f"{_FOLDER}/{done.file}"
        else:
            missing[done.id] = done.reason
    there = [image for image in wanted if image in files and image in about]
    pictures = pd.DataFrame(
        [(image, wanted[image], files[image], *_facts(about[image])) for image in there],
        columns=["image", "site", "file", "lat", "lon", "perspective", "captured_at", "creator"],
    )
    rows = [(image, wanted[image], missing[image]) for image in wanted if image in missing]
    write_bytes(folder / "attribution.csv", pictures.to_csv(index=False).encode())
    write_text(folder / "LICENCE.txt", LICENCE + "\n")
    return Fetched(pictures, pd.DataFrame(rows, columns=["image", "site", "reason"]), folder)


def _ask_all(
    api: _Api, wanted: Iterable[str], kept: Mapping[str, str]
) -> tuple[dict[str, dict[str, Any]], dict[str, str], dict[str, str]]:
    """What is said of every picture, addresses of those that are not there yet, and why there is no other."""
    about: dict[str, dict[str, Any]] = {}
    addresses: dict[str, str] = {}
    missing: dict[str, str] = {}
    for image in wanted:
        known = api.known(image)
        if known is None or (image not in kept and "reason" not in known):
            known = api.ask(image)  # addresses of pictures expire, so they are asked for when they are needed
        if "reason" in known:
            missing[image] = str(known["reason"])
            continue
        about[image] = known
        if image in kept:
            continue
        if image in api.addresses:
            addresses[image] = api.addresses[image]
        else:
            missing[image] = "Mapillary gives no address of the picture in that size"
    return about, addresses, missing


def _kept(folder: Path, wanted: Iterable[str]) -> dict[str, str]:
    """Pictures of an earlier call: id -> file."""
    from signpost_kit.benchmark.lists.pictures import download_stem

    place = folder / _FOLDER
    if not place.is_dir():
        return {}
    there = {path.stem: path.name for path in place.iterdir() if path.suffix in (".jpg", ".png", ".webp")}
    return {image: f"{_FOLDER}/{there[stem]}" for image in wanted if (stem := download_stem(image)) in there}


class _Api:
    """Asks about one picture after the other, and keeps what was said (but for addresses, which expire)."""

    def __init__(
        self,
        folder: Path,
        url: str,
        *,
        size_field: str,
        interval_s: float,
        timeout_s: float,
        pause: Callable[[float], None],
    ) -> None:
        self._folder = folder
        try:
            self._url = server_address("nominatim", url).url
        except ConfigError as error:
            raise ConfigError(str(error).replace("targets.url", "api_url")) from error
        self._size = size_field
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._pause = pause
        self._client: Any = None
        self._last = -math.inf
        self._failed = 0
        self.addresses: dict[str, str] = {}

    def __enter__(self) -> _Api:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def known(self, image: str) -> dict[str, Any] | None:
        """What an earlier call was told."""
        try:
            value = json.loads(inside(self._folder, f"{image}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def ask(self, image: str) -> dict[str, Any]:
        """What Mapillary says of a picture, or {"reason": why there is none}."""
        if self._client is None:
            self._client = self._open()
        reason, wait = "", 0.0
        for attempt in range(4):
            if attempt:
                self._pause(wait)
            found, reason, wait = self._once(image, attempt)
            if found is not None:
                self._failed = 0
                write_bytes(inside(self._folder, f"{image}.json"), json.dumps(found, ensure_ascii=False).encode())
                return found
        self._failed += 1
        if self._failed >= _IN_A_ROW:
            raise DataError(f"Mapillary does not answer ({reason}): run again later; what was fetched is kept")
        return {"reason": f"{reason}; it is tried again the next time"}

    def _open(self) -> Any:
        import httpx

        from signpost_kit import __version__

        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        if not token:
            raise ConfigError(
                f"{TOKEN_VARIABLE} is not set: register an application at Mapillary and put its client token into "
                "that environment variable"
            )
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ConfigError(f"{TOKEN_VARIABLE} holds something that is no token (blanks or odd characters)")
        headers = {"Authorization": f"OAuth {token}", "User-Agent": f"signpost_kit/{__version__} (research)"}
        return httpx.Client(timeout=self._timeout_s, headers=headers, follow_redirects=False)

    def _once(self, image: str, attempt: int) -> tuple[dict[str, Any] | None, str, float]:
        """(answer, or None with the reason and the pause before the next attempt)."""
        import httpx

        if (left := self._last + self._interval_s - time.monotonic()) > 0:
            self._pause(left)
        params = {"fields": ",".join((*_FIELDS, self._size))}
        try:
            response = self._client.get(f"{self._url}/{image}", params=params)
        except httpx.HTTPError as error:
            return None, f"no answer ({type(error).__name__})", 2.0**attempt
        finally:
            self._last = time.monotonic()
        status = response.status_code
        data = _json(response.content)
        code = data["error"].get("code") if isinstance(data.get("error"), Mapping) else None
        if status in (401, 403) or code == 190:
            raise ConfigError(f"Mapillary refuses the token (HTTP {status}): check {TOKEN_VARIABLE}")
        if status == 404 or (status == 400 and data):
            return {"id": image, "reason": f"Mapillary has no such picture (HTTP {status})"}, "", 0.0
        if status == 429 or status >= 500:
            wait = pause_of({k.lower(): v for k, v in response.headers.items()})
            wait = 2.0**attempt if wait is None else wait
            if wait > 600:
                raise DataError(f"Mapillary asks for a pause of {wait / 60:.0f} minutes: run again then")
            return None, f"HTTP {status}", wait
        if status != 200 or str(data.get("id", "")) != image:
            return None, f"HTTP {status} without what was asked for", 2.0**attempt
        address = data.pop(self._size, None)
        if isinstance(address, str):
            self.addresses[image] = address
        return {name: data[name] for name in _FIELDS if name in data}, "", 0.0


def _json(content: bytes) -> dict[str, Any]:
    try:
        data = json.loads(content) if len(content) <= _MAX_BYTES else None
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _facts(about: Mapping[str, Any]) -> tuple[float, float, bool, str, str]:
    """lat, lon (the computed position before the recorded one), perspective, date, contributor."""
    lat = lon = math.nan
    for name in ("computed_geometry", "geometry"):
        geometry = about.get(name)
        place: Sequence[Any] = geometry.get("coordinates") or () if isinstance(geometry, Mapping) else ()
        if len(place) >= 2:
            east, north = number(place[0]), number(place[1])
            if east is not None and north is not None and abs(north) <= 90 and abs(east) <= 180:
                lat, lon = north, east
                break
    camera = str(about.get("camera_type") or "perspective").casefold()
    perspective = not about.get("is_pano") and camera in ("perspective", "brown")
    stamp = number(about.get("captured_at"))
    date = time.strftime("%Y-%m-%d", time.gmtime(stamp / 1000)) if stamp is not None and 0 < stamp < 4e12 else ""
    creator = about.get("creator")
    who = str(creator.get("username") or creator.get("id") or "") if isinstance(creator, Mapping) else ""
    return lat, lon, perspective, date, who
