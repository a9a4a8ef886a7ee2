"""Connections and keys of the clients: one pool per address, any event loop, and a key that never shows."""

from __future__ import annotations

import asyncio
import logging
import pickle
import subprocess
import sys
import threading
import traceback

import pytest
from fault_server import FaultServer, step

from signpost_kit.errors import ModelError
from signpost_kit.models import client as client_module
from signpost_kit.models.base import Provider
from signpost_kit.models.client import make_client
from signpost_kit.models.failures import ClientError

KEY = "sk-planted-0123456789abcdefXYZ"
WIRES = ("openai", "compatible", "anthropic", "google")


@pytest.mark.parametrize("wire", WIRES)
def test_models_of_one_address_share_connections(serve, spec_for, question, wire):
    """Three models, thirty questions, eight at a time: at most eight connections, reused; closed at the end."""
    server = serve(wire, default=step("ok", delay_s=0.01))

    async def main():
        clients = [make_client(spec_for(wire, model_id=f"m-{n}"), key=KEY, base_url=server.url) for n in range(3)]
        assert all(isinstance(client, Provider) for client in clients)
        assert len({client.name for client in clients}) == 1
        turns = asyncio.Semaphore(8)

        async def one(number):
            async with turns:
                return await clients[number % 3].ask(question())

        answers = await asyncio.gather(*[one(number) for number in range(30)])
        assert len(client_module._CONNECTIONS._opened) == 1
        for client in clients:
            await client.close()
        return answers

    answers = asyncio.run(main())
    assert [answer.status for answer in answers] == ["ok"] * 30
    assert server.connections <= 8
    assert client_module._CONNECTIONS._opened == {}


def test_others_go_on_when_one_closes(serve, spec_for, question):
    server = serve("openai")

    async def main():
        first, second = (make_client(spec_for("openai", model_id=n), key=KEY, base_url=server.url) for n in "ab")
        await first.ask(question())
        await second.ask(question())
        await first.close()
        await first.close()
        assert (await second.ask(question())).status == "ok"
        await second.close()
        assert (await second.ask(question())).status == "ok"  # opens anew
        await second.close()

    asyncio.run(main())
    assert server.count == 4


@pytest.mark.parametrize("wire", WIRES)
def test_one_client_in_several_loops(serve, spec_for, question, wire):
    """As evaluate() does: each run in a loop of its own, one even while another one is running."""
    server = serve(wire)
    client = make_client(spec_for(wire), key=KEY, base_url=server.url)

    async def once(close):
        answer = await client.ask(question())
        if close:
            await client.close()
        return answer.status

    assert asyncio.run(once(False)) == "ok"  # left open in a loop that is gone
    assert asyncio.run(once(True)) == "ok"
    results = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(once(True))))

    async def main():
        thread.start()
        while not results:
            assert (await client.ask(question())).status == "ok"
            await asyncio.sleep(0.01)
        await client.close()

    asyncio.run(main())
    assert results == ["ok"]
    assert client._leases == {}
    assert client_module._CONNECTIONS._opened == {}


def test_slow_bodies_do_not_last_for_ever(serve, spec_for, question):
    """The time limit holds for a silence in the middle of a body, too."""
    server = serve("openai", [step("slow_body", seconds=3)])

    async def main():
        client = make_client(spec_for("openai"), key=KEY, http_timeout_s=0.3, base_url=server.url)
        with pytest.raises(ClientError, match="no answer in time") as caught:
            await client.ask(question())
        await client.close()
        return caught.value

    assert asyncio.run(main()).timed_out


@pytest.mark.parametrize("wire", WIRES)
def test_a_cancelled_question_ends_at_once(serve, spec_for, question, wire):
    server = serve(wire, ["hang"])

    async def main():
        client = make_client(spec_for(wire), key=KEY, base_url=server.url)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.ask(question()), 0.3)
        assert (await client.ask(question())).status == "ok"
        await client.close()

    asyncio.run(main())
    assert server.count == 2


@pytest.mark.parametrize("wire", WIRES)
def test_nobody_there(spec_for, question, wire):
    with FaultServer(wire) as gone:
        pass

    async def main(url):
        client = make_client(spec_for(wire), key=KEY, base_url=url)
        try:
            await client.ask(question())
        finally:
            await client.close()

    with pytest.raises(ClientError, match="is the server running there") as caught:
        asyncio.run(main(gone.url))
    assert caught.value.fatal


