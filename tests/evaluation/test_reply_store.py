"""ReplyStore: each reply once, nothing stale, nothing mixed."""

from __future__ import annotations

import json
import sqlite3
import threading

import numpy as np
import pandas as pd
import pytest

from signpost_kit.errors import ConfigError, DataError, StorageError
from signpost_kit.evaluation import Reply, ReplyStore, columns
from signpost_kit.frames import COLUMNS, STATUSES, VARIANTS, check_frame
from signpost_kit.models.base import Decoding, Usage

OK = Reply(status="ok", text="1, 2", lat=1.0, lon=2.0)


def test_a_reply_comes_back_as_it_was_put(store, question):
    reply = Reply(
        status="ok",
        text="48.9, 2.4 \N{DEGREE SIGN} \ud800 \x00 </script>",  # a lone surrogate can come out of JSON
        finish_reason="stop",
        usage=Usage(10, 20, 3),
        price_usd=0.0012,
        latency_s=0.5,
        attempts=2,
        request_id="req-1",
        time=1.5,
        lat=48.9,
        lon=2.4,
        n_candidates=2,
        form="plain",
        fields={"consistent": False, "region": "Île"},
    )
    assert store.put(question(), reply) is True
    found = store.get(question().key)
    assert found == Reply(**(vars(reply) | {"text": "48.9, 2.4 \N{DEGREE SIGN} \\ud800 \x00 </script>"}))
    assert store.get("nothing") is None


def test_nan_is_missing_and_coordinates_need_ok():
    assert Reply(status="ok", lat=float("nan"), lon=float("inf")).lat is None
    with pytest.raises(DataError, match="'refused' carries coordinates"):
        Reply(status="refused", lat=1.0, lon=2.0)
    with pytest.raises(DataError, match="allowed: ok, empty"):
        Reply(status="fine")


def test_the_first_reply_stays_unless_its_status_is_asked_again(store, question):
    first, request = Reply(status="error", reason="reset", price_usd=0.5), question()
    assert store.put(request, first) is True
    assert store.put(request, OK) is False
    assert store.status(request.key) == "error"
    assert store.put(request, Reply(status="empty", price_usd=0.25), replace=("error",)) is True
    assert store.put(request, OK, replace=("error",)) is False
    assert store.put(request, OK, replace=("empty",)) is True
    assert store.put(request, Reply(status="error"), replace=STATUSES) is False  # what was answered is never lost
    assert store.get(request.key).lat == 1.0
    assert len(store) == 1
    assert store.spent_usd() == 0.75  # what was replaced was paid for too


def test_done_keys_leave_out_what_is_asked_again(store, question):
    for i, status in enumerate(("ok", "error", "empty")):
        store.put(question(i), Reply(status=status))
    keys = [question(i).key for i in range(3)]
    assert store.done_keys() == set(keys)
    assert store.done_keys(retry=("error", "empty")) == {keys[0]}
    with pytest.raises(ConfigError, match="'eror'; allowed: empty, refused"):
        store.done_keys(retry=("eror",))
    with pytest.raises(ConfigError, match="'ok'"):
        store.done_keys(retry=("ok",))


def test_predictions_are_ordered_by_question_not_by_arrival(store, question):
    asked = [question(i, variant=v, model=m) for m in ("b", "a") for i in (0, 1) for v in VARIANTS]
    for request in asked:  # codes are given in this order
        store.put(request, Reply(status="error"))
    for request in reversed(asked):
        store.put(request, Reply(status="ok", lat=1.0, lon=2.0), replace=("error",))
    frame = store.predictions("toy")
    assert list(frame.columns) == list(COLUMNS["predictions"])
    assert list(zip(frame["model"], frame["group_id"], frame["variant"], strict=True)) == [
        (r.model, r.group_id, r.variant) for r in asked
    ]
    assert list(frame["variant"].cat.categories) == list(VARIANTS)
    assert list(frame["status"].cat.categories) == ["ok"]  # only what occurs
    assert check_frame(frame, "predictions").equals(frame)


