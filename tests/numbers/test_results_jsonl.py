"""Reading the release's results: torn lines, NaN, duplicates, odd names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from signpost_kit.benchmark.results_jsonl import group_id_of, read_results
from signpost_kit.errors import DataError
from signpost_kit.frames import check_frame


def line(source: str, lat: float | None, lon: float | None, failed: bool = False) -> str:
    return json.dumps(
        {"filename": "x.png", "original_source": source, "pred_lat": lat, "pred_lon": lon, "parse_failed": failed}
    )


def put(root: Path, text: str, variant: str = "Blank", model: str = "m", dataset: str = "D") -> Path:
    path = root / dataset / "results" / model / f"results_{variant}_{model}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_reads_values_statuses_and_ids(tmp_path: Path):
    put(
        tmp_path,
        "\n".join([line("a.jpg", 1.5, 2.5), line("b@1.x.JPG", None, None, True), line("c", 95.0, 2.0)]) + "\n",
    )
    put(tmp_path, line("a.jpg", 3.0, 4.0), variant="Adversarial", dataset="E")
    results = read_results(tmp_path)
    frame = check_frame(results.predictions, "predictions")
    rows = [tuple(row) for row in frame.astype(object).replace({np.nan: None}).itertuples(index=False)]
    assert rows == [
        ("m", "D", "a", "Blank", 1.5, 2.5, "ok"),
        ("m", "D", "b@1.x", "Blank", None, None, "unparseable"),
        ("m", "D", "c", "Blank", None, None, "out_of_range"),
        ("m", "E", "a", "Adversarial", 3.0, 4.0, "ok"),
    ]
    assert results.problems == ()
    assert results.n_duplicates == 0


def test_torn_lines_are_named_and_cost_only_themselves(tmp_path: Path):
    good = line("a.jpg", 1.0, 2.0)
    path = put(tmp_path, "\n".join([good, good[:30], "", line("b.jpg", 3.0, 4.0), '{"original_source": "c.j']))
    results = read_results(tmp_path)
    assert results.predictions["group_id"].tolist() == ["a", "b"]
    assert [(p.path, p.line, p.is_last) for p in results.problems] == [(path, 2, False), (path, 5, True)]
    assert "line 5 (the last)" in str(results.problems[1])


def test_nan_written_by_others_is_a_missing_number(tmp_path: Path):
    put(tmp_path, '{"original_source": "a.jpg", "pred_lat": NaN, "pred_lon": NaN, "parse_failed": true}\n')
    results = read_results(tmp_path)
    assert results.predictions["status"].tolist() == ["unparseable"]
    assert not results.problems


def test_of_duplicate_lines_the_last_wins(tmp_path: Path):
    put(tmp_path, "\n".join([line("a.jpg", 1.0, 2.0), line("b.jpg", 3.0, 4.0), line("a.jpg", 5.0, 6.0)]))
    results = read_results(tmp_path)
    assert dict(zip(results.predictions["group_id"], results.predictions["lat"], strict=True)) == {
        "a": 5.0,
        "b": 3.0,
    }
    assert results.n_duplicates == 1


def test_wrong_places_are_named(tmp_path: Path):
    with pytest.raises(DataError, match="holds no results"):
        read_results(tmp_path / "nowhere")
    put(tmp_path, line("a", 1.0, 2.0), variant="Blurred")
    with pytest.raises(DataError, match="no variant 'Blurred'"):
        read_results(tmp_path)


def test_ids_keep_their_dots():
    assert group_id_of("folder/4417_a.b@N0.jpeg") == "4417_a.b@N0"
    assert group_id_of("4417.x") == "4417.x"
    assert group_id_of(".jpg") == ".jpg"
