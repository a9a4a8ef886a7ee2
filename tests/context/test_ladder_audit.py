"""The audit of names: batches that are halved, replies that mix names up, kills, kept decisions, who may audit."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from signpost_kit.errors import ConfigError, DataError, ModelError
from signpost_kit.evaluation import ReplyStore
from signpost_kit.ladder.audit import Name, audit_names, check_auditor
from signpost_kit.ladder.decisions import CONTENTIOUS, DecisionLog, read_decisions
from signpost_kit.models.base import Answer, ProviderError
from signpost_kit.models.scripted import ScriptedProvider

NAMES = [Name(f"Q{i}", f"Place {i}", f"Ort {i}", "building", "Berlin", "DE") for i in range(1, 8)]


@pytest.fixture
def place(tmp_path):
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        yield store, tmp_path / "decisions.jsonl"


def listed(prompt):
    """(number, label) of every name in a question."""
    return [(int(n), label) for n, label in re.findall(r"^(\d+)\. (.+?) / Ort", prompt, re.MULTILINE)]


def say(prompt, *, leave_out=(), only=None):
    rows = [
        {
            **{"n": n, "name": label, "usable": "yes" if label != "Place 3" else "no"},
            **{
                "referenceability": int(label[-1]) % 6 if label != "Place 3" else None,
                "name_en": label,
                "why": "w",
            },
        }
        for n, label in listed(prompt)
        if label not in leave_out
    ]
    return json.dumps({"names": rows})


def audit(place, provider, names=NAMES, **more):
    store, path = place
    options = {"batch_size": 4, "progress": False, "attempts": 1, **more}
    return audit_names(names, {"aud": provider}, store=store, log=DecisionLog(path), **options)


def test_every_name_is_judged_in_batches_of_words_alone(place):
    model = ScriptedProvider(script=lambda r: say(r.prompt))
    result = audit(place, model)
    assert [len(listed(r.prompt)) for r in model.history] == [4, 3]
    assert all(r.image_path is None and r.image_hash == "" for r in model.history)
    assert not result.undecided and set(result.decisions) == {n.qid for n in NAMES}
    assert result.decisions["Q5"].referenceability == 5.0 and result.decisions["Q5"].usable
    assert result.decisions["Q3"].usable is False and result.decisions["Q3"].referenceability is None
    text = model.history[0].prompt
    assert "1. Place 1 / Ort 1 [building]" in text and "in Berlin (DE)" in text and "{" + "city}" not in text
    assert "Q1" not in text and "each of the 4 numbers" in text


def test_a_batch_that_fails_is_halved_down_to_single_names_and_none_is_dropped(place):
    def script(request):
        names = listed(request.prompt)
        if any(label == "Place 6" for _, label in names):
            return "I would rather not." if len(names) > 1 else ""
        return say(request.prompt)

    model = ScriptedProvider(script=script)
    result = audit(place, model, batch_size=7)
    sizes = [len(listed(r.prompt)) for r in model.history]
    assert sizes == [7, 4, 3, 2, 1, 1, 1]  # 1-7, 1-4, 5-7, 5-6, 7, 5, 6
    assert set(result.decisions) == {f"Q{i}" for i in (1, 2, 3, 4, 5, 7)}
    assert list(result.undecided) == ["Q6"] and "'Place 6'" in result.undecided["Q6"]


def test_what_a_reply_leaves_out_is_asked_again_without_the_rest(place):
    def script(request):
        return say(request.prompt, leave_out=("Place 2", "Place 4") if len(listed(request.prompt)) > 2 else ())

    model = ScriptedProvider(script=script)
    result = audit(place, model, batch_size=7)
    assert [[label for _, label in listed(r.prompt)] for r in model.history][1] == ["Place 2", "Place 4"]
    assert len(model.history) == 2 and len(result.decisions) == 7


def test_a_failing_server_is_asked_about_halves_too_and_again_next_time(place):
    broken = ScriptedProvider(script=lambda r: ProviderError("overloaded"))
    result = audit(place, broken, names=NAMES[:2])
    assert len(broken.history) == 3 and set(result.undecided) == {"Q1", "Q2"}
    assert "overloaded" in result.undecided["Q1"]
    well = ScriptedProvider(script=lambda r: say(r.prompt))
    assert set(audit(place, well, names=NAMES[:2]).decisions) == {"Q1", "Q2"} and len(well.history) == 1


def test_a_decision_never_lands_on_a_neighbour(place):
    def script(request):
        names = listed(request.prompt)
        if len(names) < 4:
            return say(request.prompt)
        row = {"usable": "yes", "why": "", "name_en": "x"}
        rows = [
            {**row, "n": 1, "name": names[1][1], "referenceability": 2},  # the number is wrong, the name counts
            {**row, "n": 3, "name": "Somewhere Else", "referenceability": 1},  # nobody's
            {**row, "n": 4, "name": names[3][1], "referenceability": 1},
            {**row, "n": 4, "name": names[3][1], "referenceability": 5},  # twice, and not the same
            {**row, "n": 9, "name": "", "referenceability": 5},
        ]
        return json.dumps(rows)

    model = ScriptedProvider(script=script)
    result = audit(place, model, names=NAMES[:4], batch_size=4)
    assert result.decisions["Q2"].referenceability == 2.0
    assert [label for _, label in listed(model.history[1].prompt)] == ["Place 1", "Place 3", "Place 4"]
    assert result.decisions["Q4"].referenceability == 4.0 and result.decisions["Q3"].usable is False


CHILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_ladder_audit import *
folder = Path(sys.argv[2])
def script(request):
    n = len(listed(request.prompt))
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return "nothing to read" if n == 7 else say(request.prompt)
with ReplyStore(folder / "replies.sqlite") as store:
    audit((store, folder / "decisions.jsonl"), ScriptedProvider(script=script, concurrency=1), batch_size=7)
"""


