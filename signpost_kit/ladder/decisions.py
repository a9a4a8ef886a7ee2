"""What auditors decided about reference points, kept in a file that only grows.

Two kinds of lines. A reply: {"reply": key, "auditor", "prompt", "raw", "status", "cost_usd", "time"}. A decision:
{"decision": "point" or "contentious", "qid", "label", "auditor", "prompt", "reply": key, ...}. A release's
audit_decisions.jsonl (qid, label, model, ok, familiarity, name_en, why) is read as decisions of the first kind.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signpost_kit.errors import DataError
from signpost_kit.files import storage_error
from signpost_kit.parsing.judgements import yes_no

__all__ = ["CONTENTIOUS", "POINT", "Decision", "DecisionLog", "read_decisions"]

POINT, CONTENTIOUS = "point", "contentious"
"""The two passes: whether and how often a name is used to say where one is; whether it may be shown at all."""


@dataclass(frozen=True)
class Decision:
    """What an auditor said of one name."""

    qid: str
    label: str
    """As it was shown to the auditor."""
    auditor: str
    kind: str = POINT
    usable: bool | None = None
    referenceability: float | None = None
    """0..5; None when the name is not usable."""
    name_en: str = ""
    contentious: bool | None = None
    why: str = ""
    prompt: str = ""
    """Hash of the template; empty for a release's decisions, which do not tell."""


class DecisionLog:
    """A file of decisions: read once, then only appended to; every line is on the disk when `append` returns.

    A last line that a kill cut off counts for nothing and gives way to the next one.

    Raises
    ------
    DataError
        A line that is not the last one is damaged; its number is named.
    StorageError
        The file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sound: int | None = None  # bytes before a torn last line
        self._replies: set[str] = set()
        self._decisions: dict[tuple[str, str, str], dict[str, Decision]] = {}
        for row in self._lines():
            self._take(row)

    def decided(self, kind: str, auditor: str, prompt: str) -> dict[str, Decision]:
        """What this auditor said to this wording, by qid."""
        return dict(self._decisions.get((kind, auditor, prompt), {}))

    def knows(self, reply: str) -> bool:
        """Whether a reply of that key stands in the file."""
        return reply in self._replies

    def append(self, reply: Mapping[str, Any], decisions: Iterable[Decision]) -> None:
        """Add a reply and what was read from it; a reply that is there already is not written twice.

        Parameters
        ----------
        reply
            key, auditor, prompt, status, raw, cost_usd.
        """
        rows: list[dict[str, Any]] = []
        if not self.knows(reply["key"]):
            rest = {name: value for name, value in reply.items() if name != "key"}
            rows.append({"reply": reply["key"], **rest, "time": round(time.time(), 3)})
        for decision in decisions:
            place = (decision.kind, decision.auditor, decision.prompt)
            if decision.qid not in self._decisions.get(place, {}):
                rows.append(_row(decision, reply["key"]))
        if not rows:
            return
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as handle:
                if self._sound is not None:
                    handle.truncate(self._sound)
                handle.write(text.encode("utf-8", "backslashreplace"))
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            raise storage_error(error, self.path) from error
        self._sound = None
        for row in rows:
            self._take(row)

    def _take(self, row: dict[str, Any]) -> None:
        if "decision" in row:
            decision = _decision(row)
            if decision is not None:
                place = (decision.kind, decision.auditor, decision.prompt)
                self._decisions.setdefault(place, {}).setdefault(decision.qid, decision)
        elif "reply" in row:
            self._replies.add(str(row["reply"]))

    def _lines(self) -> list[dict[str, Any]]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DataError(f"cannot read {self.path}: {error.strerror or error}") from error
        rows: list[dict[str, Any]] = []
        lines = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            row = _object(line)
            if row is not None:
                rows.append(row)
            elif line.strip() and number < len(lines):
                raise DataError(f"{self.path}: line {number} is damaged; put back a copy, or delete that line")
        if lines[-1]:  # every line of ours ends with a line break
            self._sound = len(data) - len(lines[-1])
            if _object(lines[-1]) is not None:
                rows.pop()
        return rows


def read_decisions(path: Path) -> list[Decision]:
    """The decisions about reference points in a file of ours or in a release's, each qid once.

    Of several decisions about one name the last one counts, as in the release, which was appended to as well.

    Raises
    ------
    DataError
        The file is missing, a line is damaged (its number is named), or there is no decision in it.
    """
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise DataError(f"cannot read the decisions {path}: {error.strerror or error}") from error
    found: dict[str, Decision] = {}
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _object(line)
        if row is None and number == len(lines):
            continue
        if row is None:
            raise DataError(f"{path}: line {number} is no JSON object; put back a copy")
        decision = _decision(row) if "reply" not in row or "decision" in row else None
        if decision is not None and decision.kind == POINT:
            found[decision.qid] = decision
    if not found:
        raise DataError(f"{path} holds no decision about a reference point (lines with qid, ok or usable, ...)")
    return list(found.values())


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _decision(row: Mapping[str, Any]) -> Decision | None:
    """A line as a decision; None where it is none."""
    qid = str(row.get("qid") or "")
    kind = str(row.get("decision") or POINT)
    usable = yes_no(row.get("usable", row.get("ok")))
    contentious = yes_no(row.get("contentious"))
    if not qid or kind not in (POINT, CONTENTIOUS) or (usable is None and contentious is None):
        return None
    value = row.get("referenceability", row.get("familiarity"))
    number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    return Decision(
        qid=qid,
        label=str(row.get("label") or ""),
        auditor=str(row.get("auditor") or row.get("model") or ""),
        kind=kind,
        usable=usable,
        referenceability=number if number is not None and 0 <= number <= 5 else None,
        name_en=str(row.get("name_en") or ""),
        contentious=contentious,
        why=str(row.get("why") or ""),
        prompt=str(row.get("prompt") or ""),
    )


def _row(decision: Decision, key: str) -> dict[str, Any]:
    row: dict[str, Any] = {"decision": decision.kind, "qid": decision.qid, "label": decision.label}
    row |= {"auditor": decision.auditor, "prompt": decision.prompt, "reply": key}
    if decision.kind == POINT:
        row |= {"usable": decision.usable, "referenceability": decision.referenceability}
        row["name_en"] = decision.name_en
    else:
        row["contentious"] = decision.contentious
    return {**row, "why": decision.why}
