"""Filled sheets: read strictly, gathered, and kept in the run's folder `audits`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.audits.agreement import SCALES
from signpost_kit.audits.cells import read_sheet, write_sheet
from signpost_kit.audits.sheets import EDITS, IMAGES, KEY_COLUMNS, QUESTIONS, TIERS_AUDIT
from signpost_kit.errors import DataError
from signpost_kit.frames import TIERS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Audits", "annotations_frame", "filled_audits", "read_sheets", "save_answers"]

ANNOTATIONS, RATINGS = "taxonomy_annotations.csv", "edit_ratings.csv"
IMAGE_VERDICTS = "image_verdicts.csv"
_VERDICT_COLUMNS = ("site", "image", "annotator", "verdict", "reason")
_ANNOTATION_COLUMNS = ("dataset", "group_id", "annotator1_tier", "annotator2_tier", "tier_auto")
_RATING_COLUMNS = ("dataset", "group_id", "variant", "annotator", *SCALES, "readability")
_MOST_FAULTS = 12  # named in one message
_FOLDERS = ("audits", "release")

Answer = dict[str, str]


@dataclass(frozen=True)
class Audits:
    """What people said about a run's benchmark; None where there is nothing yet."""

    tiers: pd.DataFrame | None = None
    """One row per picture: annotator1_tier, annotator2_tier, tier_auto."""
    edits: pd.DataFrame | None = None
    """One row per rating: naturalness, artefacts, context_damage, readability."""
    tiers_from: str = ""
    """The file that `tiers` were read from, relative to the run's folder."""


def read_sheets(files: Iterable[Path | str], keys: Iterable[Path], *, partial: bool = False) -> list[Answer]:
    """The answers of filled sheets, each with what the key says of its item.

    Parameters
    ----------
    files
        Sheets as annotators return them, of either audit, in any order.
    keys
        `key.csv` of the sheets that were handed out.
    partial
        Allow items without an answer; they come back empty.

    Raises
    ------
    DataError
        Naming the sheet and the rows: an unknown item, an item that stands twice, a value that is not allowed, an
        item without an answer, a missing column.
    """
    known: dict[str, Answer] = {}
    for path in keys:
        known |= {row["item"]: row for _, row in read_sheet(path) if set(KEY_COLUMNS) <= set(row)}
    if not known:
        raise DataError("no sheets were made for this run: signpost audit sheets PROFILE first")
    answers: list[Answer] = []
    seen: dict[str, str] = {}
    for file in files:
        answers += _read_one(Path(file), known, seen, partial)
    return answers


def _read_one(path: Path, known: dict[str, Answer], seen: dict[str, str], partial: bool) -> list[Answer]:
    rows = read_sheet(path)
    if not rows or "item" not in rows[0][1]:
        raise DataError(f"the sheet {path} has no column 'item', or no rows")
    faults: list[str] = []
    answers: list[Answer] = []
    for line, row in rows:
        where, item = f"row {line}", row.get("item", "")
        if item not in known:
            faults.append(f"{where}: unknown item {item!r}")
            continue
        if item in seen:
            faults.append(f"{where}: the item {item} stands already in {seen[item]}")
            continue
        seen[item] = f"{path.name} {where}"
        given, wrong = _given(row, known[item]["audit"])
        faults += [f"{where} ({item}): {fault}" for fault in wrong]
        empty = [name for name, value in given.items() if not value]
        if empty and not partial and not wrong:
            faults.append(f"{where} ({item}): {', '.join(empty)} missing")
        answers.append({**known[item], **given, "remark": row.get("remark", "")})
    sheets = {(known[answer["item"]]["audit"], known[answer["item"]]["annotator"]) for answer in answers}
    absent = [i for i, row in known.items() if (row["audit"], row["annotator"]) in sheets and i not in seen]
    if absent and not partial:
        faults.append(
            f"items without a row: {', '.join(absent[:_MOST_FAULTS])}{' …' * (len(absent) > _MOST_FAULTS)}"
        )
    if faults:
        more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        hint = " (--partial takes a sheet that is not finished)" if any("missing" in f for f in faults) else ""
        raise DataError(f"the sheet {path.name} cannot be used: {'; '.join(faults[:_MOST_FAULTS])}{more}{hint}")
    return answers


