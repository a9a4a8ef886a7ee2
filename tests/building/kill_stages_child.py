"""A run of all construction stages that tells what it does, to be killed by test_kill_stages.py.

    python kill_stages_child.py RUN_DIR LOG [KEY=VALUE ...]

LOG grows by one line, written with one system call, when a picture begins and ends to be read by OCR (its content),
and when a model begins and ends to be asked for replacements (the question's key).
"""

from __future__ import annotations

import os
import sys
from typing import Any

from signpost_kit.files import hash_bytes
from signpost_kit.models.embedded.writer import WriterProvider
from signpost_kit.ocr import engines
from signpost_kit.run import open_run


def main(run_dir: str, log: str, *sets: str) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def tell(*words: str) -> None:
        os.write(descriptor, (" ".join(words) + "\n").encode())

    class Telling:
        def __init__(self, engine: Any) -> None:
            self._engine = engine

        def read(self, image: Any) -> Any:
            name = hash_bytes(image.tobytes())
            tell("read", name)
            lines = self._engine.read(image)
            tell("was-read", name)
            return lines

    make = engines.ENGINES["rapidocr"][0]
    telling = (lambda settings: Telling(make(settings)), *engines.ENGINES["rapidocr"][1:])
    engines.ENGINES["rapidocr"] = telling  # type: ignore[assignment]

    ask = WriterProvider.ask

    async def telling_ask(self: WriterProvider, request: Any) -> Any:
        tell("ask", request.key)
        answer = await ask(self, request)
        tell("was-asked", request.key)
        return answer

    WriterProvider.ask = telling_ask  # type: ignore[method-assign]
    open_run("tiny", run_dir, sets=sets).ensure("synthesis")


if __name__ == "__main__":
    main(*sys.argv[1:])
