"""Calls on a Dask cluster that is already running (extra `dask`)."""

from __future__ import annotations

import logging
import os
import platform
import time
import uuid
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from signpost_kit.errors import ConfigError, DataError, MissingExtraError
from signpost_kit.mapping.outcome import item_name
from signpost_kit.mapping.worker import open_answer, pack_function, pack_item

__all__ = ["Cluster", "check_cluster", "facts"]

_log = logging.getLogger(__name__)

_CONNECT_S = 5.0
_WORKERS_S = 10.0  # for a first worker to join
_LOST_S = 60.0  # without a worker or a connection before the call ends
_NOTED = ("distributed", "numpy", "opencv-python-headless", "onnxruntime", "rapidocr", "easyocr", "pillow")
"""Packages whose version may change what comes out; a difference is named in the log."""


def facts(folder: str = "") -> dict[str, Any]:
    """What must be alike on this machine and on those of a cluster; `sees` is whether it has the folder."""
    from signpost_kit import __version__

    versions = {}
    for package in _NOTED:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "absent"
    python = ".".join(platform.python_version_tuple()[:2])
    return {
        "python": python,
        "signpost_kit": __version__,
        "packages": versions,
        "sees": not folder or os.path.isdir(folder),  # noqa: PTH112
    }


class Cluster:
    """Calls on the workers of a running Dask scheduler.

    Raises
    ------
    MissingExtraError
        `distributed` is not installed here.
    ConfigError
        The scheduler cannot be reached in 5 s, has no worker, or its machines have another Python or signpost_kit.
    """

    def __init__(self, function: Callable[[Any], Any], address: str) -> None:
        packed = pack_function(function, address)
        self._address = address
        self._client = _connect(address)
        self._name = f"signpost-{uuid.uuid4().hex[:12]}"
        self._count = 0
        self._seen = time.monotonic()
        self._remote: dict[int, Any] = {}
        try:
            _compare(self._client, address, "")
            self.width = max(1, sum(self._threads().values()))
            self._install(packed)
        except BaseException:
            self._client.close(timeout=_CONNECT_S)
            raise

    def _install(self, packed: bytes) -> None:
        from signpost_kit.mapping.dask_plugin import FunctionPlugin

        try:
            self._client.register_plugin(FunctionPlugin(packed), name=self._name)
        except Exception as error:
            raise ConfigError(
                f"the workers of {self._address} cannot load the function ({type(error).__name__}: {error}): "
                "define it in a module that is installed there too"
            ) from error

    def submit(self, item: Any) -> Future[Any]:
        """The value to come of one item."""
        from signpost_kit.mapping.dask_plugin import perform

        payload, number = pack_item(item, item_name(item)), self._count
        self._count += 1
        near: Future[Any] = Future()
        far = self._client.submit(perform, self._name, payload, key=f"{self._name}-{number}", pure=False)
        self._remote[number] = far
        far.add_done_callback(lambda done: self._bring(number, done, near))
        return near

    def _bring(self, number: int, far: Any, near: Future[Any]) -> None:
        """Move a finished call's answer here; runs in the client's thread for callbacks."""
        self._remote.pop(number, None)
        if not near.set_running_or_notify_cancel():
            return
        try:
            if far.cancelled():
                raise self._lost()
            near.set_result(open_answer(far.result()))
        except BaseException as error:
            near.set_exception(self._explain(error))

    def _explain(self, error: BaseException) -> BaseException:
        kind = type(error).__name__
        if kind == "KilledWorker":
            return DataError(
                f"the cluster's workers died each time they worked on it ({str(error).split('.')[0]}); if memory "
                "ran out, give the workers more or use smaller pictures"
            )
        if kind in ("CancelledError", "FutureCancelledError", "CommClosedError", "TimeoutError"):
            return self._lost()
        return error

    def _lost(self) -> ConfigError:
        return ConfigError(
            f"the Dask scheduler {self._address} dropped the work or is gone: start it and run again, finished "
            "work is kept"
        )

    def check(self) -> None:
        """Raise ConfigError when the scheduler is gone, or has had no worker for a minute."""
        now = time.monotonic()
        if self._client.status == "closed":
            raise self._lost()
        if self._client.status == "running" and self._threads():
            self._seen = now
        elif now - self._seen > _LOST_S:
            raise ConfigError(
                f"the Dask scheduler {self._address} has had no worker, or no connection, for {_LOST_S:.0f} s: "
                "start `dask worker` and run again, finished work is kept"
            )

    def _threads(self) -> dict[str, int]:
        return _workers(self._client)

    def close(self) -> None:
        """Cancel what waits or runs there, take the function off the workers, disconnect."""
        client = self._client
        try:
            if client.status == "running":
                if left := list(self._remote.values()):
                    client.cancel(left)
                client.unregister_worker_plugin(self._name)
        except Exception as error:
            _log.debug("leaving %s: %s", self._address, error)
        finally:
            client.close(timeout=_CONNECT_S)


def check_cluster(address: str, folder: str = "") -> None:
    """Connect and compare, as a run would, and see whether every worker has the folder; leaves nothing behind."""
    client = _connect(address)
    try:
        _compare(client, address, folder)
    finally:
        client.close(timeout=_CONNECT_S)


def _connect(address: str) -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError(
            f"the scheduler {address!r} needs the extra `dask` ({error}): pip install 'signpost_kit[dask]'"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared below, and said in our words
            try:
                return _client(distributed, address)
            except AssertionError:  # its loop's thread did not start within 10 s on a crowded machine
                return _client(distributed, address)
    except (OSError, ValueError, TypeError) as error:  # a time-out is an OSError, a bad address a ValueError
        raise ConfigError(
            f"no Dask scheduler answers at {address} within {_CONNECT_S:.0f} s: start one with `dask scheduler`, "
            "and `dask worker ADDRESS` on each machine, or use the scheduler 'threads'"
        ) from error


def _client(distributed: Any, address: str) -> Any:
    return distributed.Client(address, timeout=_CONNECT_S, set_as_default=False, name="signpost_kit")


def _workers(client: Any) -> dict[str, int]:
    """Address -> threads, as the client last heard."""
    return {name: int(worker["nthreads"]) for name, worker in client.scheduler_info()["workers"].items()}


def _compare(client: Any, address: str, folder: str) -> None:
    """Raise ConfigError unless there are workers and they, and the scheduler, are like this machine."""
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except Exception as error:
        raise ConfigError(
            f"the Dask scheduler {address} has no worker: start `dask worker {address}` on each machine"
        ) from error
    here = facts(folder)
    there = client.run(facts, folder, on_error="return")
    try:
        there["the scheduler"] = client.run_on_scheduler(facts)
    except Exception as error:
        there["the scheduler"] = error
    for place, found in there.items():
        if isinstance(found, BaseException):
            raise ConfigError(
                f"{place} of {address} cannot run signpost_kit ({type(found).__name__}: {found}): install "
                f"signpost_kit {here['signpost_kit']} with the extra `dask` there"
            ) from found
        for name in ("python", "signpost_kit"):
            if found[name] != here[name]:
                raise ConfigError(
                    f"{place} of {address} has {name} {found[name]}, here {here[name]}: install the same there"
                )
        if not found["sees"]:
            raise ConfigError(
                f"{place} of {address} does not see the folder {folder}: put the run on a disk that all machines "
                "share, under the same path"
            )
        for package, wanted in here["packages"].items():
            if found["packages"][package] not in (wanted, "absent"):
                _log.warning(
                    "%s of %s has %s %s, here it is %s: results may differ",
                    place, address, package, found["packages"][package], wanted,
                )  # fmt: skip