def _given(row: Answer, audit: str) -> tuple[Answer, list[str]]:
    """The answers of a row in their normal form, and what is wrong with it."""
    given: Answer = {}
    wrong: list[str] = []
    for question in QUESTIONS[audit]:
        if question.name not in row:
            wrong.append(f"the column {question.name!r} is gone")
            continue
        text = row[question.name].strip()
        value = _FORMS[question.name](text)
        given[question.name] = value
        if text and value not in question.choices:
            wrong.append(f"{question.name} is {text!r}; allowed: {', '.join(question.choices)}")
    return given, wrong


def _tier(text: str) -> str:
    return f"T{text}" if text in {name[1] for name in TIERS} else text.upper()


def _number(text: str) -> str:
    """Spreadsheet programs may make 4 into 4.0 or 4,0."""
    whole, _, rest = text.replace(",", ".").partition(".")
    return whole if not rest.strip("0") else text


_FORMS: dict[str, Callable[[str], str]] = {
    "tier": _tier,
    **dict.fromkeys(SCALES, _number),
    "readability": str.casefold,
    "verdict": str.casefold,
}


def save_answers(answers: Sequence[Answer], folder: Path) -> list[Path]:
    """Keep answers as taxonomy_annotations.csv (the release's columns first), edit_ratings.csv and
    image_verdicts.csv in `folder`; those of audits that the answers are not about stay as they are.
    """
    written = []
    tiers: dict[tuple[str, str], Answer] = {}
    for answer in answers:
        if answer["audit"] == TIERS_AUDIT:
            row = tiers.setdefault((answer["dataset"], answer["group_id"]), dict(answer))
            row[f"annotator{answer['annotator']}_tier"] = answer["tier"]
    if tiers:
        written.append(folder / ANNOTATIONS)
        write_sheet(written[-1], _ANNOTATION_COLUMNS, [tiers[place] for place in sorted(tiers)])
    ratings = [answer for answer in answers if answer["audit"] == EDITS]
    if ratings:
        written.append(folder / RATINGS)
        ratings.sort(key=lambda row: (row["dataset"], row["group_id"], row["variant"], row["annotator"]))
        write_sheet(written[-1], _RATING_COLUMNS, ratings)
    verdicts = [
        {**answer, "site": answer["dataset"], "image": answer["group_id"], "reason": answer["remark"]}
        for answer in answers
        if answer["audit"] == IMAGES and answer["verdict"]
    ]
    if verdicts:
        written.append(folder / IMAGE_VERDICTS)
        verdicts.sort(key=lambda row: (row["site"], row["image"], row["annotator"]))
        write_sheet(written[-1], _VERDICT_COLUMNS, verdicts)
    return written


def filled_audits(run_dir: Path) -> Audits:
    """What is kept in a run's folder: sheets that were read, else the human tiers that came with a release.

    Raises
    ------
    DataError
        A file is damaged or lacks a column.
    """
    tiers, origin = None, ""
    for name in _FOLDERS:
        found = sorted((run_dir / name).glob(f"**/{ANNOTATIONS}"))
        if found:
            tiers, origin = annotations_frame(found), found[0].relative_to(run_dir).as_posix()
            break
    path = run_dir / "audits" / RATINGS
    edits = _frame(path, (*SCALES, "readability")) if path.is_file() else None
    return Audits(tiers, edits, origin)


def annotations_frame(paths: Iterable[Path]) -> pd.DataFrame:
    """Tiers by two annotators and by rule, from files of the release's form (annotator1_tier, ..., tier_auto).

    Raises
    ------
    DataError
        A file lacks a column.
    """
    import pandas as pd

    frames = [_frame(path, ("annotator1_tier", "annotator2_tier", "tier_auto")) for path in paths]
    return pd.concat(frames, ignore_index=True)


def _frame(path: Path, needed: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    rows = [row for _, row in read_sheet(path)]
    frame = pd.DataFrame(rows)
    if missing := [name for name in needed if name not in frame.columns]:
        raise DataError(f"{path} lacks the column(s) {', '.join(missing)}")
    return frame.fillna("")
