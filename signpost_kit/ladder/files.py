"""Reference points from files: ladders in the released form, or a plain list of one's own points."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.audits.cells import read_sheet
from signpost_kit.errors import DataError
from signpost_kit.files import hash_bytes
from signpost_kit.ladder.draw import POINT_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.hints.plan import HintSite

__all__ = ["OWN", "read_points"]

OWN = "own"
"""The auditor of a plain list that does not name one."""
_PATTERN = "*_ladder_*.csv"
_PLAIN = ("site", "name_en", "lat", "lon", "referenceability")
_RELEASED = ("name_en", "qid", "dist_km", "familiarity")
_MOST_FAULTS = 10
_QID = re.compile(r"Q\d+")

Row = Mapping[str, str]


def read_points(folder: Path, sites: Sequence[HintSite]) -> pd.DataFrame:
    """Usable points around the sites of a run, columns POINT_COLUMNS.

    Parameters
    ----------
    folder
        Either a folder with <site>_ladder_<auditor>.csv files (band, tier, name_en, qid, dist_km, familiarity, ...;
        also in its folder `ladders`; of a site's several auditors the first by name counts), or a CSV file with
        columns site, name_en, lat, lon, referenceability (0-5) and perhaps qid, name_local, auditor. A folder with
        such CSV files and no ladder files will do too.
    sites
        Points of other sites are left out. ref_km is computed from the positions; a released ladder has none, so
        its dist_km is taken and lat, lon are NaN, unless the file has columns lat and lon.

    Raises
    ------
    DataError
        Nothing is there, a column is missing, or rows are wrong: all of them are named, with file and row.
    """
    import pandas as pd

    if not folder.name:
        raise DataError("context.ladder.path is missing: the folder with the ladder files, or a CSV of points")
    if not folder.exists():
        raise DataError(f"the ladder files {folder} do not exist: check context.ladder.path")
    home = {site.site: site for site in sites}
    ladders = [] if folder.is_file() else _ladder_files(folder)
    faults: list[str] = []
    rows: list[dict[str, Any]] = []
    if ladders:
        for site, auditor, path in ladders:
            if site in home:
                rows += _read(path, _RELEASED, faults, _released(home[site], auditor))
        known = sorted({site for site, _, _ in ladders})
    else:
        files = [folder] if folder.is_file() else sorted(folder.glob("*.csv"))
        if not files:
            raise DataError(f"{folder} has no <site>_ladder_<auditor>.csv and no other CSV file of points")
        seen: set[str] = set()
        for path in files:
            rows += _read(path, _PLAIN, faults, _plain(home, seen))
        known = sorted(seen)
    if faults:
        more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        raise DataError(f"reference points cannot be used: {'; '.join(faults[:_MOST_FAULTS])}{more}")
    if not rows:
        raise DataError(
            f"{folder} has no point of this run's sites ({', '.join(list(home)[:5])} ...); it has points of: "
            f"{', '.join(known[:5]) or 'none'}"
        )
    frame = pd.DataFrame(rows, columns=list(POINT_COLUMNS))
    twice = frame.duplicated(["site", "qid"])
    if twice.any():
        odd = frame.loc[twice].iloc[0]
        raise DataError(f"{folder}: the point {odd['name_en']!r} ({odd['qid']}) stands twice at {odd['site']!r}")
    return frame


def _ladder_files(folder: Path) -> list[tuple[str, str, Path]]:
    """(site, auditor, file), one per site."""
    found: dict[str, tuple[str, str, Path]] = {}
    for place in (folder, folder / "ladders"):
        for path in sorted(place.glob(_PATTERN)):
            site, _, auditor = path.stem.partition("_ladder_")
            found.setdefault(site, (site, auditor, path))
    return list(found.values())


def _read(
    path: Path, needed: Sequence[str], faults: list[str], take: Callable[[Row], dict[str, Any] | str | None]
) -> list[dict[str, Any]]:
    """The rows of one file that `take` makes points of; what is wrong goes into `faults`."""
    rows = read_sheet(path)
    header = set(rows[0][1]) if rows else set(needed)
    absent = [name for name in needed if name not in header]
    if absent:
        raise DataError(f"{path} lacks the column(s) {', '.join(absent)}; it has: {', '.join(sorted(header))}")
    found = []
    for line, row in rows:
        point = take(row)
        if isinstance(point, str):
            faults.append(f"{path.name} row {line}: {point}")
        elif point is not None:
            found.append(point)
    return found


def _released(site: HintSite, auditor: str) -> Callable[[Row], dict[str, Any] | str]:
    def take(row: Row) -> dict[str, Any] | str:
        point = _point(site, row, row.get("familiarity", ""), row.get("auditor") or auditor)
        if isinstance(point, str):
            return point
        if math.isnan(point["lat"]):
            km = _number(row.get("dist_km", ""))
            if km is None or km < 0:
                return f"dist_km is {row.get('dist_km', '')!r}, not a distance in km"
            point["ref_km"] = km
        point["name_local"] = row.get("name_local") or row.get("label_raw") or point["name_en"]
        return point

    return take


def _plain(home: Mapping[str, HintSite], seen: set[str]) -> Callable[[Row], dict[str, Any] | str | None]:
    def take(row: Row) -> dict[str, Any] | str | None:
        site = row.get("site", "")
        if not site:
            return "the site is missing"
        seen.add(site)
        if site not in home:
            return None
        point = _point(home[site], row, row.get("referenceability", ""), row.get("auditor") or OWN)
        if isinstance(point, dict) and math.isnan(point["lat"]):
            return "lat and lon are missing"
        return point

    return take


def _point(site: HintSite, row: Row, value: str, auditor: str) -> dict[str, Any] | str:
    from signpost_kit.geo import haversine_km

    name = " ".join(row.get("name_en", "").split())
    if not name:
        return "name_en is missing"
    known = _number(value)
    if known is None or not 0 <= known <= 5:
        return f"the referenceability of {name!r} is {value!r}; allowed: 0 to 5"
    lat_text, lon_text = row.get("lat", ""), row.get("lon", "")
    lat, lon = (math.nan if (found := _number(text)) is None else found for text in (lat_text, lon_text))
    if (lat_text or lon_text) and not (abs(lat) <= 90 and abs(lon) <= 180):
        return f"the position of {name!r} is {lat_text!r}, {lon_text!r}; degrees are needed"
    qid = row.get("qid", "")
    if qid and not _QID.fullmatch(qid):
        return f"the qid of {name!r} is {qid!r}; allowed: Q and a number, or nothing"
    # Points of one's own get an id of the same form, which no entity of Wikidata has: hints are known by it.
    own = f"Q9{int(hash_bytes(f'{site.site}|{name}|{lat_text}|{lon_text}'.encode())[:10], 16) % 10**10:010d}"
    return {
        "site": site.site,
        "city": site.city,
        "country": site.country,
        "auditor": auditor,
        "qid": qid or own,
        "name_en": name,
        "name_local": row.get("name_local") or name,
        "lat": lat,
        "lon": lon,
        "ref_km": round(float(haversine_km(site.lat, site.lon, lat, lon)), 3),
        "referenceability": known,
    }


def _number(text: str) -> float | None:
    """A finite number; also with a comma, as spreadsheet programs of many countries write it."""
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
