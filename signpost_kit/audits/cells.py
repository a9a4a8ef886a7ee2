"""Cells of a sheet that people open in a spreadsheet program: no text from a picture may run there as a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from signpost_kit.errors import DataError
from signpost_kit.files import write_bytes

__all__ = ["neutral", "plain", "read_sheet", "write_sheet"]

_BOM = "\ufeff"
_FORMULA = re.compile("[\\s\\ufeff']*[=+\\-@|%＝＋－＠]")
"""What a spreadsheet program may take for the beginning of a formula, in either width."""
_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")
_DELIMITERS = (",", ";", "\t")


def neutral(text: str) -> str:
    """The text as a cell that no program runs: an apostrophe before what looks like a formula, no line breaks."""
    clean = _CONTROL.sub(" ", text)
    return f"'{clean}" if _FORMULA.match(clean) else clean


def plain(cell: str) -> str:
    """The text of a cell that :func:`neutral` made."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell


def write_sheet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    """CSV as spreadsheet programs expect it (UTF-8 with a mark, CRLF), every cell neutral; whole or not at all."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([neutral(str(row.get(column, ""))) for column in columns] for row in rows)
    write_bytes(path, (_BOM + out.getvalue()).encode("utf-8"))


def read_sheet(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Rows of a sheet as any spreadsheet program saves it, each with its line number (the header is line 1).

    Commas, semicolons or tabs; UTF-8, UTF-16 or the Western code page. Empty rows are left out; names of columns
    lose case and blanks.

    Raises
    ------
    DataError
        The file cannot be read or has no header.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the sheet {path}: {error.strerror or error}") from error
    text = _decoded(data, path)
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        header = [name.strip().casefold().replace(" ", "_") for name in next(reader, [])]
        if not any(header):
            raise DataError(f"the sheet {path} is empty")
        rows = []
        for cells in reader:
            if any(cell.strip() for cell in cells):
                values = [plain(cell.strip()) for cell in cells]
                rows.append((reader.line_num, dict(zip(header, values, strict=False))))
    except csv.Error as error:
        raise DataError(f"the sheet {path} is damaged ({error}): save it as CSV again") from error
    return rows


def _decoded(data: bytes, path: Path) -> str:
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise DataError(f"{path} is a workbook, not CSV: save it as CSV (UTF-8) from the spreadsheet program")
    encodings = ("utf-16",) if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8-sig", "cp1252")
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise DataError(f"the sheet {path} is in an unknown encoding: save it as CSV (UTF-8)")
