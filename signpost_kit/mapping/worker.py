"""The far side of a call: what runs in a worker process, or on a machine of a cluster.

Everything here is imported by every worker before its work begins, so it imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from signpost_kit.errors import ConfigError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["FarTraceback", "answer", "limit_threads", "open_answer", "pack_function", "pack_item", "serve"]

READY = b"ready"
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
)


class FarTraceback(Exception):
    """Carries the text of a traceback from where the call was made; the cause of what is raised here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def pack_function(function: Callable[[Any], Any], scheduler: str) -> bytes:
    """The function as bytes.

    Raises
    ------
    ConfigError
        It cannot be sent: a lambda, a nested function, one that a notebook defines, or one that carries an open
        file or connection.
    """
    name = getattr(function, "__qualname__", None) or repr(function)
    target = getattr(function, "func", function)
    advice = "define it at the top of a module (functools.partial for its options), or use the scheduler 'threads'"
    if getattr(target, "__module__", None) == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
        raise ConfigError(f"the scheduler {scheduler!r} cannot send {name}, which this notebook defines: {advice}")
    try:
        return pickle.dumps(function, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # pickle raises PicklingError, TypeError, AttributeError, or what __reduce__ raises
        raise ConfigError(f"the scheduler {scheduler!r} cannot send {name} ({error}): {advice}") from error


def pack_item(item: Any, name: str) -> bytes:
    """The item as bytes; ConfigError when it cannot be sent."""
    try:
        return pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise ConfigError(
            f"the item {name} cannot be sent to another process ({error}): map over plain values, or use the "
            "scheduler 'threads'"
        ) from error


def answer(function: Callable[[Any], Any], payload: bytes) -> bytes:
    """Call the function on a packed item; the value, or whatever it raised, as bytes."""
    try:
        value = function(pickle.loads(payload))
        try:
            return pickle.dumps((True, value, ""), protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            raise ConfigError(
                f"the function returned a {type(value).__name__}, which cannot be sent back ({error}): "
                "return plain values, or use the scheduler 'threads'"
            ) from error
    except Exception as error:
        return _failure(error)


def _failure(error: BaseException) -> bytes:
    far = traceback.format_exc()
    error.__traceback__ = None
    with contextlib.suppress(Exception):
        packed = pickle.dumps((False, error, far), protocol=pickle.HIGHEST_PROTOCOL)
        pickle.loads(packed)  # some exceptions go into a pickle and do not come out again
        return packed
    stand_in = RuntimeError(f"{type(error).__name__}: {error}")
    return pickle.dumps((False, stand_in, far), protocol=pickle.HIGHEST_PROTOCOL)


def open_answer(packed: bytes) -> Any:
    """The value in an answer; what the function raised is raised here, with the far traceback as its cause."""
    good, content, far = pickle.loads(packed)
    if good:
        return content
    raise content from FarTraceback(far)


def limit_threads() -> None:
    """One thread for each numerical library of this process, loaded or not yet: the processes share the cores."""
    for name in _ONE_THREAD:
        os.environ[name] = "1"
    if "numpy" in sys.modules:
        with contextlib.suppress(ImportError):
            from threadpoolctl import threadpool_limits

            threadpool_limits(1)
    if (cv2 := sys.modules.get("cv2")) is not None:
        cv2.setNumThreads(1)
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


def _leave(_signal: int, _frame: object) -> NoReturn:
    raise SystemExit(143)  # so that `finally` runs and no temporary file stays behind


def serve(connection: Connection, function: bytes) -> None:
    """Answer until the other end closes: the main loop of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the keyboard's interrupt goes to all; the parent decides
    signal.signal(signal.SIGTERM, _leave)
    if os.name == "posix":
        os.set_inheritable(connection.fileno(), False)
    limit_threads()
    try:
        call = pickle.loads(function)
    except Exception as error:
        connection.send_bytes(_failure(error))
        return
    limit_threads()  # of what that import has loaded
    with contextlib.suppress(EOFError, ConnectionError):
        connection.send_bytes(READY)
        while True:
            connection.send_bytes(answer(call, connection.recv_bytes()))