def test_missing_is_nan_and_an_empty_store_gives_an_empty_frame(store, question):
    empty = store.predictions("toy")
    assert list(empty.columns) == list(COLUMNS["predictions"]) and len(empty) == 0
    store.put(question(), Reply(status="refused", reason="no"))
    frame = store.predictions("toy", extra=("reason", "text"))
    assert np.isnan(frame["lat"][0]) and np.isnan(frame["lon"][0])
    assert frame["reason"][0] == "no" and frame["text"][0] is None
    with pytest.raises(ConfigError, match="no column 'reasons'; extra columns: key"):
        store.predictions("toy", extra=("reasons",))


def test_rows_with_one_picture_share_one_reply(store, question):
    twins = [question(7, group_id="a"), question(7, group_id="b", dataset="south")]
    assert twins[0].key == twins[1].key
    store.put(twins, OK)
    assert len(store) == 1
    assert list(store.predictions("toy")["group_id"]) == ["a", "b"]


def test_two_wordings_never_mix(store, question):
    store.put(question(1, prompt_hash="p1"), OK)
    store.put(question(2, prompt_hash="p2", prompt="Where is this?"), OK)
    store.link([(question(1), question(1).key)])  # planned last
    assert list(store.predictions("toy")["group_id"]) == ["g001"]
    assert list(store.predictions("toy", prompt_hash="p2")["group_id"]) == ["g002"]
    assert list(store.prompts()["hash"]) == ["p1", "p2"]
    assert store.coverage()["n"].sum() == 1


def test_a_picture_that_changed_no_longer_shows_its_old_reply(store, question):
    old, new = question(1), question(1, image_hash="f" * 32)
    store.put(old, OK)
    assert store.link([(new, new.key)]) == {}
    assert store.predictions("toy").empty
    assert store.link([(old, old.key)]) == {old.key: "ok"}  # and comes back with the picture, unasked
    assert len(store.predictions("toy")) == 1


def test_other_samples_and_models_stay_apart(store, question):
    store.put(question(1), OK)
    store.put(question(1, sample_index=1), Reply(status="ok", lat=5.0, lon=5.0))
    store.put(question(1, model="n"), Reply(status="ok", lat=6.0, lon=6.0))
    store.put(question(1, decoding=Decoding(1.0, None)), Reply(status="ok", lat=7.0, lon=7.0))  # asked last
    assert list(store.predictions("toy")["lat"]) == [7.0, 6.0]
    assert list(store.predictions("toy", 1)["lat"]) == [5.0]
    both = store.predictions("toy", None, models=["m"], extra=("text",))
    assert list(zip(both["sample"], both["lat"], strict=True)) == [(0, 7.0), (1, 5.0)]
    assert list(store.predictions("coordinate", None).columns) == [*COLUMNS["predictions"]]
    only = store.predictions("toy", models=["n"], extra=("text", "attempts"))
    assert list(only["model"]) == ["n"] and list(only["model"].cat.categories) == ["n"]


def test_a_packed_copy_is_never_stale(store, question, monkeypatch):
    monkeypatch.setattr(columns, "PACK_FROM", 1)
    reads = []
    rows = columns.read_rows
    monkeypatch.setattr(columns, "read_rows", lambda *a: reads.append(1) or rows(*a))

    def packed_and_plain() -> pd.DataFrame:
        assert store.pack("toy") is True
        before = len(reads)
        fast = store.predictions("toy")
        assert len(reads) == before  # it did come from the packed copy
        with sqlite3.connect(store.path) as other:  # and this connection is another program
            other.execute("DELETE FROM packed")
        slow = store.predictions("toy")
        assert len(reads) == before + 1
        pd.testing.assert_frame_equal(fast, slow)
        store.pack("toy")
        return fast

    store.put(question(1), Reply(status="error"))
    assert list(packed_and_plain()["status"]) == ["error"]
    store.put(question(2), OK)
    assert len(store.predictions("toy")) == 2
    assert len(packed_and_plain()) == 2
    store.put(question(1), OK, replace=("error",))
    assert list(store.predictions("toy")["status"]) == ["ok", "ok"]
    packed_and_plain()
    store.link([(question(2, image_hash="e" * 32), "other")])
    assert len(store.predictions("toy")) == 1
    packed_and_plain()
    with sqlite3.connect(store.path) as other:
        other.execute("UPDATE replies SET lat = 3.5")
    assert list(store.predictions("toy")["lat"]) == [3.5]
    packed_and_plain()