def test_a_server_that_restarts_is_waited_for(spec_for, question):
    async def main():
        with FaultServer("compatible") as server:
            client = make_client(spec_for("compatible"), key=KEY, base_url=server.url)
            assert (await client.ask(question())).status == "ok"
        with pytest.raises(ClientError) as caught:
            for _ in range(2):  # the first may meet the closing connection
                await client.ask(question())
        await client.close()
        return caught.value

    error = asyncio.run(main())
    assert (error.fatal, error.retryable) == (False, True)


# -- keys


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ["wrong_key", "reset", "ok"])
def test_the_key_never_shows(serve, spec_for, question, wire, fault, caplog):  # noqa: PLR0917
    """Not in a repr, a reason, an exception with all it carries, a traceback, or a log, even at its most talkative."""
    caplog.set_level(logging.DEBUG)
    server = serve(wire, [fault])
    shown = []

    async def main():
        client = make_client(spec_for(wire), key=KEY, base_url=server.url)
        shown.append(repr(client) + repr(vars(client)))
        try:
            shown.append(repr(await client.ask(question())))
        except ClientError as error:
            assert error.__context__ is None
            assert error.__cause__ is None
            shown.extend([repr(error), str(error), error.reason, traceback.format_exc(), repr(vars(error))])
        await client.close()

    asyncio.run(main())
    shown.extend(record.getMessage() + str(record.exc_info) for record in caplog.records)
    assert server.wire.key(server.calls[0]) == KEY
    for text in shown:
        assert KEY not in text
        assert KEY[3:-3] not in text


def test_a_client_is_not_pickled_with_its_key(spec_for):
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(make_client(spec_for("openai"), key=KEY))


def test_others_are_not_told_openais_organisation(serve, spec_for, question, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-private")
    server = serve("compatible")

    async def main():
        client = make_client(spec_for("compatible"), key=KEY, base_url=server.url)
        await client.ask(question())
        await client.close()

    asyncio.run(main())
    assert "private" not in repr(server.calls[0].headers)


# -- making


def test_an_unknown_provider(spec_for):
    with pytest.raises(ModelError, match="no client for provider 'embedded'"):
        make_client(spec_for("embedded"), key=KEY)


def test_making_a_client_imports_no_sdk():
    code = (
        "import sys\n"
        "from signpost_kit.models.catalogue import ModelSpec\n"
        "from signpost_kit.models.client import make_client\n"
        "for p in ('openai', 'anthropic', 'google', 'compatible'):\n"
        "    make_client(ModelSpec(name='m', provider=p, model_id='m', base_url='http://localhost:1'), key='k' * 9)\n"
        "heavy = {'openai', 'anthropic', 'google.genai', 'httpx', 'httpx2', 'PIL', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_time_limits_are_set_and_retries_are_off(spec_for, question, serve):
    for wire in WIRES:
        server = serve(wire)

        async def main(wire=wire, server=server):
            client = make_client(spec_for(wire), key=KEY, http_timeout_s=7, base_url=server.url)
            await client.ask(question())
            (lease,) = client._leases.values()
            sdk = lease.sdk
            if wire == "google":
                options = sdk.client._api_client._http_options
                assert (options.timeout, options.retry_options.attempts) == (7000, 1)
                limits = sdk.http.timeout
            else:
                assert sdk.max_retries == 0
                limits = sdk.timeout
            assert (limits.read, limits.write, limits.connect, limits.pool) == (7, 7, 7, 7)
            await client.close()

        asyncio.run(main())


def test_opening_does_not_hold_the_loop_up(serve, spec_for, question):
    """Importing an SDK takes up to seconds: in a fresh process, others go on in the meantime."""
    server = serve("anthropic")
    code = f"""
import asyncio, sys, time
sys.path[:0] = {[str(path) for path in sys.path if path]!r}
from pathlib import Path
from signpost_kit.models.base import Request
from signpost_kit.models.catalogue import ModelSpec
from signpost_kit.models.client import make_client
path = {str(question().image_path)!r}
request = Request("t", "m", Path(path), "h", "Where?", "p")

async def main():
    client = make_client(ModelSpec(name="m", provider="anthropic", model_id="m"), key="k" * 9, base_url={server.url!r})
    asking = asyncio.gather(*[client.ask(request) for _ in range(4)])
    longest, before = 0.0, time.perf_counter()
    while not asking.done():
        await asyncio.sleep(0.005)
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    assert [answer.status for answer in await asking] == ["ok"] * 4
    assert "anthropic" in sys.modules
    await client.close()
    print(longest)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 0.5
