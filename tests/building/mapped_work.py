"""Work for the tests of map_items: importable by name, as worker processes and clusters need it."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from signpost_kit.errors import ConfigError, DataError, MissingExtraError, ModelError, StorageError

KINDS = {kind.__name__: kind for kind in (ConfigError, MissingExtraError, ModelError, StorageError, ValueError)}


def square(number: int) -> int:
    """Refuses every seventh number."""
    if number % 7 == 3:
        raise DataError(f"{number} is not wanted")
    return number * number


def busy_square(number: int) -> int:
    """Later items finish earlier."""
    time.sleep(0.002 * (5 - number % 5))
    return square(number)


def raises(what: str) -> str:
    """Raises the error of that name, or gives the text back."""
    if what in KINDS:
        raise KINDS[what](f"because of {what}")
    return what


class TwoArguments(Exception):
    """Goes into a pickle and does not come out again."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)


def raises_odd(_item: Any) -> None:
    raise TwoArguments("one", "two")


def returns_odd(_item: Any) -> Any:
    return lambda: 0


def dies(log: str, item: str) -> str:
    """Is killed by the system: on "always" each time, on "once" the first time; tells each call."""
    path = Path(log)
    calls = path.read_text().splitlines() if path.exists() else []
    tell(log, item)
    if item == "always" or (item == "once" and "once" not in calls):
        os.kill(os.getpid(), signal.SIGKILL)
    return item.upper()


def tell(log: str, text: object) -> None:
    """One line, with one system call: nothing of it is lost or torn by a kill."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{text}\n".encode())
    os.close(descriptor)


def slow_double(log: str, seconds: float, number: int) -> int:
    """Tells the start and the end of each call."""
    tell(log, f"begin {number}")
    time.sleep(seconds)
    tell(log, f"end {number}")
    return 2 * number


def threads_of_libraries(_item: Any) -> tuple[int, list[int], str]:
    """Threads that cv2 and the linear algebra would use, and where this ran."""
    import cv2
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((4, 4)) @ np.ones((4, 4))
    return cv2.getNumThreads(), [pool["num_threads"] for pool in threadpool_info()], str(os.getpid())


def leaves_a_file(folder: str, item: str) -> str:
    """Writes a file whole, slowly; its temporary one goes when the worker is asked to leave."""
    from signpost_kit.files import atomic_path

    with atomic_path(Path(folder) / f"{item}.bin") as temporary:
        temporary.write_bytes(b"half")
        tell(f"{folder}/began", item)
        time.sleep(30)
    return item


def maps_again(number: int) -> list[Any]:
    """Uses processes itself."""
    from signpost_kit.mapping import map_items

    return list(map_items(square, range(number), scheduler="processes", progress=False))


def main(mode: str, folder: str) -> None:
    """A child of the tests: maps over 40 numbers with a journal, to be killed or interrupted."""
    from functools import partial

    from signpost_kit.mapping import Journal, map_items

    work = partial(slow_double, f"{folder}/calls", 0.03)
    try:
        with Journal(f"{folder}/journal.sqlite", key=lambda n: (str(n), "v1")) as journal:
            for outcome in map_items(work, range(40), scheduler=mode, workers=2, journal=journal, progress=False):
                tell(f"{folder}/yielded", f"{outcome.index} {outcome.value}")
    except KeyboardInterrupt:
        tell(f"{folder}/yielded", "interrupted")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main(*sys.argv[1:])
