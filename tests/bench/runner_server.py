"""A loopback server that answers chat completions as fast as it can, or after a fixed latency, in its own process.

    python runner_server.py LATENCY_S

Prints its port, serves until its standard input ends, then prints how many requests it answered.
"""

from __future__ import annotations

import asyncio
import json
import sys

REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_800_000_000,
        "model": "m-1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": '{"lat": 48.8584, "lon": 2.2945}', "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 812, "completion_tokens": 18, "total_tokens": 830},
    }
).encode()
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(REPLY), REPLY)
answered = 0


class Connection(asyncio.Protocol):
    """One connection; a request is a head with its content-length, and so many bytes."""

    def __init__(self, latency_s: float) -> None:
        self.latency_s, self.head, self.left = latency_s, b"", 0

    def connection_made(self, transport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.left:
            self.left -= len(data)
        else:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            length = int(self.head[:end].lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            self.left = length - (len(self.head) - end - 4)
            self.head = b""
        if self.left <= 0:
            self.left = 0
            asyncio.get_running_loop().call_later(self.latency_s, self.answer)

    def answer(self) -> None:
        global answered
        answered += 1
        self.transport.write(ANSWER)


async def main(latency_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(latency_s), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()
    print(answered, flush=True)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
