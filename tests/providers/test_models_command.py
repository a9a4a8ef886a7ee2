"""`signpost models`: the table, and one tiny question to each model over HTTP."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_server import Manners, step
from PIL import Image

from signpost_kit import cli_models
from signpost_kit.cli_models import check_models, list_models, run_models
from signpost_kit.errors import ConfigError
from signpost_kit.models import Answer, keys, model_names, register, registry
from signpost_kit.models.base import Usage
from signpost_kit.models.scripted import ScriptedProvider

KEY = "sk-planted-0123456789abcdefXYZ"
PRICE = "{input: 2.5, output: 10, date: 2026-05, source: price page}"


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """models("name: {...}", ...) writes params/models.yml of the working directory."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params").mkdir()
    monkeypatch.chdir(tmp_path)
    model_names()
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    monkeypatch.setattr(keys, "_known", set())
    for name in ("LAB_API_KEY", "OTHER_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def write(*entries: str) -> None:
        lines = "".join(f"  {entry}\n" for entry in entries)
        (tmp_path / "params" / "models.yml").write_text(f"models:\n{lines}", encoding="utf-8")

    return write


def _entry(name: str, url: str, **more: str) -> str:
    fields = {"provider": "compatible", "base_url": url, "key_env": "LAB_API_KEY", "model_id": "m-1", **more}
    return f"{name}: {{{', '.join(f'{key}: {value}' for key, value in fields.items())}}}"


# -- the table


def test_the_table(models, monkeypatch: pytest.MonkeyPatch) -> None:
    models(
        "prior: {provider: embedded, description: one place}",
        f"big: {{provider: openai, price: {PRICE}, thinking: true, studies: [signpost]}}",
        "lab: {provider: compatible, base_url: 'https://lab.example/v1', key_env: LAB_API_KEY, model_id: l/1}",
        "near: {provider: compatible, base_url: 'http://localhost:1/v1', price: free, image: {max_images: 0}}",
    )
    register("mine", lambda: ScriptedProvider("mine"))
    monkeypatch.setenv("LAB_API_KEY", f"“{KEY}”")
    rows = {line.split()[0]: line for line in list_models() if line}
    assert next(iter(rows)) == "name"
    assert rows["prior"].split() == ["prior", "offline", "not", "needed", "free", "one", "place"]
    assert "OpenAI" in rows["big"] and "no: OPENAI_API_KEY" in rows["big"] and "2.5 / 10" in rows["big"]
    assert "study: signpost; thinks" in rows["big"]
    assert "damaged: LAB_API_KEY" in rows["lab"] and "unknown" in rows["lab"] and "asked for as l/1" in rows["lab"]
    assert "local (localhost:1)" in rows["near"] and "free" in rows["near"] and "text only" in rows["near"]
    assert "registered in Python" in rows["mine"]
    monkeypatch.setenv("LAB_API_KEY", KEY)
    assert " yes " in next(line for line in list_models(["lab"]) if line.startswith("lab"))
    assert KEY not in "\n".join(list_models())
    with pytest.raises(ConfigError, match="unknown model 'bigg': did you mean big"):
        list_models(["bigg"])


# -- asking


def test_one_question_to_each_family(models, serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", KEY)
    manners = Manners(keys=frozenset({KEY}))
    first = serve("openai", default=step("ok", text="Red."), manners=manners)
    second = serve("anthropic", default=step("ok", text="It is red"), manners=manners)
    third = serve("google", default=step("ok", text="red"), manners=manners)
    models(
        _entry("a", first.url, provider="openai", price=PRICE),
        _entry("b", second.url, provider="anthropic", price=PRICE),
        _entry("c", third.url, provider="google", price=PRICE),
    )
    results = check_models(["a", "b", "c"])
    for server, result in zip((first, second, third), results, strict=True):
        assert result.ok, result
        assert server.count == 1
        picture = Image.open(io.BytesIO(server.calls[0].picture)).convert("RGB")
        assert picture.size == (128, 128)
        red, green, blue = picture.getpixel((64, 64))
        assert red > 200 and green < 60 and blue < 60
        assert server.calls[0].prompt == cli_models.QUESTION
        assert result.told.startswith("ok in 0.")
        assert "; took temperature 0; " in result.told
        assert " tokens; $0.00" in result.told
        assert "does it see pictures" not in result.told
    assert [result.told.partition("; took ")[2].partition(";")[0] for result in results] == [
        "max_completion_tokens", "max_tokens", "max_output_tokens"
    ]  # fmt: skip


def test_what_it_did_not_accept_is_told(models, serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", KEY)
    picky = Manners(token_fields=frozenset({"max_completion_tokens"}), takes_temperature=False)
    server = serve("openai", default=step("ok", text="red"), manners=picky)
    models(_entry("a", server.url), _entry("b", server.url, model_id="m-2", takes_temperature="false"))
    first, second = check_models(["a", "b"])
    assert "limit of tokens sent as max_completion_tokens: the model refused max_tokens" in first.told
    assert "temperature not sent: the model refused it" in first.told
    assert "temperature not sent: the model takes none" in second.told
    assert "price unknown: fill in params/models.yml: models.a.price" in first.told


def test_failures_are_one_line_each_and_never_show_the_key(models, serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", KEY)
    said: list[str] = []
    keyed = serve("openai", default=step("wrong_key"))
    lost = serve("openai", default=step("unknown_model"))
    silent = serve("openai", default=step("hang"))
    strict = serve("openai", default=step("blocked"))
    models(
        _entry("keyed", keyed.url),
        _entry("lost", lost.url),
        _entry("silent", silent.url),
        _entry("strict", strict.url),
        _entry("keyless", silent.url, key_env="OTHER_API_KEY"),
        _entry("gone", "http://127.0.0.1:9/v1"),
        _entry("text", silent.url, image="{max_images: 0}"),
    )
    monkeypatch.setattr(cli_models.check_models, "__kwdefaults__", {"timeout_s": 1.0})
    assert not run_models(
        ["keyed", "lost", "silent", "strict", "keyless", "gone", "text"], check=True, say=said.append
    )
    assert keyed.count == lost.count == 1
    told = dict(line.split(": ", 1) for line in said)
    assert told["keyed"].startswith("FAILED: ") and "LAB_API_KEY" in told["keyed"]
    assert told["lost"].startswith("FAILED: ") and "m-1" in told["lost"]
    assert told["silent"].startswith("FAILED: ")
    assert told["strict"].startswith("blocked in ")
    assert told["keyless"].startswith("FAILED: OTHER_API_KEY is not set")
    assert told["gone"].startswith("FAILED: ") and "127.0.0.1:9" in told["gone"]
    assert told["text"] == "not asked: it takes no pictures"
    assert all("\n" not in line and KEY not in line for line in said)


def test_a_model_that_does_not_see_is_doubted(models, serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", KEY)
    server = serve("openai", default=step("ok", text="Blue, like the sky over a very large and distant city"))
    models(_entry("a", server.url))
    (result,) = check_models(["a"])
    assert result.ok
    assert "said 'Blue, like the sky over a very large ...' (the disc is red: does it see pictures?)" in result.told


def test_a_key_that_comes_back_in_the_answer_is_not_shown(models, serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", KEY)
    server = serve("openai", default=step("ok", text=f"red, and then {KEY}"))
    models(_entry("a", server.url))
    (result,) = check_models(["a"])
    assert result.ok
    assert "said 'red, and then [key]'" in result.told


def test_without_names_all_that_can_be_asked(models, serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve("openai", default=step("ok", text="red"))
    models(
        "prior: {provider: embedded}",
        _entry("with", server.url),
        _entry("without", server.url, key_env="OTHER_API_KEY"),
        f"near: {{provider: compatible, base_url: '{server.url}', price: free}}",
        _entry("text", server.url, image="{max_images: 0}"),
    )
    monkeypatch.setenv("LAB_API_KEY", KEY)
    results = check_models()
    assert [result.name for result in results] == ["with", "near"]
    assert results[1].told.endswith("; free")
    assert server.count == 2
    models("prior: {provider: embedded}")
    with pytest.raises(ConfigError, match="no model of .* has its key"):
        check_models()


def test_offline_and_registered_models(models) -> None:
    models("prior: {provider: embedded}")
    register("mine", lambda: ScriptedProvider(script=[Answer("RED", usage=Usage(100, 2), price_usd=0.5)]))
    register("broken", lambda: ScriptedProvider(script=[KeyError("boom")]))
    prior, mine, broken = check_models(["prior", "mine", "broken"])
    assert prior.ok and prior.told.endswith("; free") and "does it see" not in prior.told
    assert mine.ok and "said 'RED'; 100 + 2 tokens; $0.500000" in mine.told
    assert broken.ok is False and broken.told == "FAILED: KeyError: 'boom'"
