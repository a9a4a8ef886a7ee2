"""What a run costs: rules against the providers' own examples, estimates by hand, and estimate against actual."""

from __future__ import annotations

import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from PIL import Image

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.errors import ConfigError
from signpost_kit.evaluation import ReplyStore, evaluate, make_plan
from signpost_kit.evaluation.cost import estimate, highest_price, price_of, text_tokens
from signpost_kit.evaluation.image_tokens import image_tokens, sent_size
from signpost_kit.models.base import Answer, Decoding, Usage
from signpost_kit.models.catalogue import FREE, ImageTokens, ModelSpec, Price
from signpost_kit.models.scripted import ScriptedProvider

PRICE = Price(input=2.0, output=8.0, cached_input=0.5, batch_discount=0.5, date="2026-01", source="a test")
VARIANTS = ("Original", "Blank")


def spec(name: str = "m", **fields) -> ModelSpec:
    given = {"provider": "openai", "model_id": name, "price": PRICE, "image_tokens": "openai-tiles-85-170"}
    return ModelSpec(name=name, **(given | fields))


@pytest.fixture
def scenes(tmp_path: Path) -> Benchmark:
    """Four groups, two pictures each, 640 x 480."""
    groups, rng = [], np.random.default_rng(1)
    for i in range(4):
        images = {v: f"images/{v}/{i}.jpg" for v in VARIANTS}
        for relative in images.values():
            path = tmp_path / "b" / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 255, (480, 640, 3), dtype=np.uint8)).save(path, quality=30)
        groups.append(Group(f"g{i}", "d", 1.0, 2.0, images=images))
    return Benchmark("b", tuple(groups), tmp_path / "b")


class Text:
    text, hash = "W" * 400, "p"


def plan(scenes: Benchmark, *models: str, samples: int = 1, max_tokens: int | None = 1000):
    return make_plan(
        scenes, models, prompt=Text, variants=VARIANTS, samples=samples, decoding=Decoding(0.0, max_tokens)
    )


# --- rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "size", "tokens"),
    [
        # OpenAI, "Images and vision": the worked examples of the manual
        ("openai-tiles-85-170", (1024, 1024), 765),
        ("openai-tiles-85-170", (2048, 4096), 1105),
        ("openai-tiles-85-170", (128, 64), 255),  # billed: 267 with a five-word text (community forum, 2025)
        ("openai-tiles-70-140", (1024, 1024), 630),
        ("openai-tiles-2833-5667", (128, 64), 8500),  # billed: 8512 with the same text
        ("openai-patches-1536", (1024, 1024), 1024),
        ("openai-patches-1536", (1800, 2400), 1452),
        ("openai-patches-2500", (640, 480), 300),
        # Anthropic, "Vision": begun patches of 28 x 28 after fitting into 1568
        ("anthropic-1568", (200, 200), 64),
        ("anthropic-1568", (1000, 1000), 1296),
        ("anthropic-1568", (3000, 2000), 1568),
        ("anthropic-2576", (3000, 2000), 4784),
        # Google, "Understand and count tokens": 258 when small; 960 x 540 makes six tiles of 360
        ("gemini-tiles-258", (384, 384), 258),
        ("gemini-tiles-258", (960, 540), 6 * 258),
        ("gemini-1120", (4000, 3000), 1120),
        # Alibaba, "Visual understanding": 1024 x 768 are 32 x 24 blocks, and two marks
        ("qwen3-vl", (1024, 768), 770),
        ("ark-1312", (784, 784), 784),
        ("ark-1312", (4000, 3000), 1312),
        ("grok-448", (896, 896), 5 * 256),
        ("grok-448", (4000, 3000), 7 * 256),
    ],
)
def test_a_pictures_tokens(rule, size, tokens):
    count = image_tokens(rule)
    assert count is not None and count(*size) == tokens


def test_every_rule_of_the_catalogue_is_there_and_sane():
    for name in get_args(ImageTokens):
        rule = image_tokens(name)
        if name == "unknown":
            assert rule is None
            continue
        assert rule is not None
        for width, height in ((1, 1), (16, 4000), (300, 200), (768, 512), (8000, 8000)):
            assert 1 <= rule(width, height) <= 50_000
            assert abs(rule(width, height) - rule(height, width)) <= 0.1 * rule(width, height) + 300
        assert rule(300, 200) <= rule(1200, 800)
    with pytest.raises(ConfigError, match="no rule 'by-eye'"):
        image_tokens("by-eye")


def test_the_sent_size_is_the_one_of_the_encoder(tmp_path):
    from signpost_kit.images import encode_for_model

    for size in ((640, 480), (1001, 333), (301, 999)):
        path = tmp_path / f"{size[0]}.png"
        Image.new("RGB", size).save(path)
        sent = encode_for_model(path, max_side=500)
        assert (sent.width, sent.height) == sent_size(*size, 500)


