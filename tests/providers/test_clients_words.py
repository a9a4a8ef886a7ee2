"""Questions without a picture: what crosses the wire, what they may cost, and that models which only look say so."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace

import pytest

from signpost_kit.evaluation.cost import estimate, highest_price
from signpost_kit.models.base import ProviderError
from signpost_kit.models.client import make_client
from signpost_kit.models.embedded.provider import EmbeddedProvider

KEY = "sk-planted-0123456789abcdefXYZ"
BODIES = {
    "openai": {"messages": [{"role": "user", "content": "Which of these?"}]},
    "anthropic": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Which of these?"}]}]},
    "google": {"contents": [{"role": "user", "parts": [{"text": "Which of these?"}]}]},
}
PRICE = {"input": 10.0, "output": 0.0, "date": "2026-01-01", "source": "invented"}


@pytest.fixture
def words(question):
    return replace(question(prompt="Which of these?"), image_path=None, image_hash="")


@pytest.mark.parametrize("provider", ["openai", "compatible", "anthropic", "google"])
@pytest.mark.parametrize("pictures", [100, 0], ids=["sees", "reads only"])
def test_words_alone_are_sent_and_answered(serve, spec_for, words, provider, pictures):
    wire = "openai" if provider == "compatible" else provider
    server = serve(wire, check=False, count_questions=False)
    spec = spec_for(provider, image={"max_images": pictures})

    async def main():
        client = make_client(spec, key=KEY, base_url=server.url)
        try:
            return await client.ask(words), await client.body(words)
        finally:
            await client.close()

    answer, (body, notes) = asyncio.run(main())
    assert answer.status == "ok" and answer.text and "picture" not in answer.notes and "picture" not in notes
    (call,) = server.calls
    for key, value in BODIES[wire].items():
        assert call.json[key] == value and body[key] == value
    assert b"image" not in call.body and b"inlineData" not in call.body and b"secret" not in call.body


def test_a_model_that_reads_only_still_refuses_pictures(serve, spec_for, question):
    server = serve("openai")

    async def main():
        client = make_client(spec_for("openai", image={"max_images": 0}), key=KEY, base_url=server.url)
        await client.ask(question())

    with pytest.raises(ProviderError, match="takes no pictures"):
        asyncio.run(main())
    assert server.count == 0


def test_offline_models_say_that_they_look_at_pictures(words):
    with pytest.raises(ProviderError, match="look at pictures") as caught:
        asyncio.run(EmbeddedProvider("prior").ask(replace(words, task="coordinate")))
    assert caught.value.fatal


def test_words_cost_no_picture(spec_for, words, question):
    spec = spec_for("openai", price=PRICE, image_tokens="unknown")
    price = highest_price({"m": spec})
    assert price(words) < 0.001 < price(question())  # a picture without a rule counts as 5,000 tokens: 6 cents
    row = estimate([words], {"m": spec}).iloc[0]
    assert (row["images"], row["image_tokens"]) == (0, 0.0) and row["price_usd"] < 0.001


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_names_are_audited_through_the_real_sdks_with_busy_servers_and_halved_batches(
    serve, spec_for, tmp_path, provider
):
    """Eight names; the whole batch is answered in prose, the first try at each half with "busy"."""
    from fault_server import step

    from signpost_kit.evaluation import ReplyStore
    from signpost_kit.ladder.audit import Name, audit_names
    from signpost_kit.ladder.decisions import DecisionLog

    busy: set[str] = set()

    def schedule(call):
        names = re.findall(r"^(\d+)\. (Place \d+)", call.prompt, re.MULTILINE)
        if len(names) == 8:
            return step("ok", text="These are lovely places.")
        if call.prompt not in busy:
            busy.add(call.prompt)
            return step("rate_limited", retry_after="0")
        rows = [
            {"n": int(n), "name": name, "usable": "yes", "referenceability": 3, "name_en": name}
            for n, name in names
        ]
        return step("ok", text="```json\n" + json.dumps({"names": rows}) + "\n```")

    server = serve(provider, schedule, check=False, count_questions=False)
    client = make_client(spec_for(provider, image={"max_images": 0}), key=KEY, base_url=server.url)
    names = [Name(f"Q{i}", f"Place {i}", city="Rome", country="IT") for i in range(8)]
    with ReplyStore(tmp_path / "r.sqlite") as store:
        log = DecisionLog(tmp_path / "d.jsonl")
        result = audit_names(names, {"m": client}, store=store, log=log, progress=False)
    assert len(result.decisions) == 8 and not result.undecided and server.count == 1 + 2 * 2
    assert all(d.referenceability == 3.0 for d in result.decisions.values())
    assert b"Q3" not in b"".join(call.body for call in server.calls)
