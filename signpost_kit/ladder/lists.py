"""Lists that a user brings: OpenStreetMap's place nodes, and positions of street-level pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.audits.cells import read_sheet
from signpost_kit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_picture_list", "read_place_nodes"]

_TRUE = frozenset({"true", "1", "yes", "1.0", "t"})
_NO_POSITION = "row {row}: the position is {lat!r}, {lon!r}; degrees are needed"
_MOST_FAULTS = 5


def read_place_nodes(path: Path) -> pd.DataFrame:
    """Place nodes from Overpass's JSON ({"elements": [{"type": "node", "lat", "lon", "tags"}]}) or a CSV.

    A CSV has lat, lon, place and perhaps name, name_en, id (Overpass's own CSV calls them @lat, @lon, @id and
    divides by tabs). Ways and relations are left out: the scale is defined on point nodes.

    Returns
    -------
    id, lat, lon (degrees), place, name, name_en; nodes with the same id once.

    Raises
    ------
    DataError
        It is neither, a column is missing, a position is none, or there is no node in it.
    """
    import pandas as pd

    rows = _overpass(path) if path.suffix.lower() == ".json" else _node_sheet(path)
    frame = pd.DataFrame(rows, columns=["id", "lat", "lon", "place", "name", "name_en"])
    if frame.empty:
        raise DataError(f"{path} has no node with a place=* tag")
    named = frame["id"] != ""
    return pd.concat([frame.loc[named].drop_duplicates("id"), frame.loc[~named]], ignore_index=True)


def _overpass(path: Path) -> list[tuple[Any, ...]]:
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is no sound JSON ({error}); fetch it again") from error
    elements = data.get("elements") if isinstance(data, Mapping) else None
    if not isinstance(elements, list):
        raise DataError(f"{path} is not what Overpass answers: it has no list 'elements'")
    rows = []
    for number, node in enumerate(elements, 1):
        tags = node.get("tags") if isinstance(node, Mapping) else None
        if not isinstance(tags, Mapping) or node.get("type") != "node" or not tags.get("place"):
            continue
        lat: Any = node.get("lat")
        lon: Any = node.get("lon")
        if not _is_position(lat, lon):
            raise DataError(f"{path}: {_NO_POSITION.format(row=number, lat=lat, lon=lon)}")
        name, english = str(tags.get("name", "")), str(tags.get("name:en", ""))
        rows.append((str(node.get("id", "")), float(lat), float(lon), str(tags["place"]), name, english))
    return rows


def _node_sheet(path: Path) -> list[tuple[Any, ...]]:
    rows = []
    faults: list[str] = []
    for line, row in _sheet(path, ("lat", "lon", "place")):
        lat, lon = _degrees(row["lat"]), _degrees(row["lon"])
        if not row["place"]:
            continue
        if not _is_position(lat, lon):
            faults.append(_NO_POSITION.format(row=line, lat=row["lat"], lon=row["lon"]))
            continue
        name, english = row.get("name", ""), row.get("name_en") or row.get("name:en", "")
        rows.append((row.get("id", ""), lat, lon, row["place"], name, english))
    _raise(path, faults)
    return rows


def read_picture_list(path: Path) -> pd.DataFrame:
    """Street-level pictures from a CSV: id (or image, image_id), lat, lon, and is_pano or camera_type if known.

    Returns
    -------
    id, lat, lon (degrees), perspective (False for panoramas and fisheye; True where nothing is said), site (""
    where the list has none).

    Raises
    ------
    DataError
        A column is missing, an id stands twice with different positions, or a position is none; rows are named.
    """
    import pandas as pd

    rows: dict[str, tuple[Any, ...]] = {}
    faults: list[str] = []
    for line, row in _sheet(path, ("id", "lat", "lon")):
        ident, lat, lon = row["id"], _degrees(row["lat"]), _degrees(row["lon"])
        if not ident:
            faults.append(f"row {line}: the id is missing")
        elif not _is_position(lat, lon):
            faults.append(_NO_POSITION.format(row=line, lat=row["lat"], lon=row["lon"]))
        elif ident in rows and rows[ident][1:3] != (lat, lon):
            faults.append(f"row {line}: {ident} stands twice, at different positions")
        else:
            flat = row.get("is_pano", "").casefold() not in _TRUE
            camera = (row.get("camera_type") or "perspective").casefold()
            told = row.get("perspective", "").casefold()
            perspective = told in _TRUE if told else flat and camera in ("perspective", "brown")
            rows[ident] = (ident, lat, lon, perspective, row.get("site", ""))
    _raise(path, faults)
    if not rows:
        raise DataError(f"{path} has no picture in it")
    return pd.DataFrame(list(rows.values()), columns=["id", "lat", "lon", "perspective", "site"])


def _sheet(path: Path, needed: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    """Rows with the names of columns made equal; a missing column is an error."""
    same = {
        "image": "id",
        "image_id": "id",
        "latitude": "lat",
        "longitude": "lon",
        "lng": "lon",
        "place_type": "place",
    }
    rows = []
    for line, row in read_sheet(path):
        plain = {name.lstrip("@"): value for name, value in row.items()}
        rows.append(
            (line, {**plain, **{same[n]: v for n, v in plain.items() if n in same and same[n] not in plain}})
        )
    if rows:
        absent = [name for name in needed if name not in rows[0][1]]
        if absent:
            have = ", ".join(sorted(rows[0][1]))
            raise DataError(f"{path} lacks the column(s) {', '.join(absent)}; it has: {have}")
    return [(line, {**dict.fromkeys(needed, ""), **row}) for line, row in rows]


def _degrees(text: str) -> float:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return math.nan


def _is_position(lat: Any, lon: Any) -> bool:
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in (lat, lon))
    return numbers and abs(lat) <= 90 and abs(lon) <= 180


def _raise(path: Path, faults: list[str]) -> None:
    if faults:
        more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        raise DataError(f"{path}: {'; '.join(faults[:_MOST_FAULTS])}{more}")