def test_linking_what_is_there_keeps_the_packed_copy(store, question, monkeypatch):
    monkeypatch.setattr(columns, "PACK_FROM", 1)
    store.put(question(1), OK)
    store.pack("toy")
    store.link([(question(1), question(1).key)])
    monkeypatch.setattr(columns, "read_rows", lambda *a: pytest.fail("the packed copy was dropped"))
    assert len(store.predictions("toy")) == 1


def test_coverage_counts_every_status(store, question):
    for i, status in enumerate(("ok", "ok", "error", "refused")):
        store.put(question(i), Reply(status=status))
    frame = store.coverage()
    assert list(zip(frame["status"], frame["n"], frame["share"], strict=True)) == [
        ("ok", 2, 0.5),
        ("refused", 1, 0.25),
        ("error", 1, 0.25),
    ]
    assert set(frame["task"]) == {"toy"} and set(frame["variant"]) == {"Original"}


def test_texts_can_be_read_anew_without_asking(store, question):
    store.put(question(1), Reply(status="unparseable", text="3, 4", reason="an older parser"))
    store.put(question(2), Reply(status="refused", said="refused", text="3, 4"))  # the provider's word stands
    store.put(question(3), Reply(status="ok", text="1, 2", lat=1.0, lon=2.0))
    assert store.reparse("toy") == 1
    assert list(store.predictions("toy")["status"]) == ["ok", "refused", "ok"]
    assert store.get(question(1).key).lat == 3.0
    assert store.reparse("toy") == 0


def test_many_threads_write_at_once(store, question):
    def work(number: int) -> None:
        for i in range(50):
            store.put(question(i, model=f"m{number % 2}"), Reply(status="ok", lat=float(i), lon=0.0))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store) == 100
    frame = store.predictions("toy")
    assert list(frame["lat"]) == [float(i) for i in range(50)] * 2


def test_one_bad_reply_fails_alone_in_its_batch(store, question):
    bad = Reply(status="ok", price_usd=3 + 4j)  # type: ignore[arg-type]  SQLite cannot bind it
    store._writer.submit(lambda db: threading.Event().wait(0.05))  # the three below wait and form one batch
    futures = [store.submit(question(i), bad if i == 1 else OK) for i in range(3)]
    assert futures[0].result(5) is True and futures[2].result(5) is True
    with pytest.raises(StorageError, match="bind"):
        futures[1].result(5)
    assert len(store) == 2


def test_a_closed_store_is_one_file_and_says_that_it_is_closed(tmp_path, question):
    store = ReplyStore(tmp_path / "r.sqlite")
    store.put(question(), OK)
    store.close()
    store.close()
    assert [p.name for p in tmp_path.iterdir()] == ["r.sqlite"]
    for call in (lambda: store.put(question(1), OK), lambda: store.predictions("toy")):
        with pytest.raises(StorageError, match="is closed"):
            call()
    with ReplyStore(tmp_path / "r.sqlite", create=False) as again:
        assert len(again) == 1


def test_the_store_says_what_was_sent(store, question):
    store.put(question(decoding=Decoding(0.5, 7)), OK)
    with sqlite3.connect(store.path) as other:
        decoding, prompt = other.execute(
            "SELECT d.name, p.text FROM replies r JOIN decodings d ON d.id = r.decoding_id "
            "JOIN prompts p ON p.id = r.prompt_id"
        ).fetchone()
    assert json.loads(decoding) == {"max_tokens": 7, "temperature": 0.5} and prompt == "Where?"
