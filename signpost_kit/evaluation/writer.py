"""One writing thread per open store: whoever waits is served together, in one transaction and one sync."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from signpost_kit.errors import StorageError
from signpost_kit.evaluation.schema import explain

__all__ = ["Writer"]

Job = Callable[[sqlite3.Connection], Any]
_BATCH = 512


class Writer:
    """Runs jobs on one connection, in order. A job's future is done only after its commit is on the disk.

    Jobs that wait while a commit is under way go into the next one together, so a slow disk makes the batches
    larger and never holds up an event loop. A job that fails takes no other job of its batch with it.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, on_rollback: Callable[[], None]) -> None:
        self._connection = connection
        self._path = path
        self._on_rollback = on_rollback
        self._jobs: queue.SimpleQueue[tuple[Job, Future[Any]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="reply-store", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> Future[Any]:
        """Queue `job(connection)`; its result or a StorageError arrives in the future."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # whoever waits may be cancelled; what was paid for is written anyway
        with self._lock:  # nothing may be queued behind the end mark: it would wait for ever
            if self._closed:
                raise StorageError(f"the store {self._path} is closed: open it again")
            self._jobs.put((job, future))
        return future

    def close(self) -> None:
        """Finish what is queued, fold the log into the file, and close; safe to call twice."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        ended = False
        while not ended:
            first = self._jobs.get()
            batch = [] if first is None else [first]
            ended = first is None
            while not ended and len(batch) < _BATCH:
                try:
                    item = self._jobs.get_nowait()
                except queue.Empty:
                    break
                if item is None:
                    ended = True
                else:
                    batch.append(item)
            if batch:
                self._commit(batch)
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a closed store is one file
        except sqlite3.Error:
            pass  # another process reads it: it or the next opening folds the log in
        finally:
            self._connection.close()

    def _commit(self, batch: list[tuple[Job, Future[Any]]]) -> None:
        try:
            results = self._transaction([job for job, _ in batch])
        except BaseException as error:
            if len(batch) > 1:
                for item in batch:
                    self._commit([item])
                return
            cause = explain(error, self._path) if isinstance(error, sqlite3.Error) else error
            if cause is not error:
                cause.__cause__ = error
            batch[0][1].set_exception(cause)
            return
        for (_, future), result in zip(batch, results, strict=True):
            future.set_result(result)

    def _transaction(self, jobs: list[Job]) -> list[Any]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            results = [job(connection) for job in jobs]
            connection.execute("COMMIT")
        except BaseException:
            self._on_rollback()
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return results