def test_a_kill_resumes_without_asking_again(tmp_path):
    """The child asks about 7 names (unreadable), 4 (answered), 3: there it is killed."""
    child = [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(tmp_path)]
    assert subprocess.run(child, check=False, timeout=60, capture_output=True).returncode == -signal.SIGKILL
    path = tmp_path / "decisions.jsonl"
    again = ScriptedProvider(script=lambda r: say(r.prompt))
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        place = store, path
        result = audit(place, again, batch_size=7)
        _nothing_is_asked_twice(place, again, result)


def _nothing_is_asked_twice(place, again, result):
    path = place[1]
    assert [len(listed(r.prompt)) for r in again.history] == [3] and len(result.decisions) == 7
    third = ScriptedProvider()
    assert len(audit(place, third, batch_size=7).decisions) == 7 and not third.history
    # The file alone does as well: with an empty store, of another folder.
    with ReplyStore(path.parent / "other.sqlite") as other:
        fourth = ScriptedProvider()
        result = audit_names(NAMES, {"aud": fourth}, store=other, log=DecisionLog(path), progress=False)
        assert len(result.decisions) == 7 and not fourth.history
    kinds = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    replies = [row for row in kinds if "decision" not in row]
    assert len(kinds) == 7 + 3 and len({row["reply"] for row in replies}) == 3
    assert {row["auditor"] for row in kinds} == {"aud"} and all(row["prompt"] for row in kinds)
    assert any(row["raw"] == "nothing to read" and row["status"] == "unparseable" for row in replies)


def test_a_torn_last_line_is_mended_and_a_damaged_one_is_named(place):
    _, path = place
    audit(place, ScriptedProvider(script=lambda r: say(r.prompt)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    model = ScriptedProvider()
    assert len(audit(place, model).decisions) == 7 and not model.history  # the reply is in the store
    assert [json.loads(line) for line in path.read_bytes().splitlines()]
    lines = whole.split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b'{"decision": "po', *lines[2:]]))
    with pytest.raises(DataError, match=r"decisions\.jsonl: line 2 is damaged"):
        DecisionLog(path)


