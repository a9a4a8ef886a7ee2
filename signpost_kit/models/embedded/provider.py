"""The offline models behind the interface of a paid one: a picture and a prompt in, words out."""

from __future__ import annotations

import asyncio
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from signpost_kit.errors import SignpostError
from signpost_kit.models.base import Answer, ProviderError, Request
from signpost_kit.models.embedded.words import TASKS

__all__ = ["CONCURRENCY", "EmbeddedProvider", "shared_pool"]

CONCURRENCY = 2


class EmbeddedProvider:
    """One offline model.

    It uses the picture's bytes, the task and the name of the model, nothing else of a request, and answers the same
    question always in the same words.
    """

    name = "embedded"
    concurrency = CONCURRENCY

    def __init__(self, model: str) -> None:
        self.model = model

    async def ask(self, request: Request) -> Answer:
        """Answer in words.

        Raises
        ------
        ProviderError
            The picture cannot be read, there is none, or the task is none that these models were made for.
        """
        if request.image_path is None:
            raise ProviderError("the offline models look at pictures; ask a model of words", fatal=True)
        loop = asyncio.get_running_loop()
        text = await loop.run_in_executor(shared_pool(), self._answer, request.image_path, request.task)
        return Answer(text=text, finish_reason="stop", price_usd=0.0)

    async def close(self) -> None:
        """Nothing to release: the threads are shared and end with the process."""

    def _answer(self, path: Path, task: str) -> str:
        from signpost_kit.models.embedded.judges import judge
        from signpost_kit.models.embedded.perception import perceive, picture_hash
        from signpost_kit.models.embedded.training import load_mind
        from signpost_kit.models.embedded.words import say

        if task not in TASKS:
            raise ProviderError(
                f"the offline models answer the tasks {', '.join(TASKS)}, not {task!r}", retryable=False, fatal=True
            )
        content = picture_hash(path)
        try:
            judgement = judge(self.model, perceive(path, content), load_mind, warned=task == "defense")
        except SignpostError as error:
            raise ProviderError(str(error), retryable=False) from error
        return say(judgement, task=task, voice=f"{self.model}:{content}")


_POOL_LOCK = threading.Lock()


@functools.cache
def _make_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=CONCURRENCY, thread_name_prefix="embedded")


def shared_pool() -> ThreadPoolExecutor:
    """The threads that the offline models share."""
    # Threads of our own, as few as requests in flight: an OCR engine is kept per thread and costs memory.
    with _POOL_LOCK:
        return _make_pool()
