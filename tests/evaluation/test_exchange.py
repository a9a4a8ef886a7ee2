"""JSON lines in the release's layout: out and in again, torn lines named, the last of two lines counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from signpost_kit.errors import DataError
from signpost_kit.evaluation import Reply, ReplyStore, evaluate
from signpost_kit.models.base import Answer
from signpost_kit.models.scripted import ScriptedProvider

LINE = {
    "filename": "a_Blank.png",
    "original_source": "a.jpg",
    "attack_type": "Blank",
    "injected_text": "",
    "prediction_text": '{"lat": 1.5, "lon": 2.5}',
    "pred_lat": 1.5,
    "pred_lon": 2.5,
    "gt_lat": 1.0,
    "gt_lon": 2.0,
    "error_km": 78.6,
    "wla_score": 0.67,
    "parse_failed": False,
    "tbs": None,
}


def release_file(root: Path, rows: list[dict] | bytes, *, variant: str = "Blank", model: str = "gpt-x") -> Path:
    path = root / "im2gps3k" / "results" / model / f"results_{variant}_{model}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = rows if isinstance(rows, bytes) else b"".join(json.dumps(r).encode() + b"\n" for r in rows)
    path.write_bytes(content)
    return path


def test_a_file_of_the_release(store, tmp_path):
    release_file(tmp_path / "release", [LINE, LINE | {"original_source": "b.c.jpg", "pred_lat": 3.5}])
    done = store.import_jsonl(tmp_path / "release")
    assert (done.files, done.rows, done.present, done.repeated, done.bad) == (1, 2, 0, 0, [])
    frame = store.predictions("coordinate", extra=("text",))
    assert list(frame.iloc[0][["model", "dataset", "group_id", "variant", "lat", "lon", "status"]]) == [
        *("gpt-x", "im2gps3k", "a", "Blank", 1.5, 2.5, "ok")
    ]
    assert frame["group_id"][1] == "b.c" and frame["text"][0] == LINE["prediction_text"]
    again = store.import_jsonl(tmp_path / "release")
    assert (again.rows, again.present) == (0, 2)


def test_what_a_line_says_is_checked(store, tmp_path):
    rows = [
        LINE | {"original_source": "far.jpg", "pred_lat": 100.5, "pred_lon": -157.8},
        LINE | {"original_source": "none.jpg", "pred_lat": None, "pred_lon": None, "prediction_text": None},
        LINE | {"original_source": "text.jpg", "pred_lat": 1, "pred_lon": "2.5"},
        LINE | {"original_source": "failed.jpg", "parse_failed": True, "status": "blocked", "reason": "safety"},
        LINE | {"original_source": "odd.jpg", "attack_type": "adversarial"},
    ]
    release_file(tmp_path, rows)
    assert store.import_jsonl(tmp_path).bad == []
    frame = store.predictions("coordinate").set_index("group_id")
    assert frame["status"].to_dict() == {
        "far": "out_of_range",
        "none": "empty",
        "text": "ok",
        "failed": "blocked",
        "odd": "ok",
    }
    assert frame.loc["odd", "variant"] == "Adversarial" and frame.loc["text", "lon"] == 2.5
    assert frame["lat"].isna().sum() == 3


def test_of_two_lines_about_one_picture_the_last_counts(store, tmp_path):
    release_file(tmp_path, [LINE, LINE | {"original_source": "b.jpg"}, LINE | {"pred_lat": 9.0}])
    done = store.import_jsonl(tmp_path)
    assert (done.rows, done.repeated) == (2, 1)
    assert dict(zip(*(store.predictions()[c] for c in ("group_id", "lat")), strict=True)) == {"a": 9.0, "b": 1.5}


def test_a_torn_last_line_is_told_and_swallows_nothing(store, tmp_path):
    good = json.dumps(LINE).encode() + b"\n"
    path = release_file(tmp_path, good + good.replace(b"a.jpg", b"b.jpg")[:-30])
    (bad,) = (done := store.import_jsonl(tmp_path)).bad
    assert (done.rows, bad.number, bad.torn_end) == (1, 2, True)
    assert str(bad).startswith(f"{path} line 2: cannot be read (") and str(bad).endswith("(cut off at the end)")
    path.write_bytes(good + good.replace(b"a.jpg", b"b.jpg"))  # the run went on
    assert store.import_jsonl(tmp_path).rows == 1


def test_torn_lines_in_the_middle_are_told_by_number(store, tmp_path):
    line = json.dumps(LINE).encode()
    rest = [line.replace(b"a.jpg", f"{i}.jpg".encode()) for i in range(6)]
    rest[1] = rest[1][:40]
    rest[3] = b"[1, 2]"
    rest[4] = rest[4].replace(b'"attack_type": "Blank"', b'"attack_type": "Blurred"')
    rest[5] = b'{"attack_type": "Blank"}'
    release_file(tmp_path, b"\n".join([*rest, line, b"\xff\xfe{}", b""]) + b"\n")
    done = store.import_jsonl(tmp_path)
    assert done.rows == 3 and [(b.number, b.torn_end) for b in done.bad] == [(n, False) for n in (2, 4, 5, 6, 8)]
    reasons = [b.reason for b in done.bad]
    assert "no JSON object" in reasons[1] and "'Blurred'; allowed: Original" in reasons[2]
    assert reasons[3] == "lacks 'original_source'"


def test_a_file_outside_the_layout_needs_its_dataset(store, tmp_path):
    path = tmp_path / "results_Blank_my-model.jsonl"
    path.write_text(json.dumps({k: v for k, v in LINE.items() if k != "attack_type"}) + "\n")
    with pytest.raises(DataError, match="pass the name of its dataset"):
        store.import_jsonl(path)
    store.import_jsonl(path, dataset="mine")
    frame = store.predictions()
    assert list(frame.iloc[0][["model", "dataset", "variant"]]) == ["my-model", "mine", "Blank"]


def test_nothing_to_import(store, tmp_path):
    with pytest.raises(DataError, match="there is nothing at"):
        store.import_jsonl(tmp_path / "absent")
    with pytest.raises(DataError, match="holds no results_<Variant>_<model>"):
        store.import_jsonl(tmp_path)


def test_what_goes_out_comes_in_again(toy, store, tmp_path):
    def script(request):
        if request.variant == "Random":
            return Answer("<script>no</script>", "blocked", "safety \N{EM DASH} refused")
        return f"{int(request.group_id[1:])}, 20" if request.variant != "Blank" else "-5, 20"

    benchmark = toy(4)
    evaluate(
        benchmark, {"org/model v1": ScriptedProvider(script=script)}, "toy", store=store, prompt="W", progress=False
    )
    written = store.export_jsonl(tmp_path / "out", benchmark, task="toy")
    assert len(written) == 2 * 5
    path = next(p for p in written if "Adversarial" in p.name and "north" in str(p))
    assert path.parents[2] == tmp_path / "out" / "north" and path.parents[1].name == "toy"
    first = json.loads(path.read_text().splitlines()[0])
    assert list(first)[:13] == list(LINE)
    assert (first["filename"], first["injected_text"], first["gt_lat"]) == ("g000.png", "Adversarial St", 10.0)
    per_degree = 6371.0 * 3.141592653589793 / 180  # along a meridian
    assert first["error_km"] == pytest.approx(10 * per_degree, rel=1e-9)
    assert first["tbs"] == pytest.approx(-5 * per_degree, rel=1e-9)  # Blank was 15 degrees off
    assert first["wla_score"] == pytest.approx(2.718281828459045 ** (-0.005 * 10 * per_degree), rel=1e-9)
    with ReplyStore(tmp_path / "again.sqlite") as other:
        assert other.import_jsonl(tmp_path / "out").rows == 20
        columns = ["model", "dataset", "group_id", "variant", "lat", "lon", "status", "reason", "text"]
        left, right = (
            s.predictions("toy", extra=("reason", "text"))[columns].astype(str).sort_values(columns).values.tolist()
            for s in (store, other)
        )
        assert left == right


def test_an_export_without_replies_or_truth(store, tmp_path, question):
    with pytest.raises(DataError, match="holds no reply of the task 'coordinate'"):
        store.export_jsonl(tmp_path / "out")
    store.put(question(task="coordinate"), Reply(status="ok", text="1, 2", lat=1.0, lon=2.0))
    (path,) = store.export_jsonl(tmp_path / "out")
    row = json.loads(path.read_text())
    assert path.relative_to(tmp_path / "out").as_posix() == "north/results/m/results_Original_m.jsonl"
    assert row["pred_lat"] == 1.0 and row["gt_lat"] is None and row["error_km"] is None