def test_the_limit_of_costs_stops_and_what_was_decided_stays(place):
    from signpost_kit.models.catalogue import ModelSpec

    spec = ModelSpec(
        name="aud", provider="openai", model_id="m", group="G", key_env="A_KEY", token_field="max_tokens",
        price={"input": 1000.0, "output": 1000.0, "date": "2026-01-01", "source": "invented"},
    )  # fmt: skip
    model = ScriptedProvider(script=lambda r: Answer(say(r.prompt), price_usd=5.0), concurrency=1)
    with pytest.raises(ModelError, match=r"the auditor aud was stopped.*kept: run again"):
        audit(place, model, max_cost_usd=12.0, specs={"aud": spec})
    assert len(model.history) == 1 and len(DecisionLog(place[1])._replies) == 1
    rest = ScriptedProvider(script=lambda r: Answer(say(r.prompt), price_usd=5.0))
    assert len(audit(place, rest).decisions) == 7 and len(rest.history) == 1


def test_the_second_pass_stands_in_a_file_and_a_field_of_its_own(place, tmp_path):
    store, path = place
    rows = [
        {
            "n": i,
            "name": f"Place {i}",
            "contentious": "yes" if i == 2 else "no",
            "why": "a prison" if i == 2 else "",
        }
        for i in range(1, 8)
    ]
    model = ScriptedProvider(script=lambda r: json.dumps({"names": rows}))
    log = DecisionLog(tmp_path / "contentious.jsonl")
    found = audit_names(NAMES, {"aud": model}, store=store, log=log, kind=CONTENTIOUS, progress=False).decisions
    assert [q for q, d in found.items() if d.contentious] == ["Q2"] and found["Q2"].why == "a prison"
    assert "contentious" in model.history[0].prompt and not path.exists()


def test_evaluated_models_are_no_auditors_under_any_name(monkeypatch):
    with pytest.raises(ConfigError, match="'prior' is among the profile's models"):
        check_auditor("prior", ["reader", "prior"])
    with pytest.raises(ConfigError, match="unknown model 'nobody'"):
        check_auditor("nobody", [])
    check_auditor("deepseek-v4-pro", ["prior"])
    from signpost_kit.models import catalogue, registry

    specs = dict(catalogue.load_catalogue())
    twin = specs["deepseek-v4-pro"].model_copy(update={"name": "my-deepseek"})
    monkeypatch.setattr(registry, "_specs", lambda: {**specs, "my-deepseek": twin})
    with pytest.raises(ConfigError, match="'my-deepseek' is 'deepseek-v4-pro' by another name"):
        check_auditor("my-deepseek", ["deepseek-v4-pro"])


def test_released_decisions_are_read_as_ours(shared_data, tmp_path):
    found = {d.qid: d for d in read_decisions(shared_data / "geocontext" / "audit_decisions.jsonl")}
    assert len(found) == 29  # lines of the excerpt
    assert (found["Q7368869"].usable, found["Q7368869"].referenceability) == (True, 3.0)
    assert (
        found["Q7368869"].auditor == "claude-opus-5" and found["Q4669029"].name_en == "Abraham Lincoln High School"
    )
    assert found["Q4669029"].label == "林肯高级中学（圣何塞）"
    with pytest.raises(DataError, match="line 1 is no JSON object"):
        (tmp_path / "x.jsonl").write_text("nonsense\n{}\n", encoding="utf-8")
        read_decisions(tmp_path / "x.jsonl")
    with pytest.raises(DataError, match="no decision"):
        (tmp_path / "y.jsonl").write_text("{}\n", encoding="utf-8")
        read_decisions(tmp_path / "y.jsonl")


def test_a_template_without_the_list_is_refused(place, tmp_path):
    from signpost_kit.prompts import Prompt

    with pytest.raises(ConfigError, match="has no {names}"):
        audit(place, ScriptedProvider(), prompt=Prompt("audit_points", "Judge!", "h", tmp_path / "p.md"))
    with pytest.raises(ConfigError, match="batch_size=0"):
        audit(place, ScriptedProvider(), batch_size=0)
