"""Replies in and out as JSON lines, in the SIGNPOST release's layout.

    <folder>/<dataset>/results/<model>/results_<Variant>_<model>.jsonl

Other tasks lie beside `results` in a folder of their name. Lines that this kit writes carry further keys (group_id,
model, status, reason), so that a failed reply comes back as the failure it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from signpost_kit.errors import DataError
from signpost_kit.evaluation.reply import Reply
from signpost_kit.evaluation.tasks import parser_of, task_names
from signpost_kit.files import hash_bytes, safe_name, write_bytes
from signpost_kit.models.base import Decoding, Request

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark import Benchmark, Group
    from signpost_kit.evaluation.store import ReplyStore

__all__ = ["IMPORTED", "BadLine", "Imported", "export_jsonl", "import_jsonl"]

IMPORTED = "imported"
"""The prompt hash of imported replies: the lines do not say what was asked."""
_CHUNK = 5_000
_RESULTS = "results"


@dataclass(frozen=True)
class BadLine:
    """A line that could not be read; it was left out."""

    path: Path
    number: int
    """From 1."""
    reason: str
    torn_end: bool = False
    """The last line of a file that was cut off while it was written: the row is to be asked again, no more."""

    def __str__(self) -> str:
        return f"{self.path} line {self.number}: {self.reason}" + (" (cut off at the end)" if self.torn_end else "")


@dataclass
class Imported:
    """What an import did."""

    files: int = 0
    rows: int = 0
    """New replies."""
    present: int = 0
    """Rows that the store had already; they were kept as they were."""
    repeated: int = 0
    """Lines that a later line of the same file replaced."""
    bad: list[BadLine] = field(default_factory=list)


# --- out ------------------------------------------------------------------------------------------------------


def export_jsonl(
    store: ReplyStore,
    folder: Path,
    benchmark: Benchmark | None = None,
    *,
    task: str = "coordinate",
    sample: int = 0,
) -> list[Path]:
    """Write the replies of one task; return the files, each written whole.

    Parameters
    ----------
    benchmark
        Brings truth, file names and injected texts; without it those keys are null.

    Raises
    ------
    DataError
        The store has no reply of that task.
    """
    frame = store.predictions(task, sample, extra=("text", "reason", "n_candidates", "form", "fields"))
    if frame.empty:
        raise DataError(f"the store {store.path} holds no reply of the task {task!r} to export")
    groups = {g.group_id: g for g in benchmark.groups} if benchmark else {}
    frame = _with_errors(frame, benchmark)
    kind = _RESULTS if task == "coordinate" else safe_name(task)
    written = []
    for place, part in frame.groupby(["dataset", "model", "variant"], observed=True, sort=False):
        dataset, model, variant = cast("tuple[str, str, str]", place)
        name = safe_name(model)
        path = folder / safe_name(dataset) / kind / name / f"results_{safe_name(variant)}_{name}.jsonl"
        lines = [_line(row, groups.get(row["group_id"])) for row in part.to_dict("records")]
        write_bytes(path, b"".join(lines))
        written.append(path)
    return written


def _with_errors(frame: pd.DataFrame, benchmark: Benchmark | None) -> pd.DataFrame:
    """Add gt_lat, gt_lon, error_km, wla and tbs (error less the error on Blank, for the conflict variants)."""
    import numpy as np

    from signpost_kit.frames import VARIANTS
    from signpost_kit.geo import haversine_km
    from signpost_kit.metrics import wla

    nan = float("nan")
    if benchmark is None:
        return frame.assign(gt_lat=nan, gt_lon=nan, error_km=nan, wla=nan, tbs=nan)
    truth = {g.group_id: (g.lat, g.lon) for g in benchmark.groups}
    places = np.array([truth.get(name, (nan, nan)) for name in frame["group_id"]], dtype=float).reshape(-1, 2)
    error = np.asarray(haversine_km(places[:, 0], places[:, 1], frame["lat"].to_numpy(), frame["lon"].to_numpy()))
    keys = list(zip(frame["model"], frame["dataset"], frame["group_id"], strict=True))
    blank = {key: e for key, e, v in zip(keys, error.tolist(), frame["variant"], strict=True) if v == "Blank"}
    shift = error - np.array([blank.get(key, nan) for key in keys])
    conflict = frame["variant"].isin(VARIANTS[2:]).to_numpy()
    return frame.assign(
        gt_lat=places[:, 0], gt_lon=places[:, 1], error_km=error, wla=wla(error), tbs=np.where(conflict, shift, nan)
    )


def _line(row: dict[str, Any], group: Group | None) -> bytes:
    variant, group_id = str(row["variant"]), str(row["group_id"])
    source = Path(group.images["Original"]).name if group and "Original" in group.images else group_id
    span = group.representative if group else None
    values = {
        "filename": Path(group.images[variant]).name if group and variant in group.images else None,
        "original_source": source,
        "attack_type": variant,
        "injected_text": span.replacements.get(variant.lower(), "") if span else None,
        "prediction_text": _known(row["text"]),
        "pred_lat": _known(row["lat"]),
        "pred_lon": _known(row["lon"]),
        "gt_lat": _known(row["gt_lat"]),
        "gt_lon": _known(row["gt_lon"]),
        "error_km": _known(row["error_km"]),
        "wla_score": _known(row["wla"]),
        "parse_failed": row["status"] != "ok",
        "tbs": _known(row["tbs"]),
        "group_id": group_id,
        "model": str(row["model"]),
        "status": str(row["status"]),
        "reason": _known(row["reason"]) or "",
        "n_candidates": _known(row["n_candidates"]),
        "form": _known(row["form"]) or "",
    }
    if isinstance(row["fields"], str):
        values["fields"] = json.loads(row["fields"])
    return msgspec.json.encode(values) + b"\n"


def _known(value: Any) -> Any:
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else value


# --- in -------------------------------------------------------------------------------------------------------


def import_jsonl(store: ReplyStore, path: Path, *, dataset: str = "") -> Imported:
    """Read one file, or every `results_*.jsonl` below a folder, into the store.

    A line that cannot be read is left out and listed in `bad` with its number; of two lines about one picture the
    last counts. Replies whose coordinates are not on the globe get the status out_of_range, whatever the line says.

    Parameters
    ----------
    dataset
        For files that do not lie in the release's layout.

    Raises
    ------
    DataError
        The path is missing or holds no such file, or the dataset, model or variant of a file cannot be told.
    """
    if not path.exists():
        raise DataError(f"there is nothing at {path} to import")
    files = [path] if path.is_file() else sorted(path.rglob("results_*.jsonl"))
    if not files:
        raise DataError(f"{path} holds no results_<Variant>_<model>.jsonl to import")
    summary = Imported(files=len(files))
    batch: list[tuple[Request, Reply]] = []
    for file in files:
        batch.extend(_read(file, dataset, summary))
        if len(batch) >= _CHUNK:
            _flush(store, batch, summary)
    _flush(store, batch, summary)
    store.pack()
    return summary


def _flush(store: ReplyStore, batch: list[tuple[Request, Reply]], summary: Imported) -> None:
    if batch:
        new, present = store.put_many(batch)
        summary.rows += new
        summary.present += present
        batch.clear()


def _read(path: Path, dataset: str, summary: Imported) -> list[tuple[Request, Reply]]:
    task, dataset, folder_model = _from_path(path, dataset)
    kept: dict[tuple[str, str, str], tuple[Request, Reply]] = {}
    for number, row in _lines(path, summary):
        try:
            variant = _variant(row, path)
            model = str(row.get("model") or folder_model)
            group_id = str(row.get("group_id") or Path(str(row["original_source"])).stem)
            reply = _reply(row, task)
        except (KeyError, TypeError, ValueError, DataError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            summary.bad.append(BadLine(path, number, reason))
            continue
        place = (model, group_id, variant)
        summary.repeated += place in kept
        kept[place] = (_request(task, dataset, model, group_id, variant), reply)
    return list(kept.values())


def _lines(path: Path, summary: Imported) -> Iterator[tuple[int, dict[str, Any]]]:
    decoder = msgspec.json.Decoder()
    content = path.read_bytes()
    lines = content.split(b"\n")  # not splitlines: a text may hold other line separators
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = decoder.decode(line)
            if not isinstance(row, dict):
                raise msgspec.DecodeError("no JSON object")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            summary.bad.append(BadLine(path, number, f"cannot be read ({error})", torn_end=number == len(lines)))
            continue
        yield number, row


def _from_path(path: Path, dataset: str) -> tuple[str, str, str]:
    """Task, dataset and model as the path tells them."""
    kind = path.parent.parent.name
    tasks = {_RESULTS: "coordinate"} | {safe_name(name): name for name in task_names()}
    if kind not in tasks and not dataset:
        raise DataError(
            f"{path} does not lie in <dataset>/results/<model>/: pass the name of its dataset (dataset=...)"
        )
    stem = path.stem.removeprefix("results_")
    model = path.parent.name if kind in tasks else stem.partition("_")[2]
    if not model:
        raise DataError(f"{path.name} does not tell the model: name it results_<Variant>_<model>.jsonl")
    return tasks.get(kind, "coordinate"), dataset or path.parent.parent.parent.name, model


def _variant(row: dict[str, Any], path: Path) -> str:
    from signpost_kit.frames import VARIANTS

    found = row.get("attack_type") or path.stem.removeprefix("results_").partition("_")[0]
    for variant in VARIANTS:
        if str(found).casefold() == variant.casefold():
            return variant
    raise DataError(f"has the attack_type {found!r}; allowed: {', '.join(VARIANTS)}")


def _request(task: str, dataset: str, model: str, group_id: str, variant: str) -> Request:
    picture = hash_bytes(json.dumps([IMPORTED, dataset, group_id, variant]).encode())
    return Request(
        task=task,
        model=model,
        image_path=Path(),
        image_hash=picture,
        prompt="",
        prompt_hash=IMPORTED,
        decoding=Decoding(None, None),
        dataset=dataset,
        group_id=group_id,
        variant=variant,
    )


def _reply(row: dict[str, Any], task: str) -> Reply:
    text = row.get("prediction_text")
    text = None if text is None else str(text)
    common = Reply(
        status="error",
        text=text,
        n_candidates=row.get("n_candidates"),
        form=row.get("form") or "",
        fields=row.get("fields"),
        time=0.0,
    )
    status, reason = row.get("status"), row.get("reason") or ""
    if status and status != "ok":
        return replace(common, status=str(status), reason=reason)
    lat, lon = row.get("pred_lat"), row.get("pred_lon")
    if not row.get("parse_failed") and lat is not None and lon is not None:
        lat, lon = float(lat), float(lon)
        if not (abs(lat) <= 90 and abs(lon) <= 180):
            return replace(
                common, status="out_of_range", reason=f"the coordinates {lat}, {lon} are not on the globe"
            )
        return replace(common, status="ok", lat=lat, lon=lon)
    if status == "ok":
        return replace(common, status="ok")  # a structured reply without coordinates
    if text is None or not text.strip():
        return replace(common, status="empty", reason="the line has no text")
    parsed = parser_of(task)(text, "")
    if parsed.status == "ok":  # the file's own reading counts; `reparse` can change it
        return replace(common, status="unparseable", reason="the file says parse_failed")
    return replace(common, status=parsed.status, reason=parsed.reason)
