"""What a stage did, as tables: from its record, or one clear line when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from signpost_kit.errors import DataError
from signpost_kit.run import open_run
from signpost_kit.stages import show


def test_counts_and_reasons_come_from_the_record(tmp_path: Path) -> None:
    run = open_run("tiny", str(tmp_path / "run"))
    run.record("sources", counts={"groups": 3}, rejected=[{"item": "a.jpg", "reason": "no position"}], seconds=1.26)
    assert show.counts(run, "sources")["count"].to_dict() == {"groups": 3, "seconds": 1.3}
    assert show.rejected(run, "sources").to_dict("records") == [{"item": "a.jpg", "reason": "no position"}]


def test_a_missing_or_damaged_record_is_one_clear_line(tmp_path: Path) -> None:
    run = open_run("tiny", str(tmp_path / "run"))
    with pytest.raises(DataError, match="no sound record of the stage 'sources'"):
        show.counts(run, "sources")
    (tmp_path / "run" / "stages").mkdir(parents=True)
    (tmp_path / "run" / "stages" / "sources.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="no sound record"):
        show.rejected(run, "sources")