# --- prices ------------------------------------------------------------------------------------------------------


def test_the_price_of_a_reply_by_hand():
    usage = Usage(1000, 50, 200)
    assert price_of(usage, PRICE) == pytest.approx((800 * 2 + 200 * 0.5 + 50 * 8) / 1e6)
    assert price_of(usage, PRICE, batch=True) == pytest.approx((800 * 2 + 200 * 0.5 + 50 * 8) / 2e6)
    plain = PRICE.model_copy(update={"cached_input": None, "batch_discount": None})
    assert price_of(usage, plain) == price_of(usage, plain, batch=True) == pytest.approx((2000 + 400) / 1e6)
    assert price_of(Usage(10, None, 99), PRICE) == pytest.approx(5e-6)  # never more cached than there are
    assert price_of(usage, None) is None and price_of(Usage(), PRICE) is None
    assert price_of(usage, FREE) == 0


def test_text_tokens_are_of_the_right_size():
    """The English sentence is ten tokens to OpenAI's tokenizers: nine words and a full stop."""
    assert text_tokens("The quick brown fox jumps over the lazy dog.") - 12 == pytest.approx(10, abs=2)
    assert text_tokens("这张照片是在哪里拍的？") > text_tokens("a" * 11)  # a sign counts for more than a letter


# --- the estimate ------------------------------------------------------------------------------------------------


def test_an_estimate_by_hand(scenes):
    frame = estimate(plan(scenes, "m", samples=2), {"m": spec(concurrency=4)})
    (row,) = frame.to_dict("records")
    image, text = 85 + 170 * 2 * 1, 400 // 4 + 12  # 640 x 480 begins two tiles
    assert (row["requests"], row["images"], row["done"]) == (16, 8, 0)
    assert (row["text_tokens"], row["image_tokens"], row["output_tokens"]) == (16 * text, 16 * image, 16 * 40)
    usd = 16 * ((image + text) * 2 + 40 * 8) / 1e6
    assert row["price_usd"] == pytest.approx(usd) and row["batch_usd"] == pytest.approx(usd / 2)
    assert row["most_usd"] == pytest.approx(16 * ((image + text) * 2 + 1000 * 8) / 1e6)
    assert row["seconds"] == pytest.approx(16 / 4 * 4.0) and row["note"] == "" and row["basis"] == "rule"
    assert frame.equals(estimate(list(plan(scenes, "m", samples=2)), {"m": spec(concurrency=4)}))


def test_large_pictures_count_as_they_are_sent(scenes):
    small = spec(image={"useful_side_px": 500})
    (row,) = estimate(plan(scenes, "m"), {"m": small}).to_dict("records")
    assert row["image_tokens"] == 8 * (85 + 170)  # 500 x 375 is one tile


def test_a_thousand_pictures_are_sampled(scenes, monkeypatch):
    from signpost_kit.evaluation import cost

    monkeypatch.setattr(cost, "_SAMPLE", 2)
    (row,) = estimate(plan(scenes, "m"), {"m": spec()}).to_dict("records")
    assert row["image_tokens"] == 8 * 425


def test_unknown_prices_and_rules_are_told_and_not_guessed(scenes):
    specs = {
        "dear": spec("dear", price=None),
        "odd": spec("odd", image_tokens="unknown"),
        "free": spec("free", price=FREE),
    }
    frame = estimate(plan(scenes, "dear", "odd", "free", "mine"), specs).set_index("model")
    assert math.isnan(frame.loc["dear", "price_usd"]) and frame.loc["dear", "image_tokens"] == 8 * 425
    assert "fill in params/models.yml: models.dear.price" in frame.loc["dear", "note"]
    assert math.isnan(frame.loc["odd", "price_usd"]) and "no public rule" in frame.loc["odd", "note"]
    assert frame.loc["free", "price_usd"] == 0 and frame.loc["free", "note"] == ""
    assert "mine is not in params/models.yml" in frame.loc["mine", "note"]


def replies(usage: Usage):
    return ScriptedProvider(script=lambda r: Answer('{"lat": 1.5, "lon": 2.5}', usage=usage))


