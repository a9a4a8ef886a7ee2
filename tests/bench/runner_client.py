"""Ask a server about every picture of a folder, by the kit or by the bare SDK; prints what it took, as JSON.

python runner_client.py kit|bare URL BENCHMARK STORE CONCURRENCY
"""

from __future__ import annotations

import asyncio
import base64
import json
import resource
import sys
import time
from pathlib import Path

PROMPT = "Where was this picture taken? Answer with latitude and longitude as JSON."


def rss_mb() -> float:
    """Memory in use now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


class Meter:
    """Memory at the thousandth and at the last reply."""

    def __init__(self) -> None:
        self.n, self.at_1000 = 0, 0.0

    def tick(self) -> None:
        self.n += 1
        if self.n == 1000:
            self.at_1000 = rss_mb()


def bare(url: str, pictures: list[Path], concurrency: int, meter: Meter) -> None:
    """The SDK as its manual shows it, with as many requests at once."""
    import openai

    async def main() -> None:
        client = openai.AsyncOpenAI(api_key="sk-none", base_url=url, max_retries=0)
        gate = asyncio.Semaphore(concurrency)

        async def one(path: Path) -> None:
            async with gate:
                text = base64.b64encode(path.read_bytes()).decode()
                image = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{text}"}}
                content = [image, {"type": "text", "text": PROMPT}]
                reply = await client.chat.completions.create(
                    model="m-1",
                    messages=[{"role": "user", "content": content}],
                    temperature=0.0,
                    max_completion_tokens=1024,
                )
                assert "48.8584" in reply.choices[0].message.content
                meter.tick()

        await asyncio.gather(*(one(path) for path in pictures))
        await client.close()

    asyncio.run(main())


def kit(url: str, benchmark: Path, store: Path, concurrency: int, meter: Meter) -> None:
    """`evaluate` with everything: plan, hashes, limits, retries, parsing, prices, the durable store."""
    from signpost_kit.benchmark import Benchmark
    from signpost_kit.evaluation import ReplyStore, evaluate
    from signpost_kit.models.catalogue import ModelSpec, Price
    from signpost_kit.models.client import make_client

    class Metered(ReplyStore):
        def submit(self, *args, **named):
            future = super().submit(*args, **named)
            future.add_done_callback(lambda _: meter.tick())
            return future

    price = Price(input=2, output=8, date="2026-01", source="a bench")
    spec = ModelSpec(
        name="m",
        provider="openai",
        model_id="m-1",
        concurrency=concurrency,
        price=price,
        image_tokens="gemini-1120",
    )
    client = make_client(spec, key="sk-none-none-none", base_url=url)
    scenes = Benchmark.read(benchmark)
    with Metered(store) as replies:
        summary = evaluate(
            scenes, {"m": client}, store=replies, variants=["Original"], prompt=PROMPT, progress=False
        )
    assert summary.ok == len(scenes.groups), summary


def main(which: str, url: str, benchmark: str, store: str, concurrency: str) -> None:
    import openai  # noqa: F401  the same for both, and not part of asking

    if which == "kit":
        import signpost_kit.evaluation.runner
        import signpost_kit.models.openai
        import signpost_kit.parsing  # noqa: F401
    pictures = sorted(Path(benchmark).glob("images/Original/*.jpg"))
    meter, start, cpu = Meter(), time.perf_counter(), time.process_time()
    if which == "kit":
        kit(url, Path(benchmark), Path(store), int(concurrency), meter)
    else:
        bare(url, pictures, int(concurrency), meter)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak, "growth": rss_mb() - meter.at_1000, "n": meter.n}))


if __name__ == "__main__":
    main(*sys.argv[1:])
