"""Bodies and replies as JSON, as batch endpoints take and give them: the same as over the wire."""

from __future__ import annotations

import asyncio
import json

import pytest
from fault_server import REPLY, Call, step
from wires import WIRES

from signpost_kit.models.base import Usage
from signpost_kit.models.client import make_client
from signpost_kit.models.failures import ClientError

KEY = "sk-planted-0123456789abcdefXYZ"


@pytest.fixture(params=["openai", "compatible", "anthropic", "google"])
def wire(request) -> str:
    return request.param


def test_a_body_is_what_is_sent(serve, spec_for, question, wire):
    """Compared as the server reads them: names may be written in either case, base64 in either alphabet."""
    server = serve(wire)

    async def main():
        client = make_client(spec_for(wire, options={"extra": {"a": [1]}}), key=KEY, base_url=server.url)
        body, notes = await client.body(question())
        answer = await client.ask(question())
        await client.close()
        return json.dumps(body), notes, answer

    body, notes, answer = asyncio.run(main())
    (sent,) = server.calls
    made = Call(0, "POST", sent.path, {}, body.encode(), server.wire)
    for name in ("model", "prompt", "picture", "mime"):
        assert getattr(made, name) == getattr(sent, name)
    assert made.wire.options(made)["temperature"] == 0
    assert made.json["extra"] == sent.json["extra"] == {"a": [1]}
    if wire == "google":
        assert made.json["generationConfig"] == sent.json["generationConfig"]
    else:
        assert made.json == sent.json
    assert notes == answer.notes
    assert "secret" not in body.lower()


def rendered(wire, one, spec):
    family = WIRES[wire]()
    path = f"/v1beta/models/{spec.model_id}:generateContent"
    call = Call(7, "POST", path, {}, json.dumps({"model": spec.model_id, "contents": []}).encode(), family)
    response = family.render(one, call)
    return response.status, json.loads(response.body)


def test_replies_are_read_the_same_way(spec_for, wire):
    spec = spec_for(wire)
    client = make_client(spec, key=KEY)
    _, body = rendered(wire, step("ok"), spec)
    answer = client.read_body(body, notes={"picture": "x"})
    assert (answer.status, answer.text, answer.notes["picture"]) == ("ok", REPLY, "x")
    assert answer.usage == Usage(812, 34, 100 if wire == "anthropic" else 128)
    _, body = rendered(wire, step("empty_length"), spec)
    assert client.read_body(body).status == "truncated"
    _, body = rendered(wire, step("refused"), spec)
    assert client.read_body(body).status == ("blocked" if wire == "google" else "refused")
    body["something_of_a_later_version"] = 1
    assert client.read_body(body).status == ("blocked" if wire == "google" else "refused")


def test_errors_are_judged_the_same_way(spec_for, wire):
    spec = spec_for(wire)
    client = make_client(spec, key=KEY)
    for one, fatal, retryable in [
        (step("status", code=500), False, True),
        (step("wrong_mime"), False, False),
        (step("unknown_model"), True, False),
        (step("rate_limited", retry_info="53s"), False, True),
    ]:
        status, body = rendered(wire, one, spec)
        with pytest.raises(ClientError) as caught:
            client.read_body(body, status=status)
        assert (caught.value.fatal, caught.value.retryable) == (fatal, retryable)
    assert caught.value.retry_after_s == 53
    with pytest.raises(ClientError, match="no JSON|holds no") as caught:
        client.read_body({})
    assert caught.value.retryable