def test_the_first_replies_correct_the_estimate(scenes, tmp_path):
    asked = {"prompt": Text, "variants": VARIANTS, "decoding": Decoding(0.0, 1000), "progress": False}
    specs = {"m": spec(), "odd": spec("odd", image_tokens="unknown")}
    with ReplyStore(tmp_path / "r.sqlite") as store:
        models = {"m": replies(Usage(1000, 90)), "odd": replies(Usage(900, 20))}
        evaluate(scenes, models, store=store, specs=specs, groups=["g0"], **asked)
        frame = estimate(plan(scenes, "m", "odd"), specs, store).set_index("model")
    assert list(frame["requests"]) == [6, 6] and list(frame["done"]) == [2, 2]
    assert frame.loc["m", "text_tokens"] + frame.loc["m", "image_tokens"] == pytest.approx(6 * 1000)
    assert frame.loc["odd", "text_tokens"] + frame.loc["odd", "image_tokens"] == pytest.approx(6 * 900)
    assert list(frame["output_tokens"]) == [540, 120] and set(frame["basis"]) == {"2 replies"}
    assert frame.loc["m", "paid_usd"] == pytest.approx(2 * (1000 * 2 + 90 * 8) / 1e6)
    assert frame.loc["m", "price_usd"] == pytest.approx(6 * (1000 * 2 + 90 * 8) / 1e6)
    assert frame.loc["odd", "note"] == "" and frame.loc["m", "seconds"] < 1


def test_what_failed_is_estimated_only_when_it_is_asked_again(scenes, tmp_path):
    with ReplyStore(tmp_path / "r.sqlite") as store:
        model = ScriptedProvider(script=lambda r: Answer(None, "empty" if r.variant == "Blank" else "refused"))
        evaluate(
            scenes,
            {"m": model},
            store=store,
            prompt=Text,
            variants=VARIANTS,
            decoding=Decoding(0.0, 1000),
            progress=False,
        )
        counts = [
            int(estimate(plan(scenes, "m"), {"m": spec()}, store, retry=retry)["requests"].iloc[0])
            for retry in ((), ("empty",), ("empty", "refused"))
        ]
    assert counts == [0, 4, 8]


def test_estimate_against_actual(scenes, tmp_path):
    specs = {"m": spec(), "free": spec("free", price=FREE)}
    models = {"m": replies(Usage(600, 40)), "free": replies(Usage(600, 40))}
    summary = evaluate(
        scenes, models, store=tmp_path / "r.sqlite", specs=specs, prompt=Text, variants=VARIANTS, progress=False
    )
    actual, expected = 8 * (600 * 2 + 40 * 8) / 1e6, 8 * ((425 + 112) * 2 + 40 * 8) / 1e6
    assert summary.cost_usd == pytest.approx(actual) and summary.estimated_usd == pytest.approx(expected)
    assert f"${actual:.4f} (estimated ${expected:.4f})" in str(summary)
    (row,) = summary.costs
    assert row["model"] == "m" and row["asked"] == 8 and row["ratio"] == pytest.approx(actual / expected)


def test_the_highest_price_is_above_any_real_one(scenes):
    request = plan(scenes, "m").requests[0]
    most = highest_price({"m": spec()})(request)
    assert most > price_of(Usage(425 + 112, 1000), PRICE)
    assert highest_price({"m": spec(price=FREE)})(request) == 0
    with pytest.raises(ConfigError, match="models.m.price"):
        highest_price({"m": spec(price=None)})(request)


# --- the command -------------------------------------------------------------------------------------------------


def test_the_command_prints_what_is_needed(tmp_path, project, monkeypatch):
    """On the tiny run: no key, nothing asked, one line per model, the sum, and where a price is missing."""
    from signpost_kit.cli_estimate import estimate_run, show
    from signpost_kit.run import open_run

    (tmp_path / "params").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params/models.yml").write_text(
        "models:\n"
        "  prior: {provider: embedded}\n"
        "  dear: {provider: openai, image_tokens: openai-tiles-85-170, concurrency: 2,\n"
        "    price: {input: 2, output: 8, batch_discount: 0.5, date: 2026-03, source: a test}}\n"
        "  mute: {provider: anthropic}\n",
        encoding="utf-8",
    )
    (tmp_path / "params/t.yml").write_text("source: {n: 2}\nmodels: [dear, mute, prior]\n", encoding="utf-8")
    (tmp_path / "params/prompts").symlink_to(project / "params/prompts")
    (tmp_path / "params/taxonomy.yml").symlink_to(project / "params/taxonomy.yml")
    monkeypatch.chdir(tmp_path)
    run = open_run("t")
    frame, specs = estimate_run(run)
    text = show(frame, specs, max_cost_usd=0.001)
    assert list(frame["requests"]) == [10, 10, 10] and not run.store_path.exists()
    lines = text.splitlines()
    assert (
        lines[0].split()[0] == "model"
        and lines[4].split()[0] == "sum"
        and len({len(line) for line in lines[:5]}) == 1
    )
    assert "The sum leaves out mute: no price is known." in lines
    assert any(
        "mute: the price of mute is unknown: fill in params/models.yml: models.mute.price" in line for line in lines
    )
    assert any("2026-03" in line for line in lines)
    assert lines[-1].startswith("The limit of $0.001 will stop the run: $0.0")
