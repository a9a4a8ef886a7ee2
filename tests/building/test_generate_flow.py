"""Replacements by a model, the whole way through the evaluation's machinery, with a model that follows a script."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from signpost_kit.errors import ConfigError, DataError, ModelError
from signpost_kit.evaluation import ReplyStore
from signpost_kit.models.base import Answer, ProviderError
from signpost_kit.models.catalogue import ModelSpec, Price
from signpost_kit.models.scripted import ScriptedProvider
from signpost_kit.ocr import TextLine
from signpost_kit.profile_sections import Replacements
from signpost_kit.replacements.checks import check_replacements
from signpost_kit.replacements.drafts import REPAIR_TASK, TASK
from signpost_kit.replacements.generate import generate

sys.path.insert(0, str(Path(__file__).parent / "writing"))

from generate_scenes import good, number_of, scenes


def write(benchmark, script, store, **options):
    model = ScriptedProvider(script=script, concurrency=2)
    made = generate(benchmark, {"m": model}, store=store, progress=False, **options)
    return made, model


def is_repair(request) -> bool:
    return request.task == REPAIR_TASK


def test_good_replies_become_groups_in_order_and_nothing_is_asked_twice(tmp_path):
    benchmark, store = scenes(tmp_path, 5), tmp_path / "r.sqlite"
    made, model = write(benchmark, lambda r: good(number_of(r.prompt)), store)
    assert [group.group_id for group in made.groups] == [f"g{i:03d}" for i in range(5)]
    first = made.groups[0].spans[0]
    assert (first.text, first.location) == ("Rue Pasteur 0", "on the wall")
    assert first.replacements == {"similar": "Rue Haute", "random": "あまい夢", "adversarial": "Rue de Lima"}
    assert first.polygon == benchmark.groups[0].spans[0].polygon and first.tier == "T3"
    assert made.written[0].places[0].name == "Lima"
    assert made.counts == {
        "asked": 5,
        "reused": 0,
        "asked_twice": 0,
        "mended": 0,
        "with_fewer_spans": 0,
        "cost_usd": 0.0,
    }
    assert {r.task for r in model.history} == {TASK} and {r.variant for r in model.history} == {"Original"}
    again, silent = write(benchmark, lambda r: pytest.fail("asked again"), store)
    assert again.groups == made.groups and (again.asked, again.reused) == (0, 5) and not silent.history
    other, model = write(benchmark, lambda r: good(number_of(r.prompt)), store, seed=7)
    assert other.asked == 5  # another seed draws other regions: other questions


def test_a_fault_is_told_once_and_mended(tmp_path):
    benchmark, store = scenes(tmp_path, 3), tmp_path / "r.sqlite"
    wrong = {0: good(0, adversarial="Rue de Madrid"), 1: "I would write Rue Haute.", 2: good(2, random="")}

    def script(request):
        number = number_of(request.prompt)
        if not is_repair(request):
            return wrong[number]
        assert json.dumps(wrong[number], ensure_ascii=False) in request.prompt
        return good(number)

    made, model = write(benchmark, script, store)
    assert len(made.groups) == 3 and made.counts["asked_twice"] == made.counts["mended"] == 3
    assert Counter(r.task for r in model.history) == {TASK: 3, REPAIR_TASK: 3}
    told = {number_of(r.prompt): r.prompt.split("What is wrong")[1] for r in model.history if is_repair(r)}
    assert "names Madrid, on the continent of the truth (EU)" in told[0]
    assert "no JSON object" in told[1] and "span 1, random: missing" in told[2]
    assert made.written[0].first_faults == (
        "span 1, adversarial: 'Rue de Madrid' names Madrid, on the continent of the truth (EU)",
    )
    with ReplyStore(store) as opened:
        texts = [opened.get(r.key).text for r in model.history]
    assert sorted(texts) == sorted([*wrong.values(), *(good(i) for i in range(3))])  # raw text, also of bad replies


def test_what_is_still_wrong_is_left_out_with_the_reasons(tmp_path):
    benchmark = scenes(tmp_path, 5)

    def script(request):
        number = number_of(request.prompt)
        steps = {
            0: good(0, similar="Rue de Madrid"),
            1: "no idea",
            2: Answer(None, status="refused", reason="it would rather not"),
            3: "I'm sorry, I can't assist with that.",
            4: Answer('{"spans": [{"te', status="truncated", finish_reason="length"),
        }
        return good(4) if number == 4 and is_repair(request) else steps[number]

    made, model = write(benchmark, script, tmp_path / "r.sqlite")
    assert [group.group_id for group in made.groups] == ["g004"]
    reasons = {one.group_id: one.reason for one in made.rejected}
    assert (
        reasons["g000"] == "m wrote nothing usable (asked twice): span 1, similar: 'Rue de Madrid' names Madrid, ES"
    )
    assert "(asked twice): the reply held no JSON object" in reasons["g001"]
    assert reasons["g002"] == "m wrote nothing usable: refused: it would rather not"
    assert "refused: declined" in reasons["g003"]
    repaired = {number_of(r.prompt) for r in model.history if is_repair(r)}
    assert repaired == {0, 1, 4}  # a refusal is not argued with
    again, silent = write(benchmark, lambda r: pytest.fail("asked again"), tmp_path / "r.sqlite")
    assert again.written == made.written and not silent.history


def test_errors_are_asked_again_only_on_request(tmp_path):
    benchmark, store = scenes(tmp_path, 2), tmp_path / "r.sqlite"
    failing = lambda r: ProviderError("broken", retryable=False) if number_of(r.prompt) == 0 else good(1)  # noqa: E731
    made, _ = write(benchmark, failing, store)
    assert made.rejected[0].reason == "m wrote nothing usable: error: broken"
    kept, model = write(benchmark, lambda r: good(number_of(r.prompt)), store)
    assert len(kept.groups) == 1 and not model.history
    mended, model = write(benchmark, lambda r: good(number_of(r.prompt)), store, retry=("error",))
    assert len(mended.groups) == 2 and len(model.history) == 1


def test_a_model_that_stops_ends_the_call_and_what_it_wrote_is_kept(tmp_path):
    benchmark, store = scenes(tmp_path, 6), tmp_path / "r.sqlite"
    answered: list[int] = []

    def script(request):
        if len(answered) == 3:
            return ProviderError("the key was withdrawn", fatal=True)
        answered.append(number_of(request.prompt))
        return good(answered[-1])

    with pytest.raises(
        ModelError, match=r"m answered 3 of 6 \(replacements\): the key was withdrawn.*run again for the rest"
    ):
        write(benchmark, script, store)
    made, model = write(benchmark, lambda r: good(number_of(r.prompt)), store)
    assert len(made.groups) == 6 and {number_of(r.prompt) for r in model.history} == set(range(6)) - set(answered)


def test_a_limit_of_costs_holds_for_both_rounds_together(tmp_path):
    benchmark, store = scenes(tmp_path, 4), tmp_path / "r.sqlite"
    price = Price(input=0, output=1000, date="2026-01", source="a test")
    spec = ModelSpec(name="m", provider="openai", model_id="m-1", price=price)

    def script(request):  # 0.1 dollars each; at most 2048 tokens can cost 2.048
        text = good(number_of(request.prompt)) if is_repair(request) else "nothing"
        return Answer(text, price_usd=0.1)

    options = {"specs": {"m": spec}}
    with pytest.raises(
        ModelError, match=r"answered 0 of 4 \(second questions, replacements\): the limit of \$2\.04"
    ):
        write(benchmark, script, store, max_cost_usd=2.44, **options)  # 0.4 are spent in the first round
    made, model = write(benchmark, script, store, max_cost_usd=3.0, **options)
    assert len(made.groups) == 4 and {r.task for r in model.history} == {REPAIR_TASK}
    assert made.cost_usd == pytest.approx(0.4) and made.counts["cost_usd"] == pytest.approx(0.8)


def test_chosen_spans(tmp_path):
    benchmark = scenes(tmp_path, 2)
    bare = benchmark.with_groups([replace(group, spans=()) for group in benchmark.groups])
    line = TextLine("TABAC DU COIN", ((1.0, 1.0), (20.0, 1.0), (20.0, 6.0), (1.0, 6.0)), 0.8)
    shop = {"text": "Tabac du Coin", "location": "above the door", "similar": "Café du Port", "random": "あまい夢",
            "adversarial": "Tabac Lima", "place": {"city": "Lima", "country": "Peru"}}  # fmt: skip
    script = lambda r: json.dumps({"spans": [shop] if r.group_id == "g000" else []})  # noqa: E731
    made, _ = write(bare, script, tmp_path / "a.sqlite", spans="model", lines=lambda group: [line])
    assert made.groups[0].spans[0].polygon == line.polygon and made.groups[0].tier == "T2"
    assert "no writing worth replacing" in made.rejected[0].reason
    none, _ = write(bare, script, tmp_path / "b.sqlite", spans="model")
    assert not none.groups and "read were: nothing" in none.written[0].reason and none.written[0].repaired
    words, _ = write(bare, script, tmp_path / "c.sqlite", spans="model", polygons=False)
    assert words.groups[0].spans[0].location == "above the door"


def test_pictures_that_are_gone_and_groups_without_text_have_a_reason(tmp_path):
    benchmark = scenes(tmp_path, 3)
    benchmark = benchmark.with_groups(
        [benchmark.groups[0], replace(benchmark.groups[1], spans=()), benchmark.groups[2]]
    )
    (tmp_path / benchmark.groups[2].images["Original"]).unlink()
    made, _ = write(benchmark, lambda r: good(0), tmp_path / "r.sqlite")
    assert [one.group_id for one in made.written] == ["g000", "g001", "g002"]
    assert made.rejected[0].reason == "it has no text to replace"
    assert "is gone" in made.rejected[1].reason
    with pytest.raises(ConfigError, match="spans is 'known'; allowed: screened, model"):
        write(benchmark, [], tmp_path / "r.sqlite", spans="known")
    with pytest.raises(DataError, match="no picture to ask about"):
        write(benchmark.with_groups([benchmark.groups[2]]), [], tmp_path / "r.sqlite")


def test_two_groups_with_the_same_picture_and_texts_share_one_reply(tmp_path):
    benchmark = scenes(tmp_path, 1)
    twin = replace(benchmark.groups[0], dataset="e", group_id="g000")
    same = benchmark.with_groups([benchmark.groups[0], replace(twin, group_id="twin")])
    made, model = write(same, lambda r: good(0), tmp_path / "r.sqlite", varied=False)
    assert len(made.groups) == 2 and len(model.history) == 1


def test_the_offline_writer_errs_now_and_then_and_mends_it(tmp_path):
    benchmark = scenes(tmp_path, 24)
    made = generate(benchmark, "writer", store=tmp_path / "r.sqlite", progress=False)
    assert len(made.groups) == 24
    assert 2 <= made.counts["asked_twice"] == made.counts["mended"] <= 12
    again = generate(benchmark, "writer", store=tmp_path / "other.sqlite", progress=False)
    assert again.groups == made.groups
    from signpost_kit.evaluation import evaluate

    summary = evaluate(benchmark, ["writer"], store=tmp_path / "e.sqlite", variants=["Original"], progress=False)
    assert "writes replacement texts" in summary.stopped["writer"]


def test_the_offline_writer_reads_a_picture_itself(tmp_path):
    from signpost_kit.benchmark.town import build

    town = build(2, 7, out_dir=tmp_path / "town")
    made = generate(town, "writer", store=tmp_path / "r.sqlite", spans="model", progress=False)
    assert made.groups
    for group in made.groups:
        drawn = {span.polygon for span in next(g for g in town.groups if g.group_id == group.group_id).spans}
        assert 1 <= len(group.spans) <= 3 and {span.polygon for span in group.spans} <= drawn


# -- before a run ------------------------------------------------------------------------------------------------


def test_what_is_checked_before_a_run(monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    check_replacements(Replacements())
    check_replacements(Replacements(kind="generate", model="writer"))
    for options, error, words in (
        ({}, ConfigError, "needs a model to write them"),
        ({"model": "wrter"}, ConfigError, "did you mean writer"),
        ({"model": "reader"}, ConfigError, "the offline one that writes is 'writer'"),
        ({"model": _keyed()}, ModelError, _key_name()),
    ):
        with pytest.raises(error, match=words):
            check_replacements(Replacements(kind="generate", **options))


def _keyed() -> str:
    from signpost_kit.models.catalogue import load_catalogue

    return next(name for name, spec in load_catalogue().items() if spec.key_env == "OPENAI_API_KEY")


def _key_name() -> str:
    return "OPENAI_API_KEY"


def test_the_picture_is_sent_and_nothing_of_ours(tmp_path):
    benchmark = scenes(tmp_path, 1)
    _, model = write(benchmark, lambda r: good(0), tmp_path / "r.sqlite")
    (request,) = model.history
    assert Image.open(request.image_path).size == (32, 24)
    assert "g000" not in request.prompt and "scenes" not in request.prompt
